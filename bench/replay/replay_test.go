package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/rstar"
)

var testStart = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// scanConn answers by a linear scan, and counts the requests.
type scanConn struct {
	bench.Conn // for what no replay calls
	job        bench.ClientJob
	mu         *sync.Mutex
	items      *[]rstar.Item
	asked      map[rstar.Rect]int
}

func newScanConns(n int, items []rstar.Item) []Conn {
	mu, asked := new(sync.Mutex), map[rstar.Rect]int{}
	var conns []Conn
	for range n {
		conns = append(conns, &scanConn{mu: mu, items: &items, asked: asked})
	}
	return conns
}

func (c *scanConn) SearchLimit(ctx context.Context, dst []rstar.Item, q rstar.Rect, limit int) ([]rstar.Item, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[q]++
	for _, it := range *c.items {
		if it.Rect.Intersects(q) && (limit == 0 || len(dst) < limit) {
			dst = append(dst, it)
		}
	}
	return dst, ctx.Err()
}

func (c *scanConn) Count(ctx context.Context, q rstar.Rect) (int, error) {
	found, err := c.SearchLimit(ctx, nil, q, 0)
	return len(found), err
}

func (c *scanConn) NearestAppend(ctx context.Context, dst []rstar.Item, x, y float64, k int) ([]rstar.Item, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(*c.items)
	slices.SortFunc(all, nearer(x, y))
	return append(dst, all[:min(k, len(all))]...), ctx.Err()
}

func (c *scanConn) Insert(_ context.Context, r rstar.Rect, id uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	*c.items = append(*c.items, rstar.Item{Rect: r, ID: id})
	return nil
}

func (c *scanConn) Delete(_ context.Context, r rstar.Rect, id uint64) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(*c.items, rstar.Item{Rect: r, ID: id})
	if i >= 0 {
		*c.items = slices.Delete(*c.items, i, i+1)
	}
	return i >= 0, nil
}

func (c *scanConn) Update(ctx context.Context, from, to rstar.Rect, id uint64) (bool, error) {
	if ok, err := c.Delete(ctx, from, id); !ok {
		return false, err
	}
	return true, c.Insert(ctx, to, id)
}

func (c *scanConn) InsertMany(ctx context.Context, items []rstar.Item) (int, error) {
	for _, it := range items {
		if err := c.Insert(ctx, it.Rect, it.ID); err != nil {
			return 0, err
		}
	}
	return len(items), nil
}

func (c *scanConn) Counters() bench.Counters { return bench.Counters{} }

func (c *scanConn) Info() bench.Info {
	return bench.Info{Transport: c.job.Transport, Policy: c.job.Policy, NodeBytes: 1984}
}

func (c *scanConn) Close() error { return nil }

func (c *scanConn) Server(context.Context) (ServerUse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return ServerUse{CPUSeconds: 1, UpSeconds: 2, Cores: 1, Objects: len(*c.items)}, nil
}

// gridItems lie on few coordinates, so that borders touch, distances are
// equal and objects coincide.
func gridItems(rng *rand.Rand, n int) []rstar.Item {
	items := make([]rstar.Item, n)
	for i := range items {
		items[i] = rstar.Item{Rect: gridRect(rng), ID: rng.Uint64N(uint64(n))}
	}
	return items
}

func gridRect(rng *rand.Rand) rstar.Rect {
	x, y := float64(rng.IntN(20)), float64(rng.IntN(20))
	return rstar.Rect{MinX: x, MinY: y, MaxX: x + float64(rng.IntN(4)), MaxY: y + float64(rng.IntN(4))}
}

