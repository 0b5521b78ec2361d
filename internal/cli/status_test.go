package cli

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/rstar"
)

// TestStatusOfFeatures: status and list show features, and where they are stored; check
// checks their tree.
func TestStatusOfFeatures(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	cafes := clitest.File(t, "cafes.geojson", cafesJSON)
	_, addr, _ := clitest.Serve(t, "--data-dir", data, "--sync", "100ms", "--features", "cafes", "--load", cafes)
	says := clitest.Succeed(t, at(addr, "status")...)
	for _, want := range []string{"cafes: 1 features (geographic)", "kept        in ", data, "sync 100ms", "0 watchers"} {
		if !strings.Contains(says, want) {
			t.Errorf("status does not say %q:\n%s", want, says)
		}
	}
	if got := clitest.Succeed(t, at(addr, "check")...); !strings.Contains(got, "1 objects") {
		t.Errorf("check says %s", got)
	}
	st := clitest.Decode[catfish.ServerStats](t, clitest.Succeed(t, "status", "--server", addr, "--json"))
	for _, c := range clitest.Decode[struct {
		Collections []catfish.CollectionInfo `json:"collections"`
	}](t, clitest.Succeed(t, "collections", "list", "--json", "--server", addr)).Collections {
		if c.SlabBytes > st.Memory.Limit {
			t.Errorf("%s may take %d bytes, the server has %d", c.Name, c.SlabBytes, st.Memory.Limit)
		}
	}
	_, addr, _ = clitest.Serve(t, "--features", "cafes")
	if got := clitest.Succeed(t, at(addr, "status")...); !strings.Contains(got, "in memory alone") {
		t.Errorf("status says %s", got)
	}
	gone := filepath.Join(t.TempDir(), "gone")
	clitest.Fail(t, ExitFailure, []string{"check", "--data-dir", gone}, gone+" does not exist")
	clitest.Fail(t, ExitFailure, []string{"restore", "--from", gone, "--data-dir", gone + "2"}, gone+" does not exist")
}

// TestStatusBrief: a few lines show the server, its memory and its collections. They leave
// out budgets, unless a budget has refused something.
func TestStatusBrief(t *testing.T) {
	cafes := clitest.File(t, "cafes.geojson", cafesJSON)
	_, addr, _ := clitest.Serve(t, "--features", "cafes", "--load", cafes)
	got := clitest.Succeed(t, "status", "--brief", "-s", addr)
	for _, want := range []string{"server ", addr, "up ", "memory ", "in memory alone", "2 with 1 objects"} {
		if !strings.Contains(got, want) {
			t.Errorf("status --brief does not say %q:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\n"); n > 5 || strings.Contains(got, "budget") {
		t.Errorf("%d lines:\n%s", n, got)
	}
	st := catfish.ServerStats{Loading: []string{"a"}, Budgets: []catfish.BudgetStats{{Name: "connections", Limit: 8, Refused: 3}, {Name: "bytes", Limit: 9}}}
	if got := briefText(st); !strings.Contains(got, "1 of them loading") || !strings.Contains(got, "connections: 0 of 8") || strings.Contains(got, "bytes: ") {
		t.Error(got)
	}
	clitest.Fail(t, ExitUsage, []string{"status", "--brief", "--json", "-s", addr}, "want one of them")
}

var ofMiB = regexp.MustCompile(`of [0-9.]+ MiB used`)

// TestUsedMemory: a collection's own limit is shown, but not the server's limit, which
// all collections share.
func TestUsedMemory(t *testing.T) {
	_, addr, _ := clitest.Serve(t, "--features", "cafes")
	for _, args := range [][]string{{"collections", "list"}, {"status"}} {
		if got := clitest.Succeed(t, append(args, "-s", addr)...); !strings.Contains(got, " 0.0 MiB used") || ofMiB.MatchString(got) {
			t.Errorf("%v:\n%s", args, got)
		}
	}
	_, addr, _ = clitest.Serve(t, "--slab-bytes", "8MiB")
	for _, args := range [][]string{{"collections", "list"}, {"status"}} {
		if got := clitest.Succeed(t, append(args, "-s", addr)...); !strings.Contains(got, "of 8.0 MiB used") {
			t.Errorf("%v:\n%s", args, got)
		}
	}
}

// TestStatusOfGroups: each group has its lines, and what is summed comes after them.
func TestStatusOfGroups(t *testing.T) {
	of := func(addr string, n int) *catfish.ServerStats {
		return &catfish.ServerStats{Addr: addr, Collections: map[string]rstar.Stats{"x": {Len: n}}, Memory: catfish.MemoryStats{Limit: 1 << 30}}
	}
	st := *of("", 7)
	st.Groups = map[string]*catfish.ServerStats{"b": of("host2:1", 4), "a": of("host1:1", 3)}
	st.Memory.Limit = 2 << 30
	for _, r := range []struct{ text, want string }{
		{briefText(st), "group a\n  server       host1:1,.*\n.*\n  collections  1 with 3 objects\ngroup b\n  server .*host2:1(.|\n)*all 2 groups.*\nmemory .*2.0 GiB\ncollections  1 with 7 objects\n$"},
		{statusText(st, catfish.ConnInfo{}), "group a\n  server      host1:1,(.|\n)*x: 3 objects(.|\n)*group b\n  server(.|\n)*all 2 groups(.|\n)*2.0 GiB\ncollection  x: 7 objects"},
	} {
		if !regexp.MustCompile(r.want).MatchString(r.text) {
			t.Errorf("want %s in\n%s", r.want, r.text)
		}
	}
}
