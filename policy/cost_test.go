package policy

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// world is a closed loop of callers whose policies choose between two ways
// over three queues, each first come first served:
//
//	fast     client's core (core[0]) --> server (serve)
//	offload  client's core (core[1]) --> link (link)
//
// A queue with a time of 0 holds nobody up.
type world struct {
	core        [2]time.Duration
	serve, link time.Duration
	idle        [2]time.Duration // latency without queues
	think       time.Duration
	cold        time.Duration // more, to offload after fast messaging on the core
	leaves      func() int
	beats       bool
	census      *Census // of all clients, nil: each knows of itself only
	skips       bool    // policies are asked only when they want to be

	policies []*cost
	skip     []int // by client
	skipTo   []Path
	others   []int
	last     Path // on the core
	finished uint64
	calls    callHeap
	at       time.Duration
	free     [3]time.Duration // core, server, link
	busy     time.Duration
	done     [2]int
}

type worldCall struct {
	at     time.Duration // it comes back, or begins
	began  time.Duration
	client int
	way    Path
	fresh  bool // begins
	quiet  bool // the policy was not asked
}

type callHeap []worldCall

func (h callHeap) Len() int           { return len(h) }
func (h callHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h callHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *callHeap) Push(x any)        { *h = append(*h, x.(worldCall)) }
func (h *callHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func newWorld(clients, calls int) *world {
	w := &world{beats: true, idle: [2]time.Duration{10 * time.Microsecond, 10 * time.Microsecond}}
	w.add(clients, calls)
	return w
}

// add lets clients join.
func (w *world) add(clients, calls int) {
	for range clients {
		p := newCost(uint64(len(w.policies)))
		if w.census != nil {
			p.Count(w.census)
		}
		w.policies = append(w.policies, p)
		w.skip, w.skipTo, w.others = append(w.skip, 0), append(w.skipTo, 0), append(w.others, 0)
		for i := range calls {
			w.calls = append(w.calls, worldCall{
				at: w.at + time.Duration(len(w.calls)+i)*time.Microsecond, client: len(w.policies) - 1, fresh: true,
			})
		}
	}
	heap.Init(&w.calls)
}

func (w *world) through(station int, at, takes time.Duration) time.Duration {
	if takes == 0 {
		return at
	}
	w.free[station] = max(w.free[station], at) + takes
	return w.free[station]
}

func (w *world) clock() time.Time { return time.Unix(1000, 0).Add(w.at) }

// run goes on for so long and returns finished searches per second and the
// share that was offloaded.
func (w *world) run(d time.Duration) (perSecond, share float64) {
	w.done = [2]int{}
	end := w.at + d
	var seq uint64
	beat := w.at
	for w.calls[0].at < end {
		c := &w.calls[0]
		w.at = c.at
		p := w.policies[c.client]
		if !c.fresh {
			if w.finished++; c.quiet {
				w.others[c.client]++
			} else {
				p.Observe(w.clock(), Outcome{Path: c.way, Took: w.at - c.began, Results: 1, Others: w.others[c.client]})
				w.others[c.client] = 0
			}
			w.done[c.way]++
			if w.think > 0 {
				c.fresh, c.at = true, w.at+w.think
				heap.Fix(&w.calls, 0)
				continue
			}
		}
		if w.beats && w.at-beat >= 10*time.Millisecond {
			seq++
			l := Load{Seq: seq, CPU: min(float64(w.busy)/float64(w.at-beat), 1), Interval: 10 * time.Millisecond}
			if w.serve > 0 && w.free[1] > w.at {
				l.Waiting = uint64((w.free[1] - w.at) / w.serve)
			}
			beat, w.busy = w.at, 0
			for _, p := range w.policies {
				p.hear(&l)
			}
		}
		e := Estimate{Leaves: 1}
		if w.leaves != nil {
			e.Leaves = w.leaves()
		}
		if c.quiet = w.skip[c.client] > 0; c.quiet {
			w.skip[c.client]--
			c.way = w.skipTo[c.client]
		} else {
			c.way, _ = p.ChooseFor(w.clock, &Load{}, false, &e)
			if w.skips {
				w.skip[c.client], w.skipTo[c.client] = p.Skip()
			}
		}
		c.began, c.fresh = w.at, false
		core := w.core[c.way]
		if c.way == Offload && w.last != Offload {
			core += w.cold
		}
		w.last = c.way
		at := w.through(0, w.at, core)
		if c.way == Offload {
			at = w.through(2, at, w.link*time.Duration(e.Leaves))
		} else {
			at = w.through(1, at, w.serve)
			w.busy += w.serve
		}
		c.at = at + w.idle[c.way]
		heap.Fix(&w.calls, 0)
	}
	w.at = end
	n := w.done[0] + w.done[1]
	return float64(n) / d.Seconds(), float64(w.done[Offload]) / float64(max(n, 1))
}

const us = time.Microsecond

// TestCostConverges: within a second to what is best, whichever it is.
func TestCostConverges(t *testing.T) {
	for name, c := range map[string]struct {
		set    func(*world)
		best   float64 // searches/s
		lo, hi float64 // share
	}{
		"both ways are limited": {func(w *world) { w.serve, w.link = 10*us, 15*us }, 166_667, 0.3, 0.5},
		"offloading is not":     {func(w *world) { w.serve = 20 * us }, 960_000, 0.9, 1},
		"the server is not":     {func(w *world) { w.link = 20 * us }, 960_000, 0, 0.03},
		// Offloading is quicker for who does it, and takes time of the core
		// that all clients share: finished searches tell.
		"a shared core":  {func(w *world) { w.core, w.serve = [2]time.Duration{27 * us, 44 * us}, 29*us }, 35_000, 0, 0.13},
		"a core for all": {func(w *world) { w.core, w.serve = [2]time.Duration{20 * us, 10 * us}, 10*us }, 100_000, 0.9, 1},
	} {
		for _, process := range []bool{false, true} {
			w := newWorld(0, 0)
			if w.skips = process; process { // as clients of one process do
				w.census = NewCensus(func() uint64 { return w.finished })
			}
			w.add(8, 16)
			c.set(w)
			if c.best > 200_000 {
				// 1,280,000 are possible without trying the other way, at
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

// TestCostLeaps: to offload now and then takes longer than fast messaging, to
// offload always half of it. The way there leads downhill.
func TestCostLeaps(t *testing.T) {
	w := newWorld(1, 1)
	w.skips = true
	w.core, w.cold = [2]time.Duration{20 * us, 8 * us}, 20*us
	w.idle = [2]time.Duration{}
	w.run(2 * time.Second)
	if got, share := w.run(time.Second); got < 0.95*125_000 {
		t.Errorf("%.0f searches/s, %.2f offloaded, want 125000 and all", got, share)
	}
	// And back, by a leap or step by step.
	w.core, w.cold = [2]time.Duration{8 * us, 20 * us}, 0
	w.run(6 * time.Second)
	if got, share := w.run(time.Second); got < 0.95*125_000 {
		t.Errorf("%.0f searches/s, %.2f offloaded, want 125000 and none", got, share)
	}
}

// TestCostSkips: what it does not want to be asked about would not have been
// offloaded, and one in a few is asked about all the same.
func TestCostSkips(t *testing.T) {
	w := newWorld(4, 4)
	w.skips, w.serve, w.link = true, 10*us, 60*us
	p := w.policies[0]
	for w.run(500 * time.Millisecond); p.rest || p.leap || p.perEpoch == 0; {
		w.run(10 * time.Millisecond)
	}
	asked, skipped := 0, 0
	for range 10_000 {
		if n, way := p.Skip(); way != FastMessaging {
			t.Fatalf("%v without being asked about", way)
		} else if n < 0 || n > min(p.perEpoch/costSkip, costSkips) {
			t.Fatalf("skips %d of %d in an epoch", n, p.perEpoch)
		} else {
			skipped += n
		}
		p.ChooseFor(w.clock, &Load{}, false, &Estimate{Leaves: 1})
		asked++
	}
	if skipped < 2*asked {
		t.Errorf("asked about %d, not about %d", asked, skipped)
	}
}

// TestCostFirstSecond: where fast messaging is the better, trying the other
// loses less than 3 %, from the first moment.
func TestCostFirstSecond(t *testing.T) {
	w := newWorld(8, 16)
	w.core, w.serve = [2]time.Duration{27 * us, 44 * us}, 27*us
	if got, share := w.run(time.Second); got < 0.97*1e6/27 {
		t.Errorf("%.0f searches/s, %.3f offloaded in the first second, want %.0f", got, share, 1e6/27)
	}
}

// TestCostSuddenChange: the server slows down to a tenth, and recovers.
func TestCostSuddenChange(t *testing.T) {
	w := newWorld(8, 16)
	w.serve, w.link = 5*us, 10*us
	for i, c := range []struct{ serve, best float64 }{{5, 300_000}, {50, 120_000}, {5, 300_000}} {
		w.serve = time.Duration(c.serve) * us
		w.run(400 * time.Millisecond)
		if got, share := w.run(300 * time.Millisecond); got < 0.93*c.best {
			t.Errorf("%d: %.0f searches/s, %.2f offloaded, want %.0f", i, got, share, c.best)
		}
	}
	w.add(24, 16) // As many callers more.
	w.serve, w.link = 50*us, 10*us
	w.run(400 * time.Millisecond)
	if got, share := w.run(300 * time.Millisecond); got < 0.93*120_000 {
		t.Errorf("after a load step: %.0f searches/s, %.2f offloaded", got, share)
	}
}

// TestCostExplores: at either end the other way is tried, rarely.
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
	// Also of a client with ten searches a second, but seldom.
	w := newWorld(1, 1)
	w.think, w.idle[Offload] = 100*time.Millisecond, time.Millisecond
	w.run(60 * time.Second)
	if _, share := w.run(600 * time.Second); share < 0.001 || share > 0.04 {
		t.Errorf("10 searches/s: %.4f go the other way", share)
	}
}

// TestCostLatency: where the number of searches does not depend on the way,
// the quicker is taken; ways alike leave the share where it is.
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

// TestCostNoHerd: a thousand clients that hear the same at one time do not
// do the same, and share a full server and a full link without swinging.
func TestCostNoHerd(t *testing.T) {
	w := newWorld(1000, 1)
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
		t.Errorf("the share swings from %.2f to %.2f in windows of 5 ms, want 0.40 and little change", lo, hi)
	}
	if got := sum / windows; got < 0.95*833_333 {
		t.Errorf("%.0f searches/s, want 833333", got)
	}
	// All at once.
	offloaded := 0
	for _, p := range w.policies {
		if way, _ := p.ChooseFor(w.clock, &Load{}, false, &Estimate{Leaves: 1}); way == Offload {
			offloaded++
		}
	}
	if offloaded < 250 || offloaded > 550 {
		t.Errorf("%d of 1000 clients offload at one moment, want 400 or so", offloaded)
	}
}

// TestCostSizes: with both ways full, it is small searches that are
// offloaded: large ones move more bytes.
func TestCostSizes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	w := newWorld(8, 16)
	w.serve, w.link = 10*us, 4*us
	w.leaves = func() int { return []int{1, 30}[r.IntN(2)] }
	w.run(1500 * time.Millisecond)
	offloaded := map[int]int{}
	for _, p := range w.policies {
		for range 1000 {
			for _, n := range []int{1, 30} {
				if way, _ := p.ChooseFor(w.clock, &Load{}, false, &Estimate{Leaves: n}); way == Offload {
					offloaded[n]++
				}
			}
		}
	}
	if offloaded[1] < 3*offloaded[30] {
		t.Errorf("of small and large searches %d and %d are offloaded", offloaded[1], offloaded[30])
	}
}

// TestCostWithoutHeartbeats: they help and are not needed; late ones are
// told of.
func TestCostWithoutHeartbeats(t *testing.T) {
	w := newWorld(8, 16)
	w.beats = false
	w.serve, w.link = 10*us, 15*us
	w.run(time.Second)
	if got, share := w.run(500 * time.Millisecond); got < 0.95*166_667 {
		t.Errorf("%.0f searches/s, %.2f offloaded", got, share)
	}
	p := w.policies[0]
	p.hear(&Load{Seq: 1, CPU: 0.5, Interval: 10 * time.Millisecond})
	if why := p.Why(); strings.Contains(why, "late") {
		t.Error(why)
	}
	w.run(100 * time.Millisecond)
	if why := p.Why(); !strings.Contains(why, "late") {
		t.Error(why)
	}
}

// TestCostGlance: a search that Glance lets pass is not offloaded.
func TestCostGlance(t *testing.T) {
	w := newWorld(8, 16)
	w.serve, w.link = 10*us, 15*us
	w.run(500 * time.Millisecond)
	p, passed := w.policies[0], 0
	for range 10_000 {
		e := Estimate{Leaves: 1}
		if !p.Glance() {
			e = Estimate{}
			passed++
		}
		if way, _ := p.ChooseFor(w.clock, &Load{}, false, &e); way == Offload && e == (Estimate{}) {
			t.Fatal("offloaded unseen")
		}
	}
	if passed < 1000 {
		t.Errorf("%d of 10000 searches were not looked at", passed)
	}
}

// TestCostHostile: whatever heartbeats, estimates, outcomes and clocks say,
// the state stays finite and within its limits.
func TestCostHostile(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1e-300, 0.5, 1, 1e300, math.MaxFloat64}
	ints := []int{math.MinInt, -1, 0, 1, 7, 1000, math.MaxInt}
	p := newCost(1)
	now := time.Unix(1000, 0)
	pick := func() float64 { return odd[r.IntN(len(odd))] }
	n := func() int { return ints[r.IntN(len(ints))] }
	for i := range 200_000 {
		load := Load{Seq: r.Uint64(), CPU: pick(), Busy: pick(), Waiting: r.Uint64() >> r.IntN(64),
			BytesOut: pick(), Interval: time.Duration(n())}
		e := Estimate{Leaves: n(), Missing: n(), Cached: n(), Bytes: n()}
		if r.IntN(2) == 0 {
			p.Glance()
		}
		way, _ := p.ChooseFor(func() time.Time { return now }, &load, r.IntN(4) == 0, &e)
		if r.IntN(50) == 0 {
			way = Path(n())
		}
		p.Observe(now, Outcome{Path: way, Took: time.Duration(n()), Results: n(), Reads: n(), Trips: n(), Bytes: n()})
		switch r.IntN(1000) {
		case 0:
			now = now.Add(-time.Hour)
		case 1:
			now = time.Time{}
		case 2:
			now = time.Unix(1<<40, 0)
		case 3:
			now = time.Unix(1000, 0)
		default:
			now = now.Add(time.Duration(r.IntN(300)) * us)
		}
		for _, v := range []float64{p.q, p.step, p.delta, p.slope, p.slopes, p.noise, p.told, p.doubt, p.leaning,
			p.size.mean, p.size.dev, p.spread.dev, p.any.mean, p.ways[0].took.mean, p.ways[1].took.mean, p.util.mean, p.wait.mean} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("search %d: %+v", i, p)
			}
		}
		if s := p.State(); s.Share < 0 || s.Share > 1 || s.Utilisation < 0 || s.Utilisation > 1 || p.step > costLong {
			t.Fatalf("search %d: %+v", i, s)
		}
		if i%1000 == 0 && strings.Contains(p.Why(), "NaN") {
			t.Fatal(p.Why())
		}
	}
}