// gridRequests are requests of all kinds; most writes are of existing objects.
func gridRequests(rng *rand.Rand, items []rstar.Item, n int, writes bool) []querylog.Record {
	list := make([]querylog.Record, n)
	for i := range list {
		kinds := querylog.Nearest
		if writes {
			kinds = querylog.Update
		}
		r := querylog.Record{Kind: 1 + querylog.Kind(rng.IntN(int(kinds))), Found: querylog.NotKnown, Rect: gridRect(rng)}
		switch r.Kind {
		case querylog.Search:
			r.Limit = uint32(rng.IntN(3) * rng.IntN(20))
		case querylog.Nearest:
			r.X, r.Y, r.Within = r.Rect.MinX, r.Rect.MinY, math.Inf(1)
			r.Limit = 1 + uint32(rng.IntN(9))
			if rng.IntN(2) == 0 {
				r.Within, r.Limit = float64(rng.IntN(5)), uint32(rng.IntN(9))
			}
			r.Rect = rstar.Rect{MinX: r.X, MinY: r.Y, MaxX: r.X, MaxY: r.Y}
		case querylog.Insert, querylog.Delete, querylog.Update:
			it := items[rng.IntN(len(items))]
			r.Rect, r.ID, r.To = it.Rect, it.ID, gridRect(rng)
		}
		list[i] = r
	}
	return list
}

// The oracle, which shares no code with the scan, agrees with it about every
// kind of request, and detects wrong answers.
func TestOracle(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		items := gridItems(rng, 200)
		o, err := newOracle(datasets.FromItems("grid", items))
		if err != nil {
			t.Fatal(err)
		}
		list := gridRequests(rng, items, 300, true)
		a := &asking{
			job: Job{ClientJob: bench.ClientJob{InFlight: 1}, Procs: 1, Sums: true}, list: list,
			answers: make([]answer, len(list)), conns: newScanConns(1, slices.Clone(items)),
		}
		if _, _, err := a.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range list {
			rec, ans := &list[i], &a.answers[i]
			slices.Sort(ans.ids)
			if !rec.Kind.Writes() { // A query may be repeated.
				wrong := *ans
				wrong.count++
				if err := o.check(i, rec, &wrong); !errors.Is(err, ErrVerify) {
					t.Fatalf("seed %d: one more for %+v: %v", seed, rec, err)
				}
				if wrong = *ans; limited(rec) && len(ans.ids) > 0 {
					wrong.ids = slices.Clone(ans.ids)
					wrong.ids[0] = math.MaxUint64
					slices.Sort(wrong.ids)
				} else {
					wrong.sum++
				}
				// A limit above the number of matches allows one answer only.
				if !(limited(rec) && len(ans.ids) == 0) {
					if err := o.check(i, rec, &wrong); !errors.Is(err, ErrVerify) {
						t.Fatalf("seed %d: other objects for %+v: %v", seed, rec, err)
					}
				}
			}
			if err := o.check(i, rec, ans); err != nil {
				t.Fatalf("seed %d: %+v: %v", seed, rec, err)
			}
		}
	}
}

// Every request is made exactly once, by any number of goroutines; each answer
// is at its place.
func TestAsksOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	items := gridItems(rng, 50)
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	b := querylog.AppendHeader(nil, testStart)
	const n = 1003
	for i := range n {
		rec := querylog.Record{Kind: querylog.Search, Rect: rstar.Rect{MinX: float64(i % 20), MaxX: 20, MaxY: float64(i)}}
		at := len(b)
		b = rec.Append(b)
		querylog.Seal(b[at:])
	}
	if err := os.WriteFile(log, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ procs, clients, inFlight int }{
		{1, 1, 1}, {1, 7, 16}, {3, 1, 1}, {3, 2, 5}, {1, 1, 2000},
	} {
		asked := map[rstar.Rect]int{}
		var parts []string
		for proc := range c.procs {
			job := Job{
				ClientJob: bench.ClientJob{Proc: proc, InFlight: c.inFlight}, Procs: c.procs,
				Queries: log, Answers: filepath.Join(dir, fmt.Sprint(proc)), IDs: true,
			}
			list, err := readShare(job)
			if err != nil {
				t.Fatal(err)
			}
			a := &asking{job: job, list: list, answers: make([]answer, len(list)), conns: newScanConns(c.clients, items)}
			if _, _, err := a.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			for q, times := range a.conns[0].(*scanConn).asked {
				asked[q] += times
			}
			if err := writeAnswers(job, a.answers); err != nil {
				t.Fatal(err)
			}
			parts = append(parts, job.Answers)
		}
		var answers []*answersReader
		for _, p := range parts {
			r, err := openAnswers(p)
			if err != nil {
				t.Fatal(err)
			}
			defer r.close()
			answers = append(answers, r)
		}
		for i := range n {
			q := rstar.Rect{MinX: float64(i % 20), MaxX: 20, MaxY: float64(i)}
			if asked[q] != 1 {
				t.Fatalf("%+v: query %d asked %d times", c, i, asked[q])
			}
			var ids []uint64
			for _, it := range items {
				if it.Rect.Intersects(q) {
					ids = append(ids, it.ID)
				}
			}
			slices.Sort(ids)
			var got answer
			if err := answers[i%c.procs].next(&got); err != nil || !slices.Equal(got.ids, ids) || int(got.count) != len(ids) {
				t.Fatalf("%+v: query %d found %v, want %v; %v", c, i, got, ids, err)
			}
		}
		for _, r := range answers {
			if err := r.next(new(answer)); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("after the last answer: %v", err)
			}
		}
	}
}

