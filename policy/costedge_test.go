package policy

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// A client of one search per ~10 ms among 64 compares what the census knows of
// two epochs, or nothing.
func TestCostSlowInACrowd(t *testing.T) {
	at := time.Unix(1000, 0)
	start := at
	c := newCost(1)
	c.Count(NewCensus(func() uint64 { return uint64(at.Sub(start).Seconds() * 6400) }))
	worst := 0.0
	lo, hi := 1.0, 0.0
	for i := range 1000 {
		at = at.Add(10300*time.Microsecond + time.Duration(i%7)*100*time.Microsecond)
		w, _ := c.ChooseFor(nil, &Load{}, false, &Estimate{Searches: 1, Leaves: 1})
		c.Observe(at, Outcome{Path: w, Searches: 1, Took: 20 * time.Microsecond, Results: 1})
		worst = max(worst, math.Abs(c.told))
		lo, hi = min(lo, c.q), max(hi, c.q)
	}
	t.Logf("told up to %.0f, q from %.2f to %.2f, now %.2f", worst, lo, hi, c.q)
	if worst > 5 {
		t.Errorf("no way matters, but a slope of %.0f was found", worst)
	}
}

// Heartbeats are heard after the clock was set back.
func TestCostHearsAfterSetback(t *testing.T) {
	c := newCost(1)
	at := time.Unix(100000, 0)
	c.Observe(at, Outcome{Searches: 1, Took: time.Microsecond})
	c.quiet = c.now + int64(50*time.Millisecond) // as nextPair sets it for a leap
	at = at.Add(-time.Hour)
	for range 1000 {
		at = at.Add(time.Millisecond)
		c.Observe(at, Outcome{Searches: 1, Took: time.Microsecond})
		c.hear(&Load{Seq: 1, CPU: 0.9})
	}
	if c.util.n == 0 {
		t.Error("a second after the clock was set back by an hour no heartbeat was heard")
	}
}

// A way that was forgotten is retried after the clock was set back.
func TestCostRetriesAfterSetback(t *testing.T) {
	run := func(back time.Duration) (n int) {
		c := newCost(1)
		at := time.Unix(100000, 0)
		c.Observe(at, Outcome{Path: Offload, Searches: 1, Took: time.Microsecond})
		at = at.Add(-back)
		for range 1000 {
			at = at.Add(time.Millisecond)
			c.Observe(at, Outcome{Path: FastMessaging, Searches: 1, Took: time.Microsecond})
			c.other[Offload] = 1000
			if c.throw(); c.retry == Offload {
				n++
			}
		}
		return n
	}
	if ok, not := run(0), run(time.Hour); not == 0 {
		t.Errorf("retried %d times in a second; clock set back: %d", ok, not)
	}
}

// A leap ends, also if searches are seen in odd epochs only.
func TestCostLeapEnds(t *testing.T) {
	c := newCost(1)
	at := time.Unix(100000, 0)
	see := func(d time.Duration) {
		at = at.Add(d)
		w, _ := c.ChooseFor(nil, &Load{}, false, &Estimate{Searches: 1, Leaves: 1})
		c.Observe(at, Outcome{Path: w, Searches: 1, Took: 20 * time.Microsecond, Results: 1})
	}
	see(50 * time.Microsecond)
	c.leap, c.sign = true, 1 // as in the midst of any leap
	// Idle for a while, then one search in 20 ms, in an odd epoch.
	at = time.Unix(200000, int64(15*time.Millisecond))
	fast, off := 0, 0
	for range 1000 {
		at = at.Add(20 * time.Millisecond)
		w, _ := c.ChooseFor(nil, &Load{}, false, &Estimate{Searches: 1, Leaves: 1})
		if w == Offload {
			off++
		} else {
			fast++
		}
		c.Observe(at, Outcome{Path: w, Searches: 1, Took: 20 * time.Microsecond, Results: 1})
	}
	t.Logf("leap %v after 20 s: %d fast, %d offloaded, q %.3f", c.leap, fast, off, c.q)
	if c.leap {
		t.Error("the leap never ends")
	}
}