// TestCostLateOutcomes: outcomes that are told in another order than they
// came do not spoil epochs.
func TestCostLateOutcomes(t *testing.T) {
	p := newCost(1)
	p.early, p.leapt = 0, true // Leaps are not counted here.
	at := time.Unix(1000, 0)
	pairs := 0
	for range 20_000 {
		at = at.Add(10 * us)
		for _, late := range []time.Duration{0, 50 * us} {
			way, _ := p.Choose(nil, &Load{}, false)
			n := p.spread.n
			p.Observe(at.Add(-late), Outcome{Path: way, Took: 100 * us, Results: 1})
			if p.spread.n > n {
				pairs++
			}
		}
	}
	if pairs < 8 { // 200 ms have ten pairs, of which the first is not whole.
		t.Errorf("%d pairs of epochs in 200 ms, want 9", pairs)
	}
}

// TestCostDeterministic: equal seeds and inputs, equal decisions.
func TestCostDeterministic(t *testing.T) {
	run := func() (float64, float64) {
		w := newWorld(4, 4)
		w.serve, w.link = 10*us, 15*us
		return w.run(300 * time.Millisecond)
	}
	n, share := run()
	if n2, share2 := run(); n != n2 || share != share2 {
		t.Errorf("%v, %v and %v, %v", n, share, n2, share2)
	}
}

