package policy

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// TestCostConverges: within a second to the best share, whichever it is.
func TestCostConverges(t *testing.T) {
	for name, c := range map[string]struct {
		set    func(*world)
		best   float64 // searches/s
		lo, hi float64 // share
	}{
		"both paths are limited": {func(w *world) { w.serve, w.link = 10*us, 15*us }, 166_667, 0.3, 0.5},
		"offloading is not":      {func(w *world) { w.serve = 20 * us }, 960_000, 0.9, 1},
		"the server is not":      {func(w *world) { w.link = 20 * us }, 960_000, 0, 0.03},
		// Offloading is quicker for the client that does it, and takes time of the
		// core that all clients share: the count of finished searches shows it.
		"a shared core":  {func(w *world) { w.core, w.serve = [2]time.Duration{27 * us, 44 * us}, 29*us }, 35_000, 0, 0.13},
		"a core for all": {func(w *world) { w.core, w.serve = [2]time.Duration{20 * us, 10 * us}, 10*us }, 100_000, 0.9, 1},
	} {
		for _, process := range []bool{false, true} {
			w := newWorld(0, 0)
			if process {
				w.group = NewGroup()
			}
			w.add(8, 16)
			c.set(w)
			if c.best > 200_000 {
				// 1,280,000 are possible without trying the other path, at
				// which callers wait.
				w.idle = [2]time.Duration{100 * us, 100 * us}
			}
			w.run(time.Second)
			got, share := w.run(500 * time.Millisecond)
			t.Logf("%s: %.0f searches/s, %.3f offloaded", name, got, share)
			if got < 0.92*c.best || share < c.lo || share > c.hi {
				t.Errorf("%s, of one process %v: %.0f searches/s, %.2f offloaded, want %.0f and %.2f to %.2f",
					name, process, got, share, c.best, c.lo, c.hi)
			}
		}
	}
}

// TestCostProbesEnds: to offload now and then takes longer than fast messaging,
// to offload always takes half its time. Every small step there is a loss.
func TestCostProbesEnds(t *testing.T) {
	w := newWorld(1, 1)
	w.core, w.cold = [2]time.Duration{20 * us, 8 * us}, 20*us
	w.idle = [2]time.Duration{}
	w.run(2 * time.Second)
	if got, share := w.run(time.Second); got < 0.95*125_000 {
		t.Errorf("%.0f searches/s, %.2f offloaded, want 125000 and all", got, share)
	}
	// And back, by a probe or step by step.
	w.core, w.cold = [2]time.Duration{8 * us, 20 * us}, 0
	w.run(6 * time.Second)
	if got, share := w.run(time.Second); got < 0.95*125_000 {
		t.Errorf("%.0f searches/s, %.2f offloaded, want 125000 and none", got, share)
	}
}

// TestCostFirstSecond: where fast messaging is the better, trying the other
// loses less than 4 %, from the first moment.
func TestCostFirstSecond(t *testing.T) {
	w := newWorld(8, 16)
	w.core, w.serve = [2]time.Duration{27 * us, 44 * us}, 27*us
	if got, share := w.run(time.Second); got < 0.96*1e6/27 {
		t.Errorf("%.0f searches/s, %.3f offloaded in the first second, want %.0f", got, share, 1e6/27.0)
	}
}

// TestCostFirstSecondOffload: where offloading is the better, it is found in
// the first half second.
func TestCostFirstSecondOffload(t *testing.T) {
	w := newWorld(1, 1)
	w.core, w.idle = [2]time.Duration{20 * us, 12 * us}, [2]time.Duration{}
	w.run(500 * time.Millisecond)
	if got, share := w.run(500 * time.Millisecond); got < 0.95*1e6/12 {
		t.Errorf("%.0f searches/s, %.3f offloaded in the second half second, want %.0f", got, share, 1e6/12.0)
	}
}

