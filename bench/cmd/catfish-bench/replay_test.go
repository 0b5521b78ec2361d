package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/bench/replay"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/rstar"
)

// rea02File writes items in rea02's format: no header, no ids.
func rea02File(t *testing.T, name string, items []rstar.Item) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := datasets.Write(f, datasets.Rea02, datasets.FromItems(name, items)); err != nil {
		t.Fatal(err)
	}
	return path
}

// rea02Like returns data of the generator, through a file, and 300 queries
// with between none and hundreds of results.
func rea02Like(t *testing.T) (data, queries string, items []rstar.Item, asked []rstar.Rect) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data.rea02")
	clitest.Succeed(t, "gen", "rea02-like", "--objects", "20000", "--seed", "2", "--as", "rea02", "--out", data)
	src, err := datasets.Open(data, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if items, err = datasets.Collect(src); err != nil || len(items) != 20000 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var boxes []rstar.Item
	for i := range 300 {
		x, y, edge := rng.Float64(), rng.Float64(), 0.1*rng.Float64()*float64(i%3)
		r := rstar.Rect{MinX: x, MinY: y, MaxX: x + edge, MaxY: y + edge}
		asked = append(asked, r)
		boxes = append(boxes, rstar.Item{Rect: r})
	}
	return data, rea02File(t, "queries.rea02", boxes), items, asked
}