func TestCostDoesNotAllocate(t *testing.T) {
	p, now := newCost(1), time.Unix(1000, 0)
	load, e := Load{Seq: 1, Interval: 10 * time.Millisecond}, Estimate{Leaves: 2, Cached: 3}
	if n := testing.AllocsPerRun(10_000, func() { costSearch(p, &now, &load, &e) }); n != 0 {
		t.Errorf("%v allocations a search", n)
	}
}

// TestCostLn: it is what it says.
func TestCostLn(t *testing.T) {
	last := -1.0
	for v := 1.0; v < 1e15; v *= 1.01 {
		got := costLn(v)
		if got < last || math.Abs(got-math.Log(v)) > 0.061 {
			t.Fatalf("%v: %v, want %v", v, got, math.Log(v))
		}
		last = got
	}
}

func costSearch(p *cost, now *time.Time, load *Load, e *Estimate) {
	p.Glance()
	way, _ := p.ChooseFor(func() time.Time { return *now }, load, load.Seq%1000 == 0, e)
	load.Seq++
	*now = now.Add(10 * us)
	p.Observe(*now, Outcome{Path: way, Took: 10 * us, Results: 1})
}

// BenchmarkCostChoose is a decision.
func BenchmarkCostChoose(b *testing.B) {
	p := newCost(1)
	load, e := Load{}, Estimate{Leaves: 2, Cached: 3}
	b.ReportAllocs()
	for b.Loop() {
		p.Glance()
		p.ChooseFor(nil, &load, false, &e)
	}
}

