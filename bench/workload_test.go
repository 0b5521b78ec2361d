package bench

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

func testJob(mix Mix) ClientJob {
	return ClientJob{
		Policy: "fast", Transport: "fake", Dataset: "uniform",
		Bounds: rstar.Rect{MinX: -120, MinY: 30, MaxX: -100, MaxY: 40},
		Scale:  "1e-2", Mix: mix, Inserts: PaperInserts, Seed: 7, Clients: 2, InFlight: 3,
	}
}

func TestPlansDependOnSeedAndStreamOnly(t *testing.T) {
	job := testJob(Mix{Search: 50, Insert: 50})
	a, err := newPlans(job)
	if err != nil {
		t.Fatal(err)
	}
	job.Policy, job.Addr = "offload", "elsewhere"
	b, _ := newPlans(job)
	if !reflect.DeepEqual(a, b) {
		t.Error("the same seed gave other plans")
	}
	job.Seed++
	if c, _ := newPlans(job); reflect.DeepEqual(a[0].queries, c[0].queries) {
		t.Error("another seed gave the same queries")
	}
	job.Seed--
	job.Proc++
	c, _ := newPlans(job)
	for _, other := range append(a[1:], c...) {
		if reflect.DeepEqual(a[0].queries, other.queries) ||
			a[0].newItem().ID == other.newItem().ID {
			t.Error("two goroutines do the same")
		}
	}
}

func TestPlansStayWithinBounds(t *testing.T) {
	for _, of := range []struct {
		dataset string
		inserts Inserts
		scale   string
	}{
		{"uniform", DataInserts, "1e-2"}, {"skewed", DataInserts, "1e-2"}, {"some.csv", DataInserts, "1e-2"},
		{"uniform", PaperInserts, "1e-2"}, {"skewed", PaperInserts, "power"}, {"some.csv", PaperInserts, "1"},
	} {
		job := testJob(Mix{Insert: 100})
		job.Dataset, job.Inserts, job.Scale = of.dataset, of.inserts, of.scale
		bounds := job.Bounds
		if of.dataset == "skewed" && of.inserts == DataInserts { // Made for the unit square.
			bounds = rstar.Rect{MaxX: 1, MaxY: 1}
		}
		plans, err := newPlans(job)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range plans {
			for _, r := range p.inserts {
				if r.Validate() != nil || !bounds.Contains(r) {
					t.Fatalf("%v: insert %v leaves %v", of, r, bounds)
				}
			}
			for _, q := range p.queries {
				if q.Validate() != nil || !job.Bounds.Contains(q) {
					t.Fatalf("%v: query %v leaves %v", of, q, job.Bounds)
				}
			}
		}
	}
}

