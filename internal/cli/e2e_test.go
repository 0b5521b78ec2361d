package cli

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/rstar"
)

const testObjects = 3000

// sample generates a CSV file, and returns its objects.
func sample(t *testing.T) (path string, items []rstar.Item) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "sample.csv")
	clitest.Succeed(t, "gen", "uniform", "--objects", fmt.Sprint(testObjects), "--seed", "3", "--out", path)
	src, err := datasets.Open(path, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if items, err = datasets.Collect(src); err != nil || len(items) != testObjects {
		t.Fatalf("%d items, %v", len(items), err)
	}
	return path, items
}

// scan is the linear scan whose result every search must return.
func scan(items []rstar.Item, q rstar.Rect) []itemJSON {
	var found []itemJSON
	for _, it := range items {
		if it.Rect.Intersects(q) {
			found = append(found, itemJSON{ID: it.ID, Rect: rectJSON(it.Rect)})
		}
	}
	return found
}

// Every policy over every transport returns the result of a linear scan.
func TestSearchByEveryPolicyAndTransport(t *testing.T) {
	csv, items := sample(t)
	query := rstar.Rect{MinX: 0.2, MinY: 0.1, MaxX: 0.6, MaxY: 0.4}
	want := scan(items, query)
	for _, polling := range []bool{false, true} {
		p, addr, ready := clitest.Serve(t, "--load", csv, fmt.Sprintf("--polling=%v", polling))
		if !strings.Contains(ready, " transports=shm,soft,tcp objects=3000 collections=default") {
			t.Errorf("ready line %q", ready)
		}
		for _, transport := range []string{"auto", "shm", "soft", "tcp"} {
			for _, policy := range catfish.Schemes() {
				if transport != "auto" && (transport == "tcp") != (policy == "tcp") {
					continue // Refused; TestUnavailableOptionsAreRefused, TestNoUse.
				}
				if transport == "soft" && policy == "farm" {
					clitest.Fail(t, ExitFailure, []string{"search", "--server", addr, "--bbox", "0.2,0.1,0.6,0.4",
						"--policy", policy, "--transport", transport}, "soft does not")
					continue
				}
				out := clitest.Succeed(t, "search", "--server", addr, "--bbox", "0.2,0.1,0.6,0.4",
					"--policy", policy, "--transport", transport, "--json")
				got := clitest.Decode[answerJSON](t, out)
				slices.SortFunc(got.Items, func(a, b itemJSON) int { return int(a.ID) - int(b.ID) })
				if got.Count != len(want) || !slices.Equal(got.Items, want) {
					t.Errorf("%s over %s: %d objects, want %d", policy, transport, got.Count, len(want))
				}
				on := transport
				if policy == "tcp" { // plain sockets by definition
					on = "tcp"
				}
				if policy != "default" && got.Policy != policy || on != "auto" && got.Transport != on {
					t.Errorf("%s over %s: says %s over %s", policy, transport, got.Policy, got.Transport)
				}
			}
		}
		if rest, code := p.Interrupt(t); code != ExitOK || rest != "" {
			t.Errorf("after Ctrl-C: exit %d, printed %q; %s", code, rest, p.ErrOut.String())
		}
	}
}

// The exact form that scripts read.
func TestSearchJSON(t *testing.T) {
	csv := clitest.File(t, "one.csv", "id,minx,miny,maxx,maxy\n18446744073709551615,-1.5,0,1e3,0.1\n")
	_, addr, _ := clitest.Serve(t, "--load", csv)
	at := []string{"--server", addr, "--policy", "fast", "--transport", "shm", "--json"}
	for args, want := range map[string]string{
		"search --bbox 0,0,1,1": `{"count":1,"items":[{"id":18446744073709551615,` +
			`"rect":[-1.5,0,1000,0.1]}],"policy":"fast","transport":"shm"}`,
		"search --bbox 0,5,1,6": `{"count":0,"items":[],"policy":"fast","transport":"shm"}`,
		"nearest --point 0,2.1 -k 1": `{"count":1,"items":[{"id":18446744073709551615,` +
			`"rect":[-1.5,0,1000,0.1],"dist":2}],"policy":"fast","transport":"shm"}`,
		"count --bbox 0,0,1,1":             `{"count":1,"policy":"fast","transport":"shm"}`,
		"insert --id 2 --rect -9,-9,-8,-8": `{"id":2,"done":"inserted","transport":"shm"}`,
		"check":                            `{"ok":true,"objects":`,
	} {
		out := clitest.Succeed(t, append(strings.Fields(args), at...)...)
		if !strings.HasPrefix(out, strings.TrimSuffix(want, "\n")) || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: %s, want %s", args, out, want)
		}
	}
	// Pipes get the objects only.
	for args, want := range map[string]string{
		"search --bbox 0,0,1,1":      "18446744073709551615\t-1.5\t0\t1000\t0.1\n",
		"nearest --point 0,2.1 -k 1": "18446744073709551615\t-1.5\t0\t1000\t0.1\tdistance 2\n",
	} {
		code, text, summary := clitest.Program(t, append(strings.Fields(args), "--server", addr)...)
		if code != ExitOK || text != want || !strings.HasPrefix(summary, "1 objects, policy ") {
			t.Errorf("%s: exit %d, %q, %q", args, code, text, summary)
		}
	}
}