// TestCostSuddenChange: the server slows down to a tenth, and recovers, which
// four of five searches that are offloaded do not show. Where the optimum is a
// sharp bend, the pairs themselves cost up to a tenth.
func TestCostSuddenChange(t *testing.T) {
	for _, process := range []bool{false, true} {
		w, settle := newWorld(0, 0), 1600*time.Millisecond
		if process {
			w.group, settle = NewGroup(), 800*time.Millisecond
		}
		w.add(8, 16)
		w.serve, w.link = 5*us, 10*us
		for i, c := range []struct{ serve, best float64 }{{5, 300_000}, {50, 120_000}, {5, 300_000}} {
			w.serve = time.Duration(c.serve) * us
			w.run(settle)
			if got, share := w.run(500 * time.Millisecond); got < 0.85*c.best {
				t.Errorf("of one process %v, %d: %.0f searches/s, %.2f offloaded, want %.0f", process, i, got, share, c.best)
			}
		}
		w.add(24, 16) // 24 more clients.
		w.serve, w.link = 50*us, 10*us
		w.run(1600 * time.Millisecond)
		if got, share := w.run(500 * time.Millisecond); got < 0.8*120_000 {
			t.Errorf("of one process %v, after a load step: %.0f searches/s, %.2f offloaded", process, got, share)
		}
	}
}

// TestCostLoadStep: under another load the other end is the better, and found
// in 0.5 s, though every small step there is a loss.
func TestCostLoadStep(t *testing.T) {
	w := newWorld(1, 1)
	w.idle = [2]time.Duration{}
	w.core, w.think = [2]time.Duration{8 * us, 20 * us}, 200*us
	w.run(2 * time.Second)
	w.core, w.cold, w.think = [2]time.Duration{16 * us, 8 * us}, 20*us, 0
	w.run(500 * time.Millisecond)
	if got, share := w.run(200 * time.Millisecond); got < 0.93*125_000 {
		t.Errorf("%.0f searches/s, %.2f offloaded 0.5 s after the change, want 125000 and all", got, share)
	}
}

// TestCostChangingLoad: the better end is also found under a load that changes
// more often than every costSoon pairs, though every small step there is a loss.
func TestCostChangingLoad(t *testing.T) {
	w := newWorld(1, 1)
	w.idle = [2]time.Duration{}
	w.core, w.cold = [2]time.Duration{16 * us, 8 * us}, 20*us
	share := 0.0
	for i := range 30 {
		w.think = time.Duration(i%2) * 200 * us // 62,500 or 4,600 searches/s
		_, share = w.run(8 * 2 * time.Duration(costEpoch))
	}
	if share < 0.9 {
		t.Errorf("a share of %.2f, want all", share)
	}
}

// TestCostExplores: at either end the other path is tried, rarely.
func TestCostExplores(t *testing.T) {
	for _, better := range []Path{FastMessaging, Offload} {
		w := newWorld(8, 16)
		w.idle = [2]time.Duration{100 * us, 100 * us}
		w.idle[1-better] *= 5
		w.run(700 * time.Millisecond)
		_, share := w.run(320 * time.Millisecond) // 16 pairs
		if better == Offload {
			share = 1 - share
		}
		if share < 0.001 || share > 0.03 {
			t.Errorf("%v is the better: %.4f go the other way, want 0.001 to 0.03", better, share)
		}
	}
	// So it is for a client with ten searches a second.
	w := newWorld(1, 1)
	w.think, w.idle[Offload] = 100*time.Millisecond, time.Millisecond
	w.run(60 * time.Second)
	if _, share := w.run(600 * time.Second); share < 0.001 || share > 0.04 {
		t.Errorf("10 searches/s: %.4f go the other way", share)
	}
}

// TestCostLatency: where the number of searches does not depend on the path,
// the quicker is taken; of paths alike it is fast messaging.
func TestCostLatency(t *testing.T) {
	for _, think := range []time.Duration{2 * time.Millisecond, 50 * time.Millisecond} {
		w := newWorld(8, 2)
		w.think = think
		w.idle = [2]time.Duration{100 * us, 40 * us}
		w.run(8 * time.Second)
		if _, share := w.run(time.Second); share < 0.8 {
			t.Errorf("think %v: %.2f go the quicker way", think, share)
		}
		w = newWorld(8, 2)
		w.think = think
		w.run(4 * time.Second)
		if _, share := w.run(time.Second); share > 0.2 {
			t.Errorf("think %v: %.2f are offloaded though nothing is gained", think, share)
		}
	}
}