// BenchmarkCostSearch is a decision and what is learnt of its search.
func BenchmarkCostSearch(b *testing.B) {
	p, now := newCost(1), time.Unix(1000, 0)
	load, e := Load{Seq: 1, Interval: 10 * time.Millisecond}, Estimate{Leaves: 2, Cached: 3}
	b.ReportAllocs()
	for b.Loop() {
		costSearch(p, &now, &load, &e)
	}
}

// TestCostClockSetBack: a rest does not last for as long as the clock was set
// back.
func TestCostClockSetBack(t *testing.T) {
	p, now := newCost(1), time.Unix(1_000_000, 0)
	load, e := Load{}, Estimate{}
	search := func() {
		way, _ := p.ChooseFor(nil, &load, false, &e)
		took := 10 * us
		if way == Offload {
			took = 100 * us
		}
		now = now.Add(took)
		p.Observe(now, Outcome{Path: way, Took: took, Results: 1})
	}
	for i := 0; !p.rest; i++ {
		if i == 10_000_000 {
			t.Fatal("it never rests")
		}
		search()
	}
	now = now.Add(-time.Hour)
	if left := p.Rest(now); left > time.Minute {
		t.Errorf("it rests for %v", left)
	}
	for range costFew {
		search()
	}
	if left := time.Duration(p.until - now.UnixNano()); p.rest && left > time.Minute {
		t.Errorf("after some searches it rests for %v", left)
	}
}