// The whole life of an object, and of collections.
func TestWrites(t *testing.T) {
	csv, items := sample(t)
	_, addr, ready := clitest.Serve(t, "--collection", "points", "--load", csv, "--grpc", "127.0.0.1:0")
	if !strings.Contains(ready, "collections=default,points") || !strings.Contains(ready, " grpc=127.0.0.1:") {
		t.Errorf("ready line %q", ready)
	}
	_, grpcAddr, _ := strings.Cut(ready, " grpc=")
	if conn, err := net.Dial("tcp", grpcAddr); err != nil {
		t.Errorf("gRPC: %v", err)
	} else {
		conn.Close()
	}
	on := func(args string) []string {
		return append(strings.Fields(args), "--server", addr)
	}
	count := func(collection, bbox string) string {
		t.Helper()
		return strings.TrimSpace(clitest.Succeed(t, on("count --collection "+collection+" --bbox "+bbox)...))
	}
	if a, b := count("points", "0,0,1,1"), count("default", "0,0,1,1"); a != fmt.Sprint(len(items)) || b != "0" {
		t.Errorf("points holds %s, default %s", a, b)
	}
	clitest.Succeed(t, on("insert --id 7 --bbox 5,5,6,6")...)
	if n := count("default", "5.5,5.5,5.5,5.5"); n != "1" {
		t.Errorf("inserted: %s", n)
	}
	clitest.Fail(t, ExitFailure, on("update --id 8 --from 5,5,6,6 --to 1,1,2,2"), "no object 8 at [5 5 6 6]", "nothing was changed")
	clitest.Succeed(t, on("update --id 7 --from 5,5,6,6 --to -2,-2,-1,-1")...)
	if a, b := count("default", "5,5,6,6"), count("default", "-2,-2,-1,-1"); a != "0" || b != "1" {
		t.Errorf("after the update %s at the old place, %s at the new one", a, b)
	}
	clitest.Fail(t, ExitFailure, on("delete --id 7 --bbox 5,5,6,6"), "no object 7")
	clitest.Succeed(t, on("delete --id 7 --bbox -2,-2,-1,-1")...)
	if n := count("default", "-9,-9,9,9"); n != "0" {
		t.Errorf("deleted: %s", n)
	}
	// Loading, from a file and a generator, over rings and over sockets.
	if out := clitest.Succeed(t, on("load --json --transport soft --file "+csv)...); !strings.Contains(out, `{"loaded":3000,`) {
		t.Errorf("load: %s", out)
	}
	clitest.Succeed(t, on("load --transport tcp --file skewed --objects 500")...)
	if n := count("default", "-1,-1,2,2"); n != "3500" {
		t.Errorf("loaded: %s", n)
	}
	for _, collection := range []string{"default", "points"} {
		// The server refuses a check that follows the last one too soon.
		code, out, errOut := clitest.Program(t, on("check --collection "+collection)...)
		for code != ExitOK && strings.Contains(errOut, "the next check may begin in") {
			code, out, errOut = clitest.Program(t, on("check --collection "+collection)...)
		}
		if code != ExitOK || !strings.HasPrefix(out, "ok: ") {
			t.Errorf("check: exit %d, %s%s", code, out, errOut)
		}
	}
	st := clitest.Decode[catfish.ServerStats](t, clitest.Succeed(t, on("status --json")...))
	if st.Addr != addr || st.Collections["default"].Len != 3500 || st.Collections["points"].Len != 3000 {
		t.Errorf("status %+v", st)
	}
	text := clitest.Succeed(t, on("status")...)
	for _, s := range []string{addr, "default: 3500 objects", "transport   shm (", "connected   by shm"} {
		if !strings.Contains(text, s) {
			t.Errorf("status lacks %q:\n%s", s, text)
		}
	}
}