// TestCostNoHerd: a thousand clients that get equal heartbeats at one time do
// not act alike, and share a full server and a full link without swinging;
// whether they are one process or a thousand.
func TestCostNoHerd(t *testing.T) {
	for _, process := range []bool{false, true} {
		w := newWorld(0, 0)
		if process {
			w.group = NewGroup()
		}
		w.add(1000, 1)
		w.serve, w.link = 2*us, 3*us
		w.run(1500 * time.Millisecond)
		lo, hi, sum := 1.0, 0.0, 0.0
		const windows = 100
		for range windows {
			n, share := w.run(5 * time.Millisecond)
			lo, hi = min(lo, share), max(hi, share)
			sum += n
		}
		t.Logf("share %.3f to %.3f, %.0f searches/s", lo, hi, sum/windows)
		if hi-lo > 0.15 || lo < 0.2 || hi > 0.6 {
			t.Errorf("of one process %v: the share swings from %.2f to %.2f in windows of 5 ms, want 0.40 and little change", process, lo, hi)
		}
		if got := sum / windows; got < 0.95*833_333 {
			t.Errorf("of one process %v: %.0f searches/s, want 833333", process, got)
		}
	}
}

// TestCostWithoutHeartbeats: policy cost needs no heartbeats.
func TestCostWithoutHeartbeats(t *testing.T) {
	w := newWorld(8, 16)
	w.beats = false
	w.serve, w.link = 10*us, 15*us
	w.run(time.Second)
	if got, share := w.run(500 * time.Millisecond); got < 0.95*166_667 {
		t.Errorf("%.0f searches/s, %.2f offloaded", got, share)
	}
}

// TestCostHostile: whatever heartbeats, outcomes and clocks say, the share
// and the length of a plan stay within their limits.
func TestCostHostile(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1e-300, 0.5, 1, 1e300, math.MaxFloat64}
	ints := []int{math.MinInt, -1, 0, 1, 7, 1000, math.MaxInt}
	p, g := newCost(), NewGroup()
	e := NewEngine(p, 1, time.Now, g)
	now := time.Unix(1000, 0)
	pick := func() float64 { return odd[r.IntN(len(odd))] }
	n := func() int { return ints[r.IntN(len(ints))] }
	for i := range 200_000 {
		load := Load{Seq: r.Uint64(), CPU: pick(), Busy: pick(), Waiting: r.Uint64() >> r.IntN(64),
			BytesOut: pick(), Interval: time.Duration(n())}
		plan := p.Plan(&Ask{Now: now, Load: &load, Fresh: r.IntN(4) == 0, Begun: n(), Group: g})
		if d := plan.Until.Sub(now); !(plan.Share >= 0 && plan.Share <= 1) || d <= 0 || d > time.Duration(costMost) {
			t.Fatalf("search %d: %+v at %v", i, plan, now)
		}
		path := Path(r.IntN(2))
		if r.IntN(50) == 0 {
			path = Path(n())
		}
		e.finished[i&1].Add(uint64(r.IntN(100)))
		p.Observe(now, Outcome{Path: path, Took: time.Duration(n()), Searches: n(), Results: n(), Reads: n(), Trips: n(), Bytes: n()})
		switch r.IntN(1000) {
		case 0:
			now = now.Add(-time.Hour)
		case 1:
			now = time.Unix(1, 0)
		case 2:
			now = time.Unix(1<<32, 0)
		case 3:
			now = time.Unix(1000, 0)
		default:
			now = now.Add(time.Duration(r.IntN(300)) * us)
		}
		if s := p.Describe().State; !(s.Share >= 0 && s.Share <= 1 && s.Utilisation >= 0 && s.Utilisation <= 1) {
			t.Fatalf("search %d: %+v", i, s)
		}
		if p.Describe().Why == "" {
			t.Fatal("says nothing")
		}
	}
}