// Another client asked about the end before this one did about the beginning:
// nothing is known.
func TestCostCountsBackwards(t *testing.T) {
	total := uint64(1000)
	s := NewCensus(func() uint64 { return total })
	c := newCost(1)
	c.Count(s)
	l := int64(10 * time.Millisecond)
	e := int64(100000)
	c.epoch, c.length, c.whole = e, l, true
	// Another client is told of the end; then this one, which took the time
	// before it got the lock, begins to count late.
	s.At(time.Unix(0, (e+1)*l), time.Unix(0, (e+1)*l+1000))
	total += 5
	c.now = (e+1)*l - 1000
	c.mark()
	c.fromAt = time.Unix(0, e*l+l/costSettle) // not too late, for that is another matter
	c.now = (e+1)*l + 2000
	if n, ok := c.counted(); ok {
		t.Errorf("counted %g", n)
	}
}

// The clock is set back, and two clients share the census: what is counted
// twice is not taken for a slope.
func TestCostCensusAfterSetback(t *testing.T) {
	for back := 11; back < 45; back++ {
		at := time.Unix(1000, 0)
		n := 0.0
		s := NewCensus(func() uint64 { return uint64(n) })
		a, b := newCost(1), newCost(2)
		a.Count(s)
		b.Count(s)
		worst := 0.0
		for i := range 30000 {
			at = at.Add(100 * time.Microsecond)
			n++
			if i == 10055 {
				at = at.Add(-time.Duration(back) * time.Millisecond)
			}
			p := a
			if i%2 == 1 {
				p = b
			}
			w, _ := p.ChooseFor(nil, &Load{}, false, &Estimate{Searches: 1, Leaves: 1})
			told := p.told
			p.Observe(at, Outcome{Path: w, Searches: 1, Took: 20 * time.Microsecond, Results: 1})
			if i > 10055 && p.told != told {
				worst = max(worst, math.Abs(p.told))
			}
		}
		if worst > 3 {
			t.Errorf("set back by %d ms: a slope of %.1f where no way matters", back, worst)
		}
	}
}

// Where the first search after a quarter comes at the end of an epoch, some
// microseconds do not stand for all of it.
func TestCostStalls(t *testing.T) {
	run := func(stall bool) (worst, q float64) {
		r := rand.New(rand.NewPCG(1, 2))
		at := time.Unix(1000, 0)
		n := 0.0
		c := newCost(1)
		c.Count(NewCensus(func() uint64 { return uint64(n) }))
		for i := range 400000 {
			at = at.Add(time.Duration(r.ExpFloat64() * 10000))
			if ns := at.UnixNano() % 1e7; stall && i%50 == 0 && r.IntN(400) == 0 && ns < 2e6 {
				at = at.Add(time.Duration(1e7 - ns - 5000)) // the process had no core
			}
			n++
			w, _ := c.ChooseFor(nil, &Load{}, false, &Estimate{Searches: 1, Leaves: 1})
			c.Observe(at, Outcome{Path: w, Searches: 1, Took: 20 * time.Microsecond, Results: 1})
			worst, q = max(worst, math.Abs(c.told)), max(q, c.q)
		}
		return worst, q
	}
	w0, q0 := run(false)
	w1, q1 := run(true)
	t.Logf("slope, highest q: without stalls %.2f, %.2f; with %.2f, %.2f", w0, q0, w1, q1)
	if w1 > 4*w0 {
		t.Errorf("slopes up to %.1f, without stalls %.1f", w1, w0)
	}
}

// A leap is no measure of chance.
func TestCostLeapIsNoNoise(t *testing.T) {
	c := newCost(1)
	for range 20 {
		c.spread.add(0.5, 32)
		c.spread.add(-0.5, 32)
	}
	before := c.spread.dev
	c.sign, c.leap = 1, true
	c.pair(1000, 3000)
	if c.spread.dev != before {
		t.Errorf("mean deviation %.2f, after a leap %.2f", before, c.spread.dev)
	}
}

// One heartbeat, or two, may be odd on a shared machine; three tell of another
// load.
func TestCostOddHeartbeats(t *testing.T) {
	c := newCost(1)
	hear := func(util float64, n int) {
		for range n {
			c.hear(&Load{Seq: 1, CPU: util})
		}
	}
	hear(0.9, 10)
	c.leapt, c.slopes = true, 1
	hear(0.2, costOdd-1)
	hear(0.9, 1)
	hear(0.2, costOdd-1)
	if !c.leapt || c.slopes == 0 {
		t.Error("forgot all for a few heartbeats")
	}
	hear(0.2, 1)
	if c.leapt || c.slopes != 0 || c.util.mean != 0.2 {
		t.Error("three heartbeats in a row told nothing")
	}
}