// The paper's inserts lie outside its data and are as large as its queries.
func TestInsertsOfBothKinds(t *testing.T) {
	for _, kind := range InsertKinds {
		next, err := kind.Rects("uniform", "1e-2", rstar.Rect{MaxX: 10, MaxY: 10}, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		const n = 10_000
		longest, middle := 0.0, 0
		for range n {
			r := next()
			longest = max(longest, r.MaxX-r.MinX, r.MaxY-r.MinY)
			// The farther corner is drawn. It is uniform in x as in y, or has a
			// density of 1/t on (0.5, 1].
			if x := math.Abs((r.MinX+r.MaxX)/20 - 0.5); x < 0.25 {
				middle++
			}
		}
		share, edge := 0.5, 10*datasets.MaxEdge
		if kind == PaperInserts {
			share, edge = math.Log(1.5)/math.Log(2), 10*0.01
		}
		if longest > edge || longest < 0.9*edge {
			t.Errorf("%s: the longest edge is %v, want nearly %v", kind, longest, edge)
		}
		if got := float64(middle) / n; math.Abs(got-share) > 0.02 {
			t.Errorf("%s: %.3f of the inserts are in the middle half, want %.3f", kind, got, share)
		}
	}
	for _, bad := range []struct {
		kind  Inserts
		scale string
	}{{"", "1e-2"}, {"Paper", "1e-2"}, {PaperInserts, ""}} {
		if _, err := bad.kind.Rects("uniform", bad.scale, rstar.Rect{MaxX: 1, MaxY: 1}, 1, 1); !errors.Is(err, harness.ErrConfig) {
			t.Errorf("%q, scale %q: %v", bad.kind, bad.scale, err)
		}
	}
}

// A goroutine's own objects are returned oldest first, each once, and the list
// does not grow with the length of the run.
func TestPlanKeepsItsObjects(t *testing.T) {
	job := testJob(Mix{Insert: 50, Delete: 50})
	plans, err := newPlans(job)
	if err != nil {
		t.Fatal(err)
	}
	p := plans[0]
	var want []uint64
	for range 10 * insertRects {
		switch p.op() {
		case Insert:
			it := p.newItem()
			p.keep(it)
			want = append(want, it.ID)
		case Delete:
			if len(want) == 0 {
				t.Fatal("delete with nothing to delete")
			}
			if got := p.oldest().ID; got != want[0] {
				t.Fatalf("oldest is %d, want %d", got, want[0])
			}
			want = want[1:]
		}
	}
	if len(p.live) > 4*insertRects {
		t.Errorf("the list has grown to %d", len(p.live))
	}
}

func TestEveryOperationIsMadeAndTimed(t *testing.T) {
	mix := Mix{Search: 20, Nearest: 20, Insert: 20, Delete: 20, Update: 20}
	job := testJob(mix)
	conns := []Conn{newFakeConn(job, ""), newFakeConn(job, "")}
	l, err := newLoad(context.Background(), job, conns)
	if err != nil {
		t.Fatal(err)
	}
	l.take()
	const rounds = 1000
	for range rounds {
		if err := l.works[0].one(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	s := l.take()
	if s.Ops() != rounds {
		t.Errorf("%d calls recorded, want %d", s.Ops(), rounds)
	}
	for op, lat := range s.Latency {
		if lat.Count() != rounds/5 {
			t.Errorf("%v: %d calls, want %d", Op(op), lat.Count(), rounds/5)
		}
	}
	if want := uint64(3 * rounds / 5); s.Results != want {
		t.Errorf("%d results, want %d", s.Results, want)
	}
	if s.Counters.Fast != rounds/5 || len(s.Gauges) != 2 || s.Gauges[1].Left != 2 {
		t.Errorf("counters %+v, gauges %+v", s.Counters, s.Gauges)
	}
	if again := l.take(); again.Ops() != 0 || again.Counters != (Counters{}) {
		t.Errorf("taken twice: %+v", again)
	}
}

func TestAnswersMustStayTheSame(t *testing.T) {
	job := testJob(SearchOnly)
	l, err := newLoad(context.Background(), job, []Conn{newFakeConn(job, "flicker")})
	if err != nil {
		t.Fatal(err)
	}
	w := l.works[0]
	w.plan.queries = w.plan.queries[:10]
	for i := range 201 {
		err = w.one(context.Background())
		if (err != nil) != (i == 200) {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	if !errors.Is(err, ErrResults) || !strings.Contains(err.Error(), "found 3 objects, then 2") {
		t.Errorf("got %v, want ErrResults", err)
	}
}

// The measuring loop itself must not allocate, or it would measure the
// garbage collector.
func TestCallsDoNotAllocate(t *testing.T) {
	job := testJob(SearchOnly)
	l, err := newLoad(context.Background(), job, []Conn{newFakeConn(job, "")})
	if err != nil {
		t.Fatal(err)
	}
	w := l.works[0]
	if n := testing.AllocsPerRun(1000, func() {
		if err := w.one(context.Background()); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

func TestDigestsSeeEveryDifference(t *testing.T) {
	it := rstar.Item{Rect: rstar.Rect{MinX: 1, MinY: 2, MaxX: 3, MaxY: 4}, ID: 5}
	seen := map[uint64]string{Digest(0, it): "itself"}
	for what, d := range map[string]uint64{
		"query": Digest(1, it),
		"id":    Digest(0, rstar.Item{Rect: it.Rect, ID: 6}),
		"rect":  Digest(0, rstar.Item{Rect: rstar.Rect{MinX: 1, MinY: 2, MaxX: 4, MaxY: 3}, ID: 5}),
		"twice": 2 * Digest(0, it),
		"none":  0,
	} {
		if other, dup := seen[d]; dup {
			t.Errorf("%s has the digest of %s", what, other)
		}
		seen[d] = what
	}
}