// TestCostValley: between two ends that are both better, another load leads
// to the better one.
func TestCostValley(t *testing.T) {
	for _, c := range []struct {
		core [2]time.Duration
		best float64
	}{{[2]time.Duration{8 * us, 12 * us}, 125_000}, {[2]time.Duration{12 * us, 8 * us}, 125_000}} {
		w := newWorld(0, 0)
		w.group = NewGroup()
		w.add(4, 4)
		w.idle = [2]time.Duration{}
		w.serve, w.link = 500*us, 600*us // best is 0.45
		w.run(time.Second)
		w.serve, w.link, w.core, w.cold = 0, 0, c.core, 30*us
		w.run(500 * time.Millisecond)
		if got, share := w.run(200 * time.Millisecond); got < 0.9*c.best {
			t.Errorf("%v: %.0f searches/s, %.2f offloaded, want %.0f", c.core, got, share, c.best)
		}
	}
}

// TestCostShared: clients of a group share their knowledge, from their
// first search on; those of another group do not.
func TestCostShared(t *testing.T) {
	w := newWorld(0, 0)
	w.group = NewGroup()
	w.add(4, 4)
	w.serve = 20 * us
	w.run(time.Second)
	w.add(1, 1)
	if p := w.clients[4].policy.Describe().State; p.Share != 1 {
		t.Errorf("a share of %v beside others of 1", p.Share)
	}
	if p := NewGroup().policy("cost", func() Policy { return newCost() }).Describe().State; p.Share != 0 {
		t.Errorf("a share of %v in another group", p.Share)
	}
}

// TestCostConcurrent: for the race detector, and the counts are exact.
func TestCostConcurrent(t *testing.T) {
	g := NewGroup()
	var wg sync.WaitGroup
	for range 4 {
		sch, err := SchemeByName("cost")
		if err != nil {
			t.Fatal(err)
		}
		e := NewEngine(sch.New(1, g, Backoff{}), 1, time.Now, g)
		for range 2 {
			wg.Go(func() {
				m := &box{}
				for i := range 20_000 {
					if i%500 == 0 {
						m.put(Load{Seq: uint64(i), CPU: 0.5})
					}
					p, began := e.Choose(m, m)
					e.Done(began, Outcome{Path: p, Searches: 1}, p)
					if i%100 == 0 {
						e.Last(m)
						e.Why()
					}
				}
			})
		}
	}
	wg.Wait()
	if n := g.Finished(); n != 160_000 {
		t.Errorf("%d searches counted, want 160000", n)
	}
}

// TestCostBursts: clients that search in bursts too short to be compared
// decide by latencies; those that only pause do not.
func TestCostBursts(t *testing.T) {
	for _, burst := range []time.Duration{5, 15} {
		share := burstsOf(t, burst*time.Millisecond, 43*time.Millisecond, [2]time.Duration{100 * us, 20 * us})
		if share < 0.8 {
			t.Errorf("bursts of %d ms: a share of %.2f after 30 s, though offloading is five times as quick", burst, share)
		}
	}
}

// burstsOf is one caller that searches in bursts, and its last second's share.
func burstsOf(t *testing.T, burst, pause time.Duration, took [2]time.Duration) float64 {
	t.Helper()
	at := time.Unix(1000, 0)
	g := NewGroup()
	p := newCost()
	e, m := NewEngine(p, 1, func() time.Time { return at }, g), &box{}
	n := [2]int{}
	for i := range 600 {
		if i == 580 {
			n = [2]int{}
		}
		for end := at.Add(burst); at.Before(end); {
			path, began := e.Choose(m, m)
			at = at.Add(took[path])
			e.Done(began, Outcome{Path: path, Searches: 1, Results: 1}, path)
			n[path]++
		}
		at = at.Add(pause)
	}
	return float64(n[Offload]) / float64(n[0]+n[1])
}

