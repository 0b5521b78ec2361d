package cli

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// TestCollections: a collection made by 'collections' can be used, and dropped;
// one that the server has from its start cannot be dropped.
func TestCollections(t *testing.T) {
	_, addr, _ := clitest.Serve(t, "--collection", "default,roads")
	at := []string{"--server", addr}
	clitest.Succeed(t, append([]string{"collections", "create", "lakes"}, at...)...)
	create := append([]string{"collections", "create", "lakes"}, at...)
	if got := clitest.Succeed(t, create...); got != "lakes exists\n" {
		t.Errorf("create again says %q", got)
	}
	if got := clitest.Succeed(t, append(create, "--json")...); !strings.Contains(got, `"done":"exists"`) {
		t.Errorf("create again says %q", got)
	}
	clitest.Fail(t, ExitFailure, append(create, "--records"), "another kind")
	clitest.Succeed(t, append([]string{"insert", "--id", "1", "--bbox", "0,0,1,1", "--collection", "lakes"}, at...)...)
	out := clitest.Succeed(t, append([]string{"collections", "list", "--json"}, at...)...)
	l := clitest.Decode[struct {
		Collections []catfish.CollectionInfo `json:"collections"`
	}](t, out).Collections
	if len(l) != 3 || l[1].Name != "lakes" || l[1].Objects != 1 || l[2].Objects != 0 {
		t.Errorf("%+v", l)
	}
	clitest.Succeed(t, append([]string{"collections", "drop", "lakes"}, at...)...)
	clitest.Fail(t, ExitFailure, append([]string{"collections", "drop", "lakes"}, at...), "no collection", "nothing was changed")
	clitest.Fail(t, ExitFailure, append([]string{"collections", "drop", "roads"}, at...), "not permitted", "'catfish serve' without its name")
	clitest.Fail(t, ExitFailure, append([]string{"collections", "drop", "default"}, at...), "what clients have created")
	clitest.Fail(t, ExitFailure, append([]string{"collections", "create", "kept", "--keep"}, at...), "--data-dir DIR")
	clitest.Fail(t, ExitFailure, append([]string{"backup", "monday"}, at...), "--backup-dir DIR")
	clitest.Fail(t, ExitFailure, append([]string{"count", "--bbox", "0,0,1,1", "--collection", "lakes"}, at...), "collections create")

	_, addr, _ = clitest.Serve(t, "--client-collections", "-1")
	clitest.Fail(t, ExitFailure, []string{"collections", "create", "lakes", "--server", addr}, "--client-collections")
	clitest.Fail(t, ExitUsage, []string{"collections", "list", "--policy", "fast", "--server", addr}, "--policy does nothing")
	clitest.Fail(t, ExitUsage, []string{"serve", "--client-collections", "0"}, "--client-collections")
}

// TestNearestMaxDistance: no object beyond the maximum distance is found.
func TestNearestMaxDistance(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	for _, x := range []string{"0", "10", "20"} {
		clitest.Succeed(t, "insert", "--id", "1"+x, "--bbox", x+",0,"+x+",0", "--server", addr)
	}
	for within, want := range map[string]int{"0": 1, "9.5": 1, "10": 2, "+Inf": 3} {
		out := clitest.Succeed(t, "nearest", "--point", "0,0", "--max-distance", within, "--server", addr, "--json")
		if got := clitest.Decode[answerJSON](t, out).Count; got != want {
			t.Errorf("within %s: %d objects, want %d", within, got, want)
		}
	}
	clitest.Fail(t, ExitUsage, []string{"nearest", "--point", "0,0", "--max-distance", "-1", "--server", addr}, "--max-distance")
	clitest.Fail(t, ExitUsage, []string{"nearest", "--point", "0,0", "-k", "65537", "--server", addr}, "65536")
}

// TestServeLoading: a server with data to load is not ready before it has loaded it.
func TestServeLoading(t *testing.T) {
	a := &App{Err: io.Discard}
	f := serveFlags{listen: "127.0.0.1:0", socketMode: "0600", transport: "auto", collections: []string{"roads", "default"}}
	f.opts.Server.ClientCollections = 1
	f.flags = pflag.NewFlagSet("serve", pflag.ContinueOnError)
	o, err := f.options(a)
	if err != nil || len(o.Server.Loading) != 0 {
		t.Fatalf("without data: %v, %v", o.Server.Loading, err)
	}
	f.load = []string{"roads.csv"}
	if o, err = f.options(a); err != nil || !slices.Equal(o.Server.Loading, []string{"roads"}) {
		t.Errorf("with data: %v, %v", o.Server.Loading, err)
	}
}

// A server without memory for more connections over rings still shows its status, and
// drops the collection that uses the memory.
func TestServerWithoutMemoryForRings(t *testing.T) {
	p, addr, _ := clitest.Serve(t, "--memory-limit", "64MiB", "--load", "uniform", "--objects", "1000000")
	p.AwaitError(t, "memory limit exceeded")
	if st := clitest.Decode[catfish.ServerStats](t, clitest.Succeed(t, "status", "--server", addr, "--json")); !st.Memory.Full {
		t.Errorf("holds %d bytes of %d, and is not full", st.Memory.Resident, st.Memory.Limit)
	}
	clitest.Fail(t, ExitFailure, []string{"search", "--bbox", "0,0,1,1", "--server", addr, "--limit", "1"}, "--memory-limit")
	clitest.Succeed(t, "collections", "list", "--server", addr)
}