// One leap may have had the luck of the draw; four that agree have not, or
// two that are far from doubt.
func TestCostLeapIsProved(t *testing.T) {
	for _, l := range []struct {
		gains []float64
		moves bool
	}{
		{[]float64{1}, false},
		{[]float64{1, -1}, false},
		{[]float64{0.15, 0.15, 0.15}, false},
		{[]float64{1, 0.2, 1, -1.5}, false},
		{[]float64{0.15, 0.1, 0.15, 0.1}, true},
		{[]float64{0.5, 0.4}, true},
	} {
		c := newCost(1)
		c.q = c.lo()
		for _, d := range l.gains {
			c.land(1000*math.Exp(d), 1000, 0.02)
		}
		if moved := c.q > 0.5; moved != l.moves {
			t.Errorf("gains of %v: moved %v", l.gains, moved)
		}
	}
}

// TestCostPauses: who paused, or rested, had enough searches to be counted: its
// latencies, which speak for what is its own gain, move nothing.
func TestCostPauses(t *testing.T) {
	c := newCost(1)
	c.early, c.leapt = 0, true
	c.q = c.lo()
	at := time.Unix(1000, 0)
	most := 0.0
	for range 400 {
		for end := at.Add(35 * time.Millisecond); at.Before(end); {
			way, _ := c.Choose(nil, &Load{}, false)
			o := Outcome{Path: way, Took: 100 * us, Results: 1}
			at = at.Add(20 * us)
			if way == Offload { // It takes the core for longer.
				o.Took = 10 * us
				at = at.Add(40 * us)
			}
			c.Observe(at, o)
		}
		at = at.Add(95 * time.Millisecond)
		most = max(most, c.q-c.lo())
	}
	if most > 0.1 {
		t.Errorf("q went to %.2f above its end", most)
	}
	if c.ways[Offload].took.n < 2 || c.lean() != 1 {
		t.Fatalf("latencies speak for %v: the test shows little", c.leaning)
	}
}

// TestCostRare: who has fewer searches than epochs goes by latencies.
func TestCostRare(t *testing.T) {
	c := newCost(1)
	c.now, c.unpaired = 128*c.length, costFew
	if !c.rare() {
		t.Error("a search in eight epochs is not rare")
	}
	c.unpairedFrom, c.unpaired = c.now-10*c.length, 1000
	if c.rare() {
		t.Error("a hundred searches an epoch are rare, after a pause")
	}
	c.unpaired = costFew - 1
	if c.rare() {
		t.Error("fifteen searches tell something")
	}
}

// TestCostEarly: the first leap is for the caches, the second counts.
func TestCostEarly(t *testing.T) {
	c := newCost(1)
	c.leap, c.early, c.q = true, 2, c.lo()
	c.sign = 1
	c.pair(1000, 100) // The second epoch offloaded.
	if !c.warm || c.early == 0 || c.leapt {
		t.Errorf("warm %v, %d left, judged %v after the first leap", c.warm, c.early, c.leapt)
	}
	c.pair(1000, 2000)
	c.pair(1000, 2000)
	if c.q < 0.5 || c.early != 0 {
		t.Errorf("q is %.2f after two leaps that gained all", c.q)
	}
	// One with next to no searches is not tried for ever.
	c = newCost(1)
	c.leap, c.early = true, 2
	c.pair(2, 3)
	if c.early != 0 || !c.leapt {
		t.Errorf("%d early leaps left of a client with no searches to count", c.early)
	}
}

// TestCostFirstSecondOffload: where offloading is the better, it is found in
// the first tenth of a second.
func TestCostFirstSecondOffload(t *testing.T) {
	w := newWorld(1, 1)
	w.skips = true
	w.core, w.idle = [2]time.Duration{20 * us, 12 * us}, [2]time.Duration{}
	if got, share := w.run(time.Second); got < 0.95*1e6/12 {
		t.Errorf("%.0f searches/s, %.3f offloaded in the first second, want %.0f", got, share, 1e6/12.0)
	}
}