// TestCostLate: a client that lost its core between the clock and the lock, at
// each border of an epoch, neither ends the new epoch nor brings back the old.
func TestCostLate(t *testing.T) {
	g, p := NewGroup(), newCost()
	e := NewEngine(p, 1, time.Now, g)
	ask := func(ns int64) {
		plan := p.Plan(&Ask{Now: time.Unix(0, ns), Load: &Load{}, Group: g})
		if !plan.Until.After(time.Unix(0, ns)) {
			t.Fatalf("at %d: %+v", ns, plan)
		}
	}
	for epoch := int64(1000); epoch < 1040; epoch++ {
		at := epoch * costEpoch
		ask(at + 1)
		ask(at - 1)
		ask(at + 1)
		ask(at + costEpoch/4 + 1)
		e.finished[0].Add(1000)
	}
	if p.level.n < 8 || p.rare() {
		t.Errorf("%d pairs compared in 40 epochs, %d epochs were not", p.level.n, p.unpaired)
	}
}

// TestCostMissedEpoch: epochs of two pairs are not compared.
func TestCostMissedEpoch(t *testing.T) {
	g, p := NewGroup(), newCost()
	e := NewEngine(p, 1, time.Now, g)
	ask := func(epochs float64) {
		p.Plan(&Ask{Now: time.Unix(0, int64(epochs*float64(costEpoch))), Load: &Load{}, Group: g})
		e.finished[0].Add(500)
	}
	for _, at := range []float64{1000.01, 1000.3, 1001.01, 1001.8} {
		ask(at)
	}
	ask(1003.05) // 1002 is never seen.
	if p.first != 0 {
		t.Error("an epoch of 1000 waits for one of 1003")
	}
}

// TestCostProbesOnlyAtEnds: between the ends only another load is probed.
func TestCostProbesOnlyAtEnds(t *testing.T) {
	p := newCost()
	p.q, p.probes, p.gain, p.level.n = 0.5, 1, mean{}, costLevel
	if p.nextPair(0); p.probes != 1 {
		t.Error("probes between the ends without a reason")
	}
	p.gain.n = -1
	if p.nextPair(0); p.probes != 0 {
		t.Error("does not probe another load")
	}
}

// TestCostWorseEnd: a pair counts although one of its epochs finished nothing.
func TestCostWorseEnd(t *testing.T) {
	g, p := NewGroup(), newCost()
	e := NewEngine(p, 1, time.Now, g)
	for _, at := range []float64{1000.01, 1000.3, 1001.01, 1001.3} {
		p.Plan(&Ask{Now: time.Unix(0, int64(at*float64(costEpoch))), Load: &Load{}, Group: g})
	}
	e.finished[0].Add(100)
	p.Plan(&Ask{Now: time.Unix(0, 1002*costEpoch+1), Load: &Load{}, Group: g})
	if p.level.n != 1 {
		t.Errorf("%d pairs", p.level.n)
	}
}

// TestCostLeavesMessagesLate: leaving messages takes twice the evidence of
// returning to them.
func TestCostLeavesMessagesLate(t *testing.T) {
	// Four probes of 0.2 +- 0.1: the standard error of their mean is above
	// 0.07, so that costGain and one of it are less than 0.2, with two more.
	gains := []float64{0.1, 0.3, 0.1, 0.3}
	for _, c := range []struct{ from, want float64 }{{0, 0}, {1, 0}} {
		p := newCost()
		p.q, p.gain, p.probes = c.from, mean{}, 0
		for _, gain := range gains {
			d := gain // of all offloaded to none
			if c.from == 1 {
				d = -gain
			}
			p.judge(10, d)
		}
		if p.q != c.want || p.gain.n != 0 {
			t.Errorf("from %v to %v after %d probes that show %v, want %v", c.from, p.q, len(gains)-p.gain.n, gains, c.want)
		}
	}
	p := newCost()
	p.gain = mean{}
	for range costProofs {
		if p.judge(10, 0.18); p.q == 1 {
			return
		}
	}
	t.Error("four probes that show the same do not move it")
}