// resultsOf returns the expected output of --results --ids, by a linear scan.
func resultsOf(items []rstar.Item, asked []rstar.Rect) string {
	var b strings.Builder
	for i, q := range asked {
		var ids []uint64
		for _, it := range items {
			if it.Rect.Intersects(q) {
				ids = append(ids, it.ID)
			}
		}
		slices.Sort(ids)
		fmt.Fprintf(&b, "%d\t%d\t", i, len(ids))
		for j, id := range ids {
			if j > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(strconv.FormatUint(id, 10))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// replayRows replays with --json -.
func replayRows(t *testing.T, args ...string) []replay.Row {
	t.Helper()
	var rows []replay.Row
	out := clitest.Succeed(t, append([]string{"replay", "--json", "-"}, args...)...)
	for line := range strings.Lines(out) {
		rows = append(rows, clitest.Decode[replay.Row](t, line))
	}
	return rows
}

// Files of rea02's format, inserted or bulk loaded, by all schemes, over
// the transports, at different concurrency: each query runs once, and finds
// the result of a linear scan.
func TestReplay(t *testing.T) {
	data, queries, items, asked := rea02Like(t)
	want := resultsOf(items, asked)
	results := filepath.Join(t.TempDir(), "results")
	for _, c := range []struct {
		schemes string
		args    string
	}{
		{"fast,offload,paper,tcp", "--transport shm"},
		{"offload,paper", "--transport soft --bulk --clients 3 --in-flight 5 --client-procs 2"},
		{"paper", "--clients 1 --in-flight 1 --dataset-format rea02 --query-format rea02"},
		{"fast-polling", "--clients 9 --client-procs 4 --in-flight 100 --bulk"},
	} {
		args := append(strings.Fields(c.args), "--data", data, "--queries", queries,
			"--scheme", c.schemes, "--results", results, "--ids", "--verify")
		rows := replayRows(t, args...)
		if got := clitest.ReadFile(t, results); got != want {
			t.Fatalf("%s %s: results differ from those of a scan", c.schemes, c.args)
		}
		schemes := strings.Split(c.schemes, ",")
		if len(rows) != len(schemes) {
			t.Fatalf("%s: %d rows", c.schemes, len(rows))
		}
		for i, r := range rows {
			by := "insert"
			if strings.Contains(c.args, "--bulk") {
				by = "bulk"
			}
			if r.Scheme != schemes[i] || r.Count != 300 || r.Verified != 300 || r.LoadedBy != by ||
				r.Loaded != 20000 || r.Objects != 20000 || r.LoadedPerS <= 0 || r.Recorded != nil {
				t.Errorf("row %+v", r)
			}
			if r.OpsPerS <= 0 || r.MeanUs <= 0 || r.P50Us > r.P99Us || r.P99Us > r.P999Us ||
				r.ByOp["search"].Count != 300 || r.Bytes <= 0 {
				t.Errorf("%s: figures %+v", r.Scheme, r.Figures)
			}
			if offloads := r.Scheme == "offload"; r.Scheme != "paper" && (r.Offload == 1) != offloads {
				t.Errorf("%s: offload share %v", r.Scheme, r.Offload)
			}
			if on := r.Transport; r.Scheme == "tcp" && on != "tcp" || strings.Contains(c.args, "soft") && on != "soft" {
				t.Errorf("%s: over %s", r.Scheme, on)
			}
		}
	}
}

// The query sets of the rea02 benchmark, and the paper's scales.
func TestReplayMadeQueries(t *testing.T) {
	data, _, items, _ := rea02Like(t)
	for _, set := range []datasets.QuerySet{datasets.QR0, datasets.QR1, datasets.QR2} {
		n := 0
		for range set.Queries(items) {
			n++
		}
		rows := replayRows(t, "--data", data, "--queries", set.String(), "--bulk", "--verify", "--scheme", "fast")
		if r := rows[0]; r.Count != n || r.Verified != n {
			t.Errorf("%v: %d queries, %d verified, want %d", set, r.Count, r.Verified, n)
		}
	}
	out := clitest.Succeed(t, "replay", "--data", "california", "--queries", "1e-2", "--query-count", "123", "--verify")
	if !strings.Contains(out, "california: 123 requests of 1e-2, each once, to 21693 objects") {
		t.Errorf("table:\n%s", out)
	}
}

// A recorded server's log, replayed, finds the same results as its server, request
// by request; the log has the requests by every path except offloaded ones.
func TestReplayRecorded(t *testing.T) {
	data, queries, items, asked := rea02Like(t)
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	p, addr, ready := clitest.Serve(t, "--load", data, "--record", log, "--record-writes", "--grpc", "127.0.0.1:0")
	_, grpcAddr, _ := strings.Cut(ready, " grpc=")
	recorded := filepath.Join(dir, "recorded.tsv")
	for _, scheme := range []string{"fast", "offload", "tcp"} {
		clitest.Succeed(t, "replay", "--addr", addr, "--queries", queries, "--scheme", scheme,
			"--clients", "1", "--in-flight", "1", "--results", recorded)
	}
	on := []string{"--server", addr, "--policy", "fast"}
	clitest.Succeed(t, append([]string{"nearest", "--point", "0.5,0.5", "-k", "7"}, on...)...)
	clitest.Succeed(t, append([]string{"search", "--bbox", "0,0,1,1", "--limit", "11"}, on...)...)
	clitest.Succeed(t, append([]string{"insert", "--id", "99", "--bbox", "3,3,4,4"}, on...)...)
	clitest.Succeed(t, append([]string{"count", "--bbox", "0,0,9,9"}, on...)...)
	clitest.Succeed(t, append([]string{"update", "--id", "99", "--from", "3,3,4,4", "--to", "5,5,6,6"}, on...)...)
	clitest.Succeed(t, append([]string{"delete", "--id", "99", "--bbox", "5,5,6,6"}, on...)...)
	near := askGRPC(t, grpcAddr)
	if text := clitest.Succeed(t, "status", "--server", addr); !strings.Contains(text, "recording   "+log+": ") {
		t.Errorf("status:\n%s", text)
	}
	st := clitest.Decode[catfish.ServerStats](t, clitest.Succeed(t, "status", "--server", addr, "--json"))
	if r := st.Recording; r == nil || r.File != log || !r.Writes || r.Dropped != 0 {
		t.Errorf("recording %+v", r)
	}
	const others, overGRPC, writes = 3, 5, 3
	if _, code := p.Interrupt(t); code != cli.ExitOK {
		t.Fatalf("exit %d: %s", code, p.ErrOut.String())
	}
	total := 2*len(asked) + others + writes + overGRPC
	if says := fmt.Sprintf("recorded %s: %d searches and writes", log, total); !strings.Contains(p.ErrOut.String(), says) {
		t.Errorf("says %q, want %q", p.ErrOut.String(), says)
	}
	again := filepath.Join(dir, "again.tsv")
	rows := replayRows(t, "--data", data, "--queries", log, "--clients", "1", "--in-flight", "1",
		"--scheme", "paper,tcp", "--verify", "--results", again)
	for _, r := range rows {
		if c := r.Recorded; r.Count != total || r.Writes != writes || r.Verified != total || c == nil ||
			c.Differ != 0 || c.Unknown != overGRPC || c.Same != total-overGRPC || r.Lost != 0 || r.Incomplete {
			t.Errorf("row %+v, recorded %+v", r, c)
		}
	}
	lines := strings.SplitAfter(clitest.ReadFile(t, again), "\n")
	// The first part has the requests of the first replay, and their results.
	if got := strings.Join(lines[:len(asked)], ""); got != clitest.ReadFile(t, recorded) {
		t.Error("the recorded queries find something else than when they were asked")
	}
	for i, want := range []int{7, 11, 1, len(items) + 1, 1, 1} {
		at := 2*len(asked) + i
		if got := fmt.Sprintf("%d\t%d\n", at, want); lines[at] != got {
			t.Errorf("line %q, want %q", lines[at], got)
		}
	}
	if got := fmt.Sprintf("%d\t%d\n", total-1, near); lines[total-1] != got {
		t.Errorf("near by gRPC: line %q, want %q", lines[total-1], got)
	}
	// A concurrent replay finds the same results where nothing is written: the
	// two recorded replays searched there.
	if r := replayRows(t, "--data", data, "--queries", log, "--bulk", "--client-procs", "2")[0]; r.Recorded.Same < 2*len(asked) {
		t.Errorf("recorded %+v, want at least %d the same", r.Recorded, 2*len(asked))
	}
}

// askGRPC sends five requests, the last one for near objects, and returns the
// number of these.
func askGRPC(t *testing.T, addr string) (near int) {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), clitest.Patience)
	defer cancel()
	c := catfishv1.NewCatfishServiceClient(conn)
	box := &catfishv1.Rect{MinX: 0.2, MinY: 0.2, MaxX: 0.4, MaxY: 0.4}
	if _, err := c.Count(ctx, &catfishv1.CountRequest{Query: box}); err != nil {
		t.Fatal(err)
	}
	// Refused, so not recorded.
	if _, err := c.Count(ctx, &catfishv1.CountRequest{Query: &catfishv1.Rect{MinX: 1}}); err == nil {
		t.Error("counted in no rectangle")
	}
	found, err := c.Search(ctx, &catfishv1.SearchRequest{Query: box, Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = found.Recv()
	}
	many, err := c.SearchMany(ctx, &catfishv1.SearchManyRequest{Queries: []*catfishv1.Rect{box, box}})
	for err == nil {
		_, err = many.Recv()
	}
	// Both are refused.
	many, err = c.SearchMany(ctx, &catfishv1.SearchManyRequest{Queries: []*catfishv1.Rect{box, {MinX: 1}}})
	if err == nil {
		_, err = many.Recv()
	}
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("searched in no rectangle: %v", err)
	}
	within := 0.03
	nearby, err := c.Nearest(ctx, &catfishv1.NearestRequest{X: 0.5, Y: 0.5, MaxDistance: &within})
	if err != nil {
		t.Fatal(err)
	}
	for {
		m, err := nearby.Recv()
		if err != nil {
			return near
		}
		near += len(m.GetNeighbors())
	}
}

// The log of a killed server is read up to its last complete record.
func TestRecordKilled(t *testing.T) {
	data, queries, _, asked := rea02Like(t)
	log := filepath.Join(t.TempDir(), "log")
	p, addr, _ := clitest.Serve(t, "--load", data, "--record", log)
	ask := []string{"replay", "--server", addr, "--queries", queries, "--scheme", "fast"}
	clitest.Succeed(t, ask...)
	// Once the server counts all records as written, a kill loses none of them.
	deadline := time.Now().Add(clitest.Patience)
	for {
		st := clitest.Decode[catfish.ServerStats](t, clitest.Succeed(t, "status", "--server", addr, "--json"))
		if st.Recording.Records == uint64(len(asked)) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("recorded %+v, want %d", st.Recording, len(asked))
		}
	}
	if err := p.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Cmd.Wait()
	flags := []string{"--data", data, "--bulk", "--queries", log, "--scheme", "paper"}
	if r := replayRows(t, flags...)[0]; r.Count != len(asked) || r.Incomplete || r.Recorded.Same != len(asked) {
		t.Errorf("row %+v, recorded %+v", r, r.Recorded)
	}
	// The same with the last record cut, as by a full disk.
	b := clitest.ReadFile(t, log)
	if err := os.WriteFile(log, []byte(b[:len(b)-5]), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := clitest.Program(t, append([]string{"replay", "--json", "-"}, flags...)...)
	if code != cli.ExitOK || !strings.Contains(errOut, "WARNING") || !strings.Contains(errOut, "torn") {
		t.Errorf("exit %d, says %s", code, errOut)
	}
	if r := clitest.Decode[replay.Row](t, out); r.Count != len(asked)-1 || !r.Incomplete {
		t.Errorf("row %+v", r)
	}
}

// On a running server: a collection of its own, loaded by the replay or
// before it.
func TestReplayRunningServer(t *testing.T) {
	data, queries, items, asked := rea02Like(t)
	_, addr, _ := clitest.Serve(t, "--collection", "default,roads")
	results := filepath.Join(t.TempDir(), "results")
	on := []string{"--server", addr, "--collection", "roads", "--data", data, "--queries", queries,
		"--verify", "--results", results, "--ids"}
	r := replayRows(t, on...)[0]
	if r.Addr != addr || r.Collection != "roads" || r.Loaded != 20000 || r.Objects != 20000 || r.ServerCPUs != "" {
		t.Errorf("row %+v", r)
	}
	rows := replayRows(t, append(on, "--no-load", "--scheme", "offload,tcp")...)
	if len(rows) != 2 || rows[1].Loaded != 0 || rows[1].Objects != 20000 || rows[1].LoadedBy != "none" {
		t.Errorf("rows %+v", rows)
	}
	if clitest.ReadFile(t, results) != resultsOf(items, asked) {
		t.Error("results differ from those of a scan")
	}
	// The replay does not load the collection twice unless asked to.
	clitest.Fail(t, cli.ExitFailure, append([]string{"replay"}, on...), "collection not empty", "collection roads of "+addr,
		"holds 20000 objects, and nothing was inserted", "--no-load", "--force")
	if got := strings.TrimSpace(clitest.Succeed(t, "count", "-s", addr, "-c", "roads", "--bbox", "0,0,1,1")); got != "20000" {
		t.Errorf("%s objects after a replay that was refused", got)
	}
	// A collection that was loaded twice differs from the oracle.
	code, _, errOut := clitest.Program(t, append([]string{"replay", "--force"}, on...)...)
	if code != cli.ExitFailure || !strings.Contains(errOut, "the oracle") {
		t.Errorf("exit %d, says %s", code, errOut)
	}
	if got := strings.TrimSpace(clitest.Succeed(t, "count", "-s", addr, "--bbox", "0,0,1,1")); got != "0" {
		t.Errorf("%s objects in the default collection", got)
	}
}

func TestReplayFailures(t *testing.T) {
	data, queries, _, _ := rea02Like(t)
	dir := t.TempDir()
	results := clitest.File(t, "results", "of last time\n")
	empty := clitest.File(t, "empty.csv", "id,minx,miny,maxx,maxy\n")
	other := clitest.File(t, "other", "catfish-querylog 2 2026-11-21T12:00:00Z\n")
	nothing := clitest.File(t, "nothing", "catfish-querylog 1 2026-11-21T12:00:00Z\n")
	damaged := clitest.File(t, "damaged", "catfish-querylog 1 2026-11-21T12:00:00Z\n"+strings.Repeat("A", 200))
	for _, c := range []struct {
		says string
		args []string
	}{
		{"missing.rea02", []string{"--data", filepath.Join(dir, "missing.rea02"), "--queries", queries}},
		{"missing.csv", []string{"--data", data, "--queries", filepath.Join(dir, "missing.csv")}},
		{"no queries", []string{"--data", data, "--queries", empty}},
		{"no queries", []string{"--data", data, "--queries", nothing}},
		{"another version", []string{"--data", data, "--queries", other}},
		{"damaged", []string{"--data", data, "--queries", damaged}},
		{"multiple of 32", []string{"--data", clitest.File(t, "odd", strings.Repeat("\x00", 33)), "--dataset-format", "rea02", "--queries", queries}},
		{"--results", []string{"--data", data, "--queries", queries, "--results", filepath.Join(dir, "no", "where")}},
		{"--json", []string{"--data", data, "--queries", queries, "--json", filepath.Join(dir, "no", "where")}},
		{"no server", []string{"--server", "127.0.0.1:1", "--dial-timeout", "200ms", "--queries", queries}},
	} {
		args := append([]string{"replay", "--results", results}, c.args...)
		code, out, errOut := clitest.Program(t, args...)
		if code != cli.ExitFailure || out != "" || !strings.Contains(errOut, c.says) || strings.Contains(errOut, "goroutine ") {
			t.Errorf("%v: exit %d, printed %q, says %s", args, code, out, errOut)
		}
	}
	if got := clitest.ReadFile(t, results); got != "of last time\n" {
		t.Errorf("the results of last time became %q", got)
	}
	// A bad record in the middle: the error reports the records inserted before it.
	bad := clitest.File(t, "bad.csv", "id,minx,miny,maxx,maxy\n1,0,0,1,1\n2,9,0,1,1\n")
	code, _, errOut := clitest.Program(t, "replay", "--data", bad, "--queries", queries)
	if code != cli.ExitFailure || !strings.Contains(errOut, "line 3") {
		t.Errorf("exit %d, says %s", code, errOut)
	}
}