func TestNearestIsInOrder(t *testing.T) {
	csv, items := sample(t)
	_, addr, _ := clitest.Serve(t, "--load", csv)
	var want []float64
	for _, it := range items {
		want = append(want, it.Rect.Distance(0.3, 0.7))
	}
	slices.Sort(want)
	for _, policy := range []string{"fast", "offload", "tcp"} {
		got := clitest.Decode[answerJSON](t, clitest.Succeed(t, "nearest", "--server", addr,
			"--point", "0.3,0.7", "-k", "20", "--policy", policy, "--json"))
		if got.Count != 20 || len(got.Items) != 20 {
			t.Fatalf("%s: %d neighbours, want 20", policy, got.Count)
		}
		for i, it := range got.Items {
			if *it.Dist != want[i] {
				t.Errorf("%s: neighbour %d is at %v, want %v", policy, i, *it.Dist, want[i])
			}
		}
	}
}

// An option that is not available is refused, never replaced.
func TestUnavailableOptionsAreRefused(t *testing.T) {
	_, addr, _ := clitest.Serve(t, "--transport", "soft")
	search := strings.Fields("search --bbox 0,0,1,1 --server " + addr)
	clitest.Fail(t, ExitFailure, append(search, "--transport", "shm"), "transport not available", "shm")
	clitest.Fail(t, ExitUsage, append(search, "--policy", "fast", "--transport", "tcp"), "tcp")
	clitest.Fail(t, ExitFailure, append(search, "--collection", "roads"),
		"unknown collection", "roads", "serve --collection")
	got := clitest.Decode[answerJSON](t, clitest.Succeed(t, append(search, "--json")...))
	if got.Transport != "soft" {
		t.Errorf("transport %s, want soft", got.Transport)
	}
}

func TestNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // Accepts and never answers.
	began := time.Now()
	clitest.Fail(t, ExitFailure, []string{"status", "--server", l.Addr().String(), "--dial-timeout", "300ms"},
		"no server", l.Addr().String())
	clitest.Fail(t, ExitFailure, []string{"search", "--bbox", "0,0,1,1", "--server", "127.0.0.1:1",
		"--dial-timeout", "300ms"}, "no server", "127.0.0.1:1", "catfish serve")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v, want about 0.6 s", took)
	}
}

func TestAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	used := l.Addr().String()
	clitest.Fail(t, ExitFailure, []string{"serve", "--listen", used}, "address in use", used, "--listen")
	clitest.Fail(t, ExitFailure, []string{"serve", "--listen", "127.0.0.1:0", "--grpc", used},
		"gRPC: address in use", used, "--grpc")
	clitest.Fail(t, ExitFailure, []string{"serve", "--transport", "ofi"}, "this build has no libfabric")
}

func TestBadFiles(t *testing.T) {
	const head = "id,minx,miny,maxx,maxy\n"
	geo := `{"type":"FeatureCollection","features":[` +
		`{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{}},` + "\n" +
		`{"type":"Feature","geometry":{"type":"Point","coordinates":[1,`
	_, addr, _ := clitest.Serve(t)
	loaded := 0
	for _, c := range []struct {
		name, content string
		before        int // items before the fault
		says          []string
	}{
		{"nan.csv", head + "1,0,0,1,1\n2,NaN,0,1,1\n", 1, []string{"line 3", "NaN"}},
		{"inf.csv", head + "1,0,0,Inf,1\n", 0, []string{"line 2", "Inf"}},
		{"order.csv", head + "1,3,0,1,1\n", 0, []string{"line 2", "3", "exceeds"}},
		{"three.csv", head + "1,0,0,1,1\n2,0,0,1,1\n3,0,0,1\n", 2, []string{"line 4"}},
		{"head.csv", "a,b\n", 0, []string{"line 1", "id,minx,miny,maxx,maxy"}},
		{"odd.rea02", strings.Repeat("\x00", 33), 0, []string{"odd.rea02", "32"}},
		{"cut.geojson", geo, 1, []string{"cut.geojson"}},
		{"cut.pbf", "\x00\x00\x00\x0d\x0a\x09OSMHeader\x18\x7f", 0, []string{"cut.pbf"}},
		{"empty", "", 0, []string{"empty"}},
		{"strange", "what is this\n", 0, []string{"unknown format", "csv, geojson"}},
	} {
		path := clitest.File(t, c.name, c.content)
		spec := path
		if strings.HasSuffix(c.name, "rea02") {
			spec = "rea02:" + path
		}
		// A server does not start with the file, and a check refuses it.
		clitest.Fail(t, ExitFailure, []string{"serve", "--listen", "127.0.0.1:0", "--load", spec}, c.says...)
		clitest.Fail(t, ExitFailure, []string{"check", spec}, c.says...)
		// A load keeps the objects before the fault and reports their number.
		clitest.Fail(t, ExitFailure, []string{"load", "--server", addr, "--file", spec}, c.says...)
		if c.before > 0 {
			loaded += c.before
			clitest.Fail(t, ExitFailure, []string{"load", "--server", addr, "--file", spec},
				fmt.Sprintf("%d objects were loaded before that and stay", c.before))
			loaded += c.before
		}
		got := strings.TrimSpace(clitest.Succeed(t, "count", "--server", addr, "--bbox", "-9,-9,9,9"))
		if got != fmt.Sprint(loaded) {
			t.Fatalf("%s: %s objects on the server, want %d", c.name, got, loaded)
		}
	}
	missing := filepath.Join(t.TempDir(), "missing.csv")
	clitest.Fail(t, ExitFailure, []string{"load", "--server", addr, "--file", missing}, missing, "no such file")
	clitest.Fail(t, ExitUsage, []string{"check", "--objects", "5", clitest.File(t, "x.csv", head)}, "only generators")
}