// writeLog writes a recording of requests to two collections.
func writeLog(t *testing.T, records ...querylog.Record) (path string, b []byte) {
	t.Helper()
	b = querylog.AppendHeader(nil, testStart)
	for _, r := range records {
		at := len(b)
		b = r.Append(b)
		querylog.Seal(b[at:])
	}
	path = filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, b
}

func TestQueryList(t *testing.T) {
	var file bytes.Buffer
	items, err := datasets.Collect(datasets.Rea02Like(5000, 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := datasets.Write(&file, datasets.Rea02, datasets.FromItems("r", items)); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "data.rea02")
	if err := os.WriteFile(data, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty.csv")
	if err := os.WriteFile(empty, []byte("id,minx,miny,maxx,maxy\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	q := querylog.Record{Kind: querylog.Search, Rect: rstar.Rect{MaxX: 1, MaxY: 1}, Found: 2}
	roads := q
	roads.Collection = 1
	insert := querylog.Record{Kind: querylog.Insert, Rect: q.Rect, ID: 4}
	first := querylog.Record{Kind: querylog.Collection, Name: "default"}
	second := querylog.Record{Kind: querylog.Collection, Collection: 1, Name: "roads"}
	lost := querylog.Record{Kind: querylog.Dropped, Lost: 9}
	one, oneBytes := writeLog(t, first, q, q, insert, lost)
	two, _ := writeLog(t, first, q, second, roads, roads, roads)
	none, _ := writeLog(t)
	torn := filepath.Join(t.TempDir(), "torn")
	bad := filepath.Join(t.TempDir(), "bad")
	other := filepath.Join(t.TempDir(), "other")
	damaged := bytes.Clone(oneBytes)
	damaged[len(damaged)-50] ^= 1
	for path, b := range map[string][]byte{
		torn: oneBytes[:len(oneBytes)-45], bad: damaged,
		other: bytes.Replace(oneBytes, []byte("querylog 1 "), []byte("querylog 9 "), 1),
	} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	qr2 := 0
	for range datasets.QR2.Queries(items) {
		qr2++
	}
	for _, c := range []struct {
		queries, recorded string
		want              queryList
		torn              bool
		err               error
	}{
		{queries: "QR0", want: queryList{Count: 500}},
		{queries: "QR2", want: queryList{Count: qr2}},
		{queries: "1e-2", want: queryList{Count: 77}},
		{queries: "power", want: queryList{Count: 77}},
		{queries: data, want: queryList{Count: 5000}},
		{queries: "rea02:" + data, want: queryList{Count: 5000}},
		{queries: one, want: queryList{Count: 3, Writes: 1, Recorded: true, Lost: 9}},
		{queries: one, recorded: "default", want: queryList{Count: 3, Writes: 1, Recorded: true, Lost: 9}},
		{queries: torn, want: queryList{Count: 2, Recorded: true}, torn: true},
		{queries: two, recorded: "roads", want: queryList{Count: 3, Recorded: true}},
		{queries: two, err: harness.ErrConfig},
		{queries: two, recorded: "rivers", err: ErrNothing},
		{queries: none, err: ErrNothing},
		{queries: empty, err: ErrNothing},
		{queries: bad, err: querylog.ErrDamaged},
		{queries: other, err: querylog.ErrVersion},
		{queries: "missing.csv", err: os.ErrNotExist},
	} {
		cfg := Config{Data: data, Queries: c.queries, QueryCount: 77, Recorded: c.recorded}
		var log bytes.Buffer
		got, err := cfg.writeQueries(&log, func(string) {})
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.queries, err, c.err)
		}
		if c.err != nil {
			continue
		}
		if (got.Torn != "") != c.torn {
			t.Errorf("%s: torn %q", c.queries, got.Torn)
		}
		if got.Torn = ""; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.queries, got, c.want)
		}
		r, err := querylog.NewReader(&log)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for ; err == nil; n++ {
			_, err = r.Next()
		}
		if n-1 != c.want.Count || !errors.Is(err, io.EOF) {
			t.Errorf("%s: %d requests in the list, %v", c.queries, n-1, err)
		}
	}
}