// TestCostLeapsAfterChange: heartbeats that tell of another load have a leap
// made at once, though the way there leads downhill.
func TestCostLeapsAfterChange(t *testing.T) {
	w := newWorld(1, 1)
	w.skips = true
	w.idle = [2]time.Duration{}
	w.core, w.serve = [2]time.Duration{8 * us, 20 * us}, 2*us
	w.run(2 * time.Second)
	w.core, w.cold, w.serve = [2]time.Duration{4 * us, 8 * us}, 20*us, 16*us
	w.run(200 * time.Millisecond)
	if got, share := w.run(200 * time.Millisecond); got < 0.93*125_000 {
		t.Errorf("%.0f searches/s, %.2f offloaded 0.2 s after the change, want 125000 and all", got, share)
	}
	// Heartbeats that keep changing do not have it leap without end.
	c := newCost(1)
	c.warm, c.early = true, 0
	leaps := 0
	for i := range 1000 {
		c.now += c.length
		c.hear(&Load{Seq: 1, CPU: float64(i / 4 % 2)})
		if c.early > 0 {
			c.early, c.leaptAt = 0, c.now
			leaps++
		}
	}
	if leaps < 1 || leaps > 1+1000/(2*costAgain) {
		t.Errorf("%d leaps in 1000 epochs of load that goes to and fro", leaps)
	}
}

// TestCostLeavesValley: between two ends that are better, heartbeats that tell
// of another load have it leap to the better one.
func TestCostLeavesValley(t *testing.T) {
	for _, c := range []struct {
		core [2]time.Duration
		best float64
	}{{[2]time.Duration{8 * us, 12 * us}, 125_000}, {[2]time.Duration{12 * us, 8 * us}, 125_000}} {
		w := newWorld(4, 4)
		w.skips = true
		w.idle = [2]time.Duration{}
		w.core, w.cold = c.core, 30*us
		for _, p := range w.policies {
			p.q, p.early, p.warm, p.leaptAt = 0.4, 0, true, -1<<60
			p.forget()
		}
		w.run(200 * time.Millisecond)
		if got, share := w.run(200 * time.Millisecond); got < 0.9*c.best {
			t.Errorf("%v: %.0f searches/s, %.2f offloaded, want %.0f", c.core, got, share, c.best)
		}
	}
	// A hill in the middle is not left.
	w := newWorld(8, 16)
	w.skips = true
	w.serve, w.link = 5*us, 10*us
	w.run(time.Second)
	for _, p := range w.policies {
		p.leaptAt = -1 << 60
		p.forget()
	}
	if got, share := w.run(300 * time.Millisecond); got < 0.9*300_000 {
		t.Errorf("%.0f searches/s, %.2f offloaded, want 300000", got, share)
	}
}

// TestCostClimbsTogether: clients of a process know what the others know, from
// their first search on; those of another process do not.
func TestCostClimbsTogether(t *testing.T) {
	census := NewCensus(func() uint64 { return 0 })
	a, b, c := newCost(1), newCost(2), newCost(3)
	a.Count(census)
	b.Count(census)
	c.Count(NewCensus(func() uint64 { return 0 }))
	a.q, a.early = 0.7, 0
	if b.share() != 0.7 || c.share() == 0.7 {
		t.Errorf("shares of %v and %v beside one of 0.7", b.share(), c.share())
	}
	// All hear one heartbeat; it is one.
	for _, p := range []*cost{a, b} {
		p.ChooseFor(func() time.Time { return time.Unix(1000, 0) }, &Load{Seq: 1, CPU: 0.5, Interval: 10 * time.Millisecond}, true, &Estimate{})
	}
	if a.util.n != 1 {
		t.Errorf("%d heartbeats heard", a.util.n)
	}
	var wg sync.WaitGroup // For the race detector.
	for _, p := range []*cost{a, b} {
		wg.Go(func() {
			at := time.Unix(1000, 0)
			for range 20_000 {
				at = at.Add(5 * us)
				p.Glance()
				w, _ := p.ChooseFor(func() time.Time { return at }, &Load{Seq: 1}, false, &Estimate{Leaves: 1})
				p.Observe(at, Outcome{Path: w, Took: 5 * us})
				p.Skip()
				p.State()
				p.Why()
				p.Settled()
				p.Rest(at)
			}
		})
	}
	wg.Wait()
}

// TestCostShift: four times as many searches, twice in a row, are another load.
func TestCostShift(t *testing.T) {
	c := newCost(1)
	c.early, c.leapt = 0, true
	for _, n := range []float64{50, 55, 45, 500, 50, 10, 60} { // Alone each means nothing.
		if c.weigh(n); !c.leapt {
			t.Fatalf("forgot all for a pair of %v", n)
		}
	}
	c.weigh(600)
	if c.weigh(700); c.leapt || c.early == 0 || c.levels.n != 1 {
		t.Errorf("after two pairs of much more: leapt %v, %d early, levels %v", c.leapt, c.early, c.levels)
	}
}