func TestSlabFull(t *testing.T) {
	// Room for about 250 nodes of 42 entries.
	small := []string{"--slab-bytes", fmt.Sprint(500 << 10)}
	data := []string{"uniform", "--objects", "20000"}
	clitest.Fail(t, ExitFailure, slices.Concat([]string{"serve", "--listen", "127.0.0.1:0"}, small,
		[]string{"--load"}, data), "511872", "nothing was loaded", "--slab-bytes")
	_, addr, _ := clitest.Serve(t, small...)
	clitest.Fail(t, ExitFailure, slices.Concat([]string{"load", "--server", addr, "--file"}, data),
		"512000", "--slab-bytes", "objects were loaded before that and stay", "change was not made")
	clitest.Succeed(t, "check", "--server", addr)
	clitest.Fail(t, ExitUsage, []string{"serve", "--listen", "127.0.0.1:0", "--slab-bytes", "1000"},
		"--slab-bytes 1000")
	clitest.Fail(t, ExitUsage, []string{"serve", "--listen", "127.0.0.1:0", "--node-bytes", "1000"},
		"--node-bytes 1000")
}

func TestCheckFile(t *testing.T) {
	csv, _ := sample(t)
	if out := clitest.Succeed(t, "check", csv); !strings.HasPrefix(out, "ok: local, 3000 objects") {
		t.Errorf("check: %s", out)
	}
	if out := clitest.Succeed(t, "check", csv, csv); !strings.Contains(out, " 6000 objects") {
		t.Errorf("check of two files: %s", out)
	}
	got := clitest.Decode[map[string]any](t, clitest.Succeed(t, "check", "california", "--json"))
	if got["ok"] != true || got["objects"] != 21693.0 {
		t.Errorf("check: %v", got)
	}
}

// Ctrl-C ends a load with the reason; the objects already sent stay.
func TestInterruptedLoad(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	p := startLoad(t, addr)
	if _, code := p.Interrupt(t); code != ExitFailure {
		t.Errorf("exit %d, want %d", code, ExitFailure)
	}
	if e := p.ErrOut.String(); !strings.Contains(e, "interrupted") || !strings.Contains(e, "stay on the server") {
		t.Errorf("says %q", e)
	}
	clitest.Succeed(t, "check", "--server", addr)
}

// A killed server loses the loaded objects.
func TestLoadServerKilled(t *testing.T) {
	srv, addr, _ := clitest.Serve(t)
	p := startLoad(t, addr)
	if err := srv.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, code := p.Wait(t)
	if e := p.ErrOut.String(); code != ExitFailure || !strings.Contains(e, "unless it has ended") {
		t.Errorf("exit %d, says %q", code, e)
	}
}

// startLoad starts a load that takes long, and returns when objects
// arrive at the server.
func startLoad(t *testing.T, addr string) *clitest.Process {
	t.Helper()
	p := clitest.Start(t, "load", "--server", addr, "--file", "uniform", "--objects", "50000000")
	deadline := time.Now().Add(clitest.Patience)
	for strings.TrimSpace(clitest.Succeed(t, "count", "--server", addr, "--bbox", "0,0,1,1")) == "0" {
		if time.Now().After(deadline) {
			t.Fatal("nothing is loaded")
		}
	}
	return p
}

func TestServePinned(t *testing.T) {
	avail, err := affinity.Available()
	if err != nil {
		t.Fatal(err)
	}
	core := avail[len(avail)-1:].String()
	p, addr, _ := clitest.Serve(t, "--cpus", core, "--socket", filepath.Join(t.TempDir(), "s"), "--socket-mode", "0660")
	st := clitest.Decode[catfish.ServerStats](t, clitest.Succeed(t, "status", "--server", addr, "--json"))
	if st.Cores > 1 {
		t.Errorf("pinned to one core, may use %v", st.Cores)
	}
	mask, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	if err == nil && !strings.Contains(string(mask), "Cpus_allowed_list:\t"+core+"\n") {
		t.Errorf("the process is not pinned to core %s", core)
	}
}