func TestValidate(t *testing.T) {
	good := Config{Data: "d", Queries: "q"}
	if err := good.Validate([]string{"paper", "cost"}); err != nil {
		t.Errorf("defaults: %v", err)
	}
	for says, change := range map[string]func(*Config){
		`"slow"`:                   func(c *Config) { c.Schemes = []string{"slow"} },
		"twice":                    func(c *Config) { c.Schemes = []string{"fast", "fast"} },
		"cannot run on transport":  func(c *Config) { c.Transport = "tcp" },
		"queries are missing":      func(c *Config) { c.Queries = "" },
		"data is missing":          func(c *Config) { c.Data = "" },
		"verifying needs":          func(c *Config) { c.Addr, c.Data, c.Verify = "a", "", true },
		"QR1 are made from":        func(c *Config) { c.Addr, c.Data, c.Queries = "a", "", "QR1" },
		"not bulk loaded":          func(c *Config) { c.Addr, c.Bulk = "a", true },
		"exclude each other":       func(c *Config) { c.Bulk, c.NoLoad = true, true },
		"for a running server":     func(c *Config) { c.NoLoad = true },
		"no-load does nothing":     func(c *Config) { c.Addr, c.Data, c.NoLoad = "a", "", true },
		"force is for data":        func(c *Config) { c.Force = true },
		"force is for":             func(c *Config) { c.Addr, c.NoLoad, c.Force = "a", true, true },
		"on a running server only": func(c *Config) { c.Collection = "roads" },
		"insert the data several":  func(c *Config) { c.Addr, c.Schemes = "a", []string{"fast", "tcp"} },
		"clients is -1":            func(c *Config) { c.Clients = -1 },
		"in-flight is 5000":        func(c *Config) { c.InFlight = 5000 },
		"client-procs is 9":        func(c *Config) { c.Procs = 9 },
		"query-count is -1":        func(c *Config) { c.QueryCount = -1 },
		"server-cpus":              func(c *Config) { c.ServerCPUs = []int{1 << 10} },
		"Strategy is 9":            func(c *Config) { c.Strategy = 9 },
		"has its strategy":         func(c *Config) { c.Addr, c.Strategy = "a", rstar.Original },
		"N is -3":                  func(c *Config) { c.Backoff.N = -3 },
	} {
		cfg := good
		change(&cfg)
		if err := cfg.Validate([]string{"paper", "cost", "fast", "tcp"}); !errors.Is(err, harness.ErrConfig) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want harness.ErrConfig saying %q", err, says)
		}
	}
}

