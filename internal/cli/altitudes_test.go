package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// An altitude after the first rows does not fit the columns lon and lat: the error names
// the flag that makes room. A search holds all features and writes WKT.
func TestLateAltitude(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	var rows strings.Builder
	rows.WriteString("id,wkt\n")
	for i := range 1200 {
		fmt.Fprintf(&rows, "p%04d,POINT(1 2)\n", i)
	}
	rows.WriteString("z,POINT Z (1 2 3)\n")
	clitest.Succeed(t, at(addr, "load", clitest.File(t, "late.csv", rows.String()))...)
	out := filepath.Join(t.TempDir(), "x.csv")
	clitest.Fail(t, ExitUsage, at(addr, "export", "--out", out), `id "z"`, "an altitude has no room", "--geometry wkt")
	for _, c := range []struct{ args, head, last string }{
		{"export --format csv --geometry wkt", "id,wkt", "z,POINT Z (1 2 3)"},
		{"export --format csv --geometry xy", "id,lon,lat", "z,1,2"},
		{"search --format csv --order id --limit 2000", "id,wkt", "z,POINT Z (1 2 3)"},
	} {
		lines := strings.Split(strings.TrimSpace(clitest.Succeed(t, at(addr, strings.Fields(c.args)...)...)), "\n")
		if lines[0] != c.head || lines[len(lines)-1] != c.last {
			t.Errorf("%s: %s, ..., %s, want %s, ..., %s", c.args, lines[0], lines[len(lines)-1], c.head, c.last)
		}
	}
	clitest.Fail(t, ExitUsage, at(addr, "export", "--geometry", "gml"), `--geometry is "gml", want auto, wkt, xy`)
	clitest.Fail(t, ExitUsage, at(addr, "export", "--geometry", "wkt"), "--geometry is of csv, and the format is geojson")
}

// Features loaded with altitudes are written with them, over each path, and a written
// file is loaded and written again as the same bytes.
func TestAltitudes(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	lines := []string{
		`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1.5,42.5,1023.25]},"properties":{"n":1}}`,
		`{"type":"Feature","id":"b","geometry":{"type":"LineString","coordinates":[[1,42,-3],[1.25,42.5],[1.5,43,0]]},"properties":null}`,
		`{"type":"Feature","id":"c","geometry":{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,42]},` +
			`{"type":"Polygon","coordinates":[[[1,42,1],[2,42,2],[2,43,3],[1,42,4]]]}]},"properties":{}}`,
		`{"type":"Feature","id":"d","geometry":{"type":"Point","coordinates":[1,42]},"properties":null}`,
	}
	want := strings.Join(lines, "\n") + "\n"
	in := clitest.File(t, "high.geojsonl", want)
	to := func(c string, args ...string) []string { return append(args, "-s", addr, "-c", c) }
	clitest.Succeed(t, to("high", "load", in)...)
	for _, path := range [][]string{{"--policy", "fast"}, {"--policy", "offload"}, {"--transport", "tcp"}} {
		if got := clitest.Succeed(t, to("high", append([]string{"search", "--order", "id", "--format", "geojsonseq"}, path...)...)...); got != want {
			t.Errorf("%v: got\n%s, want\n%s", path, got, want)
		}
	}
	for _, format := range []string{"geojson", "geojsonseq", "csv"} {
		first := clitest.Succeed(t, to("high", "export", "--format", format)...)
		if format == "geojsonseq" && first != want {
			t.Errorf("got\n%s, want\n%s", first, want)
		}
		again := "again-" + format
		clitest.Succeed(t, to(again, "load", clitest.File(t, "again."+format, first), "--format", format)...)
		if second := clitest.Succeed(t, to(again, "export", "--format", format)...); second != first {
			t.Errorf("%s: got\n%s, want\n%s", format, second, first)
		}
	}
	if got := clitest.Succeed(t, to("high", "nearest", "--point", "1.5,42.5", "-k", "1", "--format", "geojsonseq")...); !strings.Contains(got, "[1.5,42.5,1023.25]") {
		t.Errorf("nearest: %s", got)
	}
	clitest.Succeed(t, to("high", "features", "patch", "a", `{"n":2}`)...)
	if got := clitest.Succeed(t, to("high", "get", "a")...); got != strings.Replace(lines[0], `"n":1`, `"n":2`, 1)+"\n" {
		t.Errorf("patched: %s", got)
	}
	one := clitest.File(t, "one.geojson", lines[1])
	clitest.Succeed(t, to("put", "put", one)...)
	if got := clitest.Succeed(t, to("put", "get", "b")...); got != lines[1]+"\n" {
		t.Errorf("put: %s", got)
	}
}
