package sim

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Events come in the order of their times, and those of one time in the order
// of scheduling, whatever is scheduled meanwhile.
func TestQueueOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var q queue
	type due struct {
		at int64
		id uint32
	}
	var want, got []due
	next := uint32(0)
	add := func(at int64) {
		q.schedule(at, evThought, next, 0)
		want = append(want, due{max(at, q.now), next})
		next++
	}
	for range 1000 {
		add(rng.Int64N(100)) // Many at one time.
	}
	for {
		e, ok := q.next(1 << 40)
		if !ok {
			break
		}
		if e.at != q.now {
			t.Fatalf("event of %d at %d", e.at, q.now)
		}
		got = append(got, due{e.at, e.id})
		if next < 5000 {
			add(e.at + rng.Int64N(50))
			add(e.at - 10) // The past is now.
		}
	}
	slices.SortStableFunc(want, func(a, b due) int { return cmp.Compare(a.at, b.at) })
	if !slices.Equal(got, want) {
		t.Errorf("%d events, out of order", len(got))
	}
	if q.now != 1<<40 || q.done != uint64(len(want)) {
		t.Errorf("clock at %d after %d events, want %d after %d", q.now, q.done, int64(1)<<40, len(want))
	}
}

func TestQueueStops(t *testing.T) {
	var q queue
	q.schedule(10, evThought, 0, 0)
	q.schedule(20, evThought, 1, 0)
	if e, ok := q.next(10); !ok || e.id != 0 {
		t.Errorf("%+v, %v", e, ok)
	}
	if _, ok := q.next(19); ok || q.now != 19 {
		t.Errorf("event of 20 at %d", q.now)
	}
	if e, ok := q.next(20); !ok || e.id != 1 {
		t.Errorf("%+v, %v", e, ok)
	}
}

func TestFIFO(t *testing.T) {
	var f fifo
	in, out := uint32(0), uint32(0)
	rng := rand.New(rand.NewPCG(2, 2))
	for range 10000 {
		if rng.IntN(5) < 3 || f.len() == 0 {
			f.push(in)
			in++
		} else if got := f.pop(); got != out {
			t.Fatalf("got %d, want %d", got, out)
		} else {
			out++
		}
		if f.len() != int(in-out) {
			t.Fatalf("%d inside, want %d", f.len(), in-out)
		}
	}
}

// The engine, cores and their queue reproduce the waiting times of queueing
// theory: M/M/1, M/D/1 (Pollaczek-Khinchine) and M/M/c (Erlang C).
func TestQueueingTheory(t *testing.T) {
	const service = 1000.0 // ns
	for _, c := range []struct {
		name   string
		cores  int
		load   float64
		random bool // exponential service
		want   float64
	}{
		{"M/M/1", 1, 0.5, true, 1.0},
		{"M/M/1", 1, 0.8, true, 4.0},
		{"M/D/1", 1, 0.5, false, 0.5},
		{"M/D/1", 1, 0.8, false, 2.0},
		// Erlang C for 4 servers at 0.8: 0.5964 wait, 1/(4*0.2) each.
		{"M/M/4", 4, 0.8, true, 0.5964 / 0.8},
	} {
		rng := rand.New(rand.NewPCG(3, 3))
		var q queue
		k := cores{free: c.cores}
		const n = 400_000
		arrived := make([]int64, n)
		waited, served := 0.0, 0
		serve := func(id uint32) {
			waited += float64(q.now - arrived[id])
			takes := service
			if c.random {
				takes *= rng.ExpFloat64()
			}
			q.schedule(q.now+int64(math.Round(takes)), evServed, id, 0)
		}
		q.schedule(0, evArrived, 0, 0)
		for {
			e, ok := q.next(math.MaxInt64)
			if !ok {
				break
			}
			if e.kind == evArrived {
				arrived[e.id] = q.now
				if k.acquire(e.id) {
					serve(e.id)
				}
				if e.id+1 < n {
					gap := rng.ExpFloat64() * service / (c.load * float64(c.cores))
					q.schedule(q.now+int64(math.Round(gap)), evArrived, e.id+1, 0)
				}
				continue
			}
			served++
			if next, ok := k.release(); ok {
				serve(next)
			}
		}
		if served != n || k.free != c.cores {
			t.Fatalf("%s: %d of %d served, %d cores free", c.name, served, n, k.free)
		}
		// A twentieth: four times the standard error at load 0.8.
		if got := waited / n / service; math.Abs(got/c.want-1) > 0.05 {
			t.Errorf("%s at load %.1f: waited %.3f services, theory says %.3f", c.name, c.load, got, c.want)
		}
	}
}

func TestMeter(t *testing.T) {
	var m meter
	if a, b, c := m.pass(0, 2.5), m.pass(1, 2.5), m.pass(100, 2.5); a != 2.5 || b != 5 || c != 102.5 {
		t.Errorf("done at %v, %v and %v, want 2.5, 5 and 102.5", a, b, c)
	}
	// A block that came at the link's own speed ends with its last byte; one
	// that came at the same time from elsewhere follows it.
	var d meter
	if a, b := d.drain(100, 10), d.drain(100, 10); a != 100 || b != 110 {
		t.Errorf("there at %v and %v, want 100 and 110", a, b)
	}
}