// runReplay replays by children over the fake system.
func runReplay(t *testing.T, fault string, change func(*Config)) ([]Row, string, error) {
	t.Helper()
	log, _ := writeLog(t,
		querylog.Record{Kind: querylog.Collection, Name: "default"},
		querylog.Record{Kind: querylog.Search, Rect: rstar.Rect{MaxX: 20, MaxY: 20}, Found: 30},
		querylog.Record{Kind: querylog.Count, Rect: rstar.Rect{MaxX: 5, MaxY: 5}, Found: 1 << 20},
		querylog.Record{Kind: querylog.Nearest, X: 1, Y: 1, Within: math.Inf(1), Limit: 3, Found: querylog.NotKnown},
	)
	cfg := Config{
		Schemes: []string{"fast", "offload"}, Data: "uniform", Objects: 30, Queries: log,
		Clients: 2, InFlight: 2, Verify: true, IDs: true, Commit: "abc",
	}
	if change != nil {
		change(&cfg)
	}
	var rows []Row
	var results bytes.Buffer
	err := Run(t.Context(), cfg, fakeSpawn(fault), []string{"fast", "offload"}, &results,
		func(string) {}, func(r Row) { rows = append(rows, r) })
	return rows, results.String(), err
}

func TestRun(t *testing.T) {
	rows, results, err := runReplay(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2 || rows[0].Scheme != "fast" || rows[1].Scheme != "offload" {
		t.Fatalf("rows %+v", rows)
	}
	for _, r := range rows {
		if r.Count != 3 || r.Verified != 3 || r.Loaded != 30 || r.LoadedBy != "insert" || r.Objects != 30 ||
			r.Transport != "auto" || r.Commit != "abc" || r.Simulated || r.CPUUtil != 0 ||
			*r.Recorded != (Recorded{Same: 1, Differ: 1, Unknown: 1}) {
			t.Errorf("row %+v, recorded %+v", r, r.Recorded)
		}
		for _, op := range []string{"search", "count", "nearest"} {
			if r.ByOp[op].Count != 1 {
				t.Errorf("%s: %+v", op, r.ByOp)
			}
		}
		var line bytes.Buffer
		var back Row
		if err := errors.Join(json.NewEncoder(&line).Encode(r), json.Unmarshal(line.Bytes(), &back)); err != nil || back.Found != r.Found {
			t.Errorf("%s: %v", line.String(), err)
		}
	}
	lines := strings.Split(strings.TrimSuffix(results, "\n"), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "0\t30\t0 1 2 3 ") || !strings.HasPrefix(lines[2], "2\t3\t") {
		t.Errorf("results %q", lines)
	}
	var table bytes.Buffer
	if err := WriteTable(&table, rows); err != nil || strings.Count(table.String(), "insert") != 2 ||
		!strings.Contains(table.String(), "1 requests found as many objects as when they were recorded, 1 did not, of 1") {
		t.Errorf("table %s, %v", table.String(), err)
	}
}

// TestKnobs: the children receive strategy and back-off, and the row keeps
// them.
func TestKnobs(t *testing.T) {
	cfg := Config{Strategy: rstar.Original, Backoff: policy.Backoff{N: 5}}.withDefaults()
	if s := cfg.serverJob(); s.Strategy != rstar.Original || s.Inserted {
		t.Errorf("%+v", s)
	}
	if c := cfg.clientJob("paper", 0, "", "", ""); c.Backoff.N != 5 {
		t.Errorf("%+v", c)
	}
	r := run{cfg: cfg}
	if row := r.newRow("paper"); row.Strategy != rstar.Original || row.Backoff != (policy.Backoff{N: 5, T: 0.95, Predictor: policy.Latest}) {
		t.Errorf("%+v", row)
	}
	if row := r.newRow("fast"); row.Backoff != (policy.Backoff{}) {
		t.Errorf("%+v", row)
	}
	var table bytes.Buffer
	if err := WriteTable(&table, []Row{r.newRow("fast"), r.newRow("paper")}); err != nil ||
		!strings.Contains(table.String(), "\noriginal R*-tree\n") || !strings.Contains(table.String(), "\npaper: N = 5,") {
		t.Errorf("%v\n%s", err, table.String())
	}
}

// Each fault becomes an error that names it, and no child survives.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		fault  string
		change func(*Config)
		is     error
		says   string
	}{
		{"load", nil, child.ErrFailed, "no such data set"},
		{"dial", nil, child.ErrFailed, "nobody there"},
		{"search", nil, child.ErrFailed, "request 0, search: connection lost"},
		{"insert", nil, child.ErrFailed, "10 objects were inserted before that"},
		{"misses", nil, ErrVerify, "request 0, search"},
		{"offload-misses", func(c *Config) { c.Verify = false }, bench.ErrResults, "found 30 objects by fast and 29 by offload"},
		{"panic-server", nil, child.ErrFailed, "told to"},
		{"panic-replay", nil, child.ErrFailed, "told to"},
		{"", func(c *Config) { c.Queries = "no-such-file" }, os.ErrNotExist, "no-such-file"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			_, _, err := runReplay(t, c.fault, c.change)
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v saying %q", err, c.is, c.says)
			}
		})
	}
}

