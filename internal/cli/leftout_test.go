package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
)

const cafesJSON = `{"type":"FeatureCollection","features":[
{"type":"Feature","id":"sol","geometry":{"type":"Point","coordinates":[1.5,42.5]},"properties":{"name":"Bar Sol"}}]}`

// TestLoadLeavesOut: a load reports what a collection of boxes leaves out, and which
// collection would store it.
func TestLoadLeavesOut(t *testing.T) {
	_, addr, _ := clitest.Serve(t, "--features", "cafes")
	cafes, boxes := clitest.File(t, "cafes.geojson", cafesJSON), clitest.File(t, "boxes.csv", "id,x,y\n1,2,3\n")
	for _, c := range []struct {
		args string
		told bool
	}{
		{cafes, true},
		{boxes, false},
		{"uniform --objects 3", false},
		{cafes + " --collection cafes", false},
	} {
		code, _, says := clitest.Program(t, append([]string{"load", "--server", addr}, strings.Fields(c.args)...)...)
		if told := strings.Contains(says, "properties are left out") && strings.Contains(says, "--collection NAME"); code != ExitOK || told != c.told {
			t.Errorf("load %s: exit %d, says %q", c.args, code, says)
		}
	}
	clitest.Fail(t, ExitFailure, []string{"load", "--server", addr, clitest.File(t, "stops.csv", "ref;lat;lon\na;1;2\n")}, "header line", "--collection NAME")
	clitest.Fail(t, ExitFailure, []string{"get", "sol", "--server", addr}, "another kind", "-c NAME")
	// A file of only bad records is a failure; the error names some of them.
	all := clitest.File(t, "bad.csv", "id,lat,lon\na,north,2\nb,95,2\n")
	clitest.Fail(t, ExitFailure, at(addr, "load", all), "nothing was loaded", "all 2 records are bad")
	code, out, _ := clitest.Program(t, at(addr, "load", all, "--json")...)
	if code != ExitFailure || !strings.Contains(out, `"loaded":0,"bad":2`) {
		t.Errorf("exit %d, %s", code, out)
	}
	clitest.Succeed(t, at(addr, "load", clitest.File(t, "none.geojson", `{"type":"FeatureCollection","features":[]}`))...)
}

// TestServeLoadsOnlyFeatures: places go into the only named collection of features, and
// are stored; if several are named the user has to choose one.
func TestServeLoadsOnlyFeatures(t *testing.T) {
	cafes, data := clitest.File(t, "cafes.geojson", cafesJSON), filepath.Join(t.TempDir(), "data")
	p, addr, ready := clitest.Serve(t, "--data-dir", data, "--features", "cafes", "--load", cafes)
	if !strings.Contains(ready, "objects=1 ") {
		t.Errorf("ready says %q", ready)
	}
	if got := clitest.Succeed(t, at(addr, "get", "sol")...); !strings.Contains(got, "Bar Sol") {
		t.Errorf("get prints %s", got)
	}
	p.Interrupt(t)
	clitest.Fail(t, ExitUsage, []string{"serve", "--features", "cafes,parks", "--load", cafes}, "--collection NAME")
	// A file of boxes is loaded as boxes.
	_, _, ready = clitest.Serve(t, "--features", "cafes", "--load", "uniform", "--objects", "5")
	if !strings.Contains(ready, "objects=5 ") {
		t.Errorf("ready says %q", ready)
	}
}

// TestConditionHints: a command that would fail again is not said to be safe to retry.
func TestConditionHints(t *testing.T) {
	_, addr, _ := clitest.Serve(t, "--features", "cafes", "--records", "r")
	cafe := clitest.File(t, "cafe.geojson", `{"type":"Feature","id":"sol","geometry":null,"properties":{}}`)
	clitest.Succeed(t, at(addr, "put", cafe)...)
	clitest.Succeed(t, "kv", "put", "a", "1", "-c", "r", "--server", addr)
	for says, args := range map[string][]string{
		`feature "sol" is in "cafes" already`: at(addr, "put", cafe, "--if-absent"),
		"revision":                            at(addr, "put", cafe, "--if-revision", "99"),
		`no feature "luna" in "cafes"`:        at(addr, "features", "delete", "luna"),
		`no feature "nox" in "cafes"`:         at(addr, "features", "patch", "nox", "{}"),
		`no such key: "b"`:                    {"kv", "delete", "b", "-c", "r", "--server", addr},
		"the key exists":                      {"kv", "put", "a", "1", "-c", "r", "--if-absent", "--server", addr},
	} {
		code, _, got := clitest.Program(t, args...)
		if code != ExitFailure || !strings.Contains(got, says) || !strings.HasSuffix(got, "\nNothing was changed.\n") {
			t.Errorf("%v: exit %d, %q, want %q", args, code, got, says)
		}
	}
	clitest.Fail(t, ExitFailure, at(addr, "get", "luna"), `no feature "luna" in "cafes"`)
	code, out, _ := clitest.Program(t, at(addr, "get", "sol", "luna", "--json")...)
	if code != ExitFailure || !strings.Contains(out, `"missing":["luna"]`) || !strings.Contains(out, `"id":"sol"`) {
		t.Errorf("exit %d, %s", code, out)
	}
	// One was deleted: saying that nothing was changed would be wrong.
	code, out, got := clitest.Program(t, at(addr, "features", "delete", "sol", "luna")...)
	if code != ExitFailure || !strings.Contains(out, "deleted sol") || strings.Contains(got, "Nothing") {
		t.Errorf("exit %d, %q, %q", code, out, got)
	}
}