// TestCostLate: outcomes that come long after their time are no clock that was
// set back.
func TestCostLate(t *testing.T) {
	c := newCost(1)
	c.early = 0
	at := time.Unix(1000, 0)
	for i := range 10_000 {
		at = at.Add(10 * us)
		c.Observe(at, Outcome{Took: 10 * us})
		if i%100 == 99 {
			for range 10 {
				c.Observe(at.Add(-30*time.Millisecond), Outcome{Took: 10 * us})
			}
			if c.now != at.UnixNano() {
				t.Fatal("the clock went back")
			}
		}
	}
	if c.spread.n < 3 {
		t.Errorf("%d pairs in 100 ms", c.spread.n)
	}
}

// TestCostBursts: who searches in bursts that are too short for a pair goes by
// latencies.
func TestCostBursts(t *testing.T) {
	for _, burst := range []time.Duration{5, 15} {
		c := newCost(1)
		at := time.Unix(1000, 0)
		for range 600 {
			for end := at.Add(burst * time.Millisecond); at.Before(end); {
				way, _ := c.Choose(nil, &Load{}, false)
				took := 100 * us
				if way == Offload {
					took = 20 * us
				}
				at = at.Add(took)
				c.Observe(at, Outcome{Path: way, Took: took, Results: 1})
			}
			at = at.Add(43 * time.Millisecond)
		}
		if c.share() < 0.8 {
			t.Errorf("bursts of %d ms: a share of %.2f after 30 s, though offloading is five times as quick", burst, c.share())
		}
	}
}

// TestCostSkipsOfBatches: what is skipped are calls, of however many searches.
func TestCostSkipsOfBatches(t *testing.T) {
	c := newCost(1)
	at := time.Unix(1000, 0)
	for range 100 {
		at = at.Add(2 * time.Millisecond)
		c.Observe(at, Outcome{Searches: 1000, Took: 2 * time.Millisecond})
		if n, _ := c.Skip(); n > 1 {
			t.Fatalf("skips %d of five calls in an epoch", n)
		}
	}
}

// TestCostTwoGoodEnds: from between two ends that take turns to be the better
// one, both better than where q is, one is proved.
func TestCostTwoGoodEnds(t *testing.T) {
	c := newCost(1)
	c.early, c.q = 0, 0.4
	c.weigh(1000)
	c.land(2000, 1900, 0.02)
	c.land(1900, 2000, 0.02)
	if c.q != c.hi() {
		t.Errorf("q is %.2f after two leaps to twice as many searches", c.q)
	}
}

// TestCostSkipsLittleInLeaps: who leaps may take longer by the other way, and
// has to see the epoch's end.
func TestCostSkipsLittleInLeaps(t *testing.T) {
	c := newCost(1)
	c.perEpoch, c.leap = 1000, true
	if n, way := c.Skip(); n != costSkipLeap || way != Offload {
		t.Errorf("skips %d by %v in an epoch of 1000 that offloads all", n, way)
	}
}

// TestCostRareSinceTheLastStep: how long the client was there before its last
// step does not make its searches rare.
func TestCostRareSinceTheLastStep(t *testing.T) {
	c := newCost(1)
	c.now = 1000 * c.length
	c.move(0, 1)
	c.unpaired = 100
	if c.rare() {
		t.Error("a hundred searches since a step just made are rare")
	}
}

// TestCostBusierServer: from an end heartbeats of another load call for a leap;
// in the middle q itself may have made them.
func TestCostBusierServer(t *testing.T) {
	for q, leaps := range map[float64]bool{-1: true, 0.5: false, 2: true} {
		c := newCost(1)
		c.early = 0
		c.q = min(max(q, c.lo()), c.hi())
		for i := range 10 + costOdd {
			util := 0.9
			if i >= 10 {
				util = 0.2
			}
			c.hear(&Load{Seq: 1, CPU: util})
		}
		if c.util.n != 1 || c.early > 0 != leaps {
			t.Errorf("at %.2f: %d early leaps, %d heartbeats remembered", c.q, c.early, c.util.n)
		}
	}
}