// Writes are verified only if the list is executed in order.
func TestWrites(t *testing.T) {
	r := rstar.Rect{MinX: 50, MinY: 50, MaxX: 51, MaxY: 51}
	all := rstar.Rect{MaxX: 99, MaxY: 99}
	log, _ := writeLog(t,
		querylog.Record{Kind: querylog.Collection, Name: "default"},
		querylog.Record{Kind: querylog.Insert, Rect: r, ID: 1 << 40, Found: 1},
		querylog.Record{Kind: querylog.Count, Rect: all, Found: 31},
		querylog.Record{Kind: querylog.Delete, Rect: r, ID: 1 << 40, Found: 1},
		querylog.Record{Kind: querylog.Delete, Rect: r, ID: 1 << 40, Found: 0},
		querylog.Record{Kind: querylog.Count, Rect: all, Found: 30},
	)
	write := func(c *Config) { c.Queries = log }
	if _, _, err := runReplay(t, "", write); !errors.Is(err, harness.ErrConfig) || !strings.Contains(err.Error(), "3 writes") {
		t.Errorf("concurrent: %v", err)
	}
	rows, results, err := runReplay(t, "", func(c *Config) { write(c); c.Clients, c.InFlight = 1, 1 })
	if err != nil {
		t.Fatal(err)
	}
	if r := rows[1]; r.Writes != 3 || r.Recorded.Same != 5 || r.Verified != 5 || r.Objects != 30 {
		t.Errorf("row %+v, recorded %+v", r, r.Recorded)
	}
	if want := "0\t1\t\n1\t31\t\n2\t1\t\n3\t0\t\n4\t30\t\n"; results != want {
		t.Errorf("results %q, want %q", results, want)
	}
}

// A child ends when its parent does.
func TestChildEndsWithItsInput(t *testing.T) {
	log, _ := writeLog(t, querylog.Record{Kind: querylog.Search})
	job, err := json.Marshal(Job{ClientJob: bench.ClientJob{Clients: 1, InFlight: 1}, Procs: 1, Queries: log})
	if err != nil {
		t.Fatal(err)
	}
	dial := func(context.Context, Job) (Conn, error) { return newScanConns(1, nil)[0], nil }
	for _, in := range []string{"", string(job) + "\n"} {
		if err := Main(context.Background(), strings.NewReader(in), io.Discard, dial); err != nil {
			t.Errorf("input %q: %v", in, err)
		}
	}
	var out bytes.Buffer
	if err := Main(context.Background(), strings.NewReader("{}\n"), &out, dial); !errors.Is(err, harness.ErrConfig) ||
		!strings.Contains(out.String(), "without clients") {
		t.Errorf("%v, said %q", err, out.String())
	}
}
