package fetch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// world is a closed loop of callers in simulated time; took gives the time of a
// call.
type world struct {
	rule Rule
	rng  *rand.Rand
	now  time.Duration
	took func(w *world, second bool) (time.Duration, int) // and the bytes of the answer
	open []callUnderWay

	second, calls int
	changes       int
}

type callUnderWay struct {
	began, ends time.Duration
	bytes       int
	second      bool
}

func newWorld(seed uint64, callers int, took func(w *world, second bool) (time.Duration, int)) *world {
	w := &world{rule: NewRule(seed), rng: rand.New(rand.NewPCG(seed, 1)), took: took}
	for range callers {
		w.begin()
	}
	return w
}

func (w *world) begin() {
	second := w.rule.Second()
	took, bytes := w.took(w, second)
	w.open = append(w.open, callUnderWay{w.now, w.now + took, bytes, second})
}

// run makes calls, and returns the share of them in the second way.
func (w *world) run(calls int) float64 {
	w.second, w.calls = 0, 0
	for range calls {
		next := 0
		for i := range w.open {
			if w.open[i].ends < w.open[next].ends {
				next = i
			}
		}
		c := w.open[next]
		w.open = slices.Delete(w.open, next, next+1)
		w.now = c.ends
		w.calls++
		if c.second {
			w.second++
		}
		if !w.rule.Rests() && w.rule.Ended(c.began, w.now, c.bytes, len(w.open)) {
			w.changes++
			w.rule.Started(w.now)
		}
		w.begin()
	}
	return float64(w.second) / float64(w.calls)
}

// about is us microseconds, with deviations of up to a half.
func (w *world) about(us int) time.Duration {
	mean := time.Duration(us) * time.Microsecond
	return mean/2 + time.Duration(w.rng.Int64N(int64(mean)))
}

// seeds runs a test for several seeds.
func seeds(t *testing.T, run func(t *testing.T, seed uint64)) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { run(t, seed) })
	}
}

// TestFasterWins: the client ends in the faster way, whichever it is, for any
// number of calls in flight, and tries the other one for few calls only.
func TestFasterWins(t *testing.T) {
	for _, callers := range []int{1, 16, 100} {
		for _, better := range []bool{false, true} {
			t.Run(fmt.Sprintf("callers=%d/second=%t", callers, better), func(t *testing.T) {
				seeds(t, func(t *testing.T, seed uint64) {
					w := newWorld(seed, callers, func(w *world, second bool) (time.Duration, int) {
						if second == better {
							return w.about(100), 100
						}
						return w.about(140), 100
					})
					w.run(200 * max(windowCalls, perUnderWay*callers))
					share := w.run(200 * max(windowCalls, perUnderWay*callers))
					if !better {
						share = 1 - share
					}
					if share < 0.95 {
						t.Errorf("%.3f of the calls in the faster way; %d trials, %d moves", share, w.rule.Trials(), w.rule.Moves())
					}
				})
			})
		}
	}
}

// TestMargin: a way that is hardly faster is tried, and left.
func TestMargin(t *testing.T) {
	w := newWorld(1, 1, func(_ *world, second bool) (time.Duration, int) {
		if second {
			return 95 * time.Microsecond, 100
		}
		return 100 * time.Microsecond, 100
	})
	w.run(100_000)
	if w.rule.Trials() == 0 || w.rule.Moves() != 0 || w.rule.Second() {
		t.Errorf("%d trials, %d moves", w.rule.Trials(), w.rule.Moves())
	}
}

// TestRestsDouble: trials that are lost become rarer, down to one in mostWindows rests,
// and the next ones after a trial that was won are frequent again.
func TestRestsDouble(t *testing.T) {
	slow := true
	w := newWorld(3, 1, func(_ *world, second bool) (time.Duration, int) {
		if second == slow {
			return 200 * time.Microsecond, 100
		}
		return 100 * time.Microsecond, 100
	})
	var last, trials uint64
	for range 12 {
		w.run(2 * mostWindows * windowCalls)
		trials, last = w.rule.Trials()-last, w.rule.Trials()
	}
	if trials < 1 || trials > 4 {
		t.Errorf("%d trials in %d windows, after long", trials, 2*mostWindows)
	}
	slow = false
	for i := 0; !w.rule.Second(); i++ {
		if w.run(windowCalls); i > 2*mostWindows {
			t.Fatalf("not tried in %d windows", i)
		}
	}
	for w.rule.Moves() == 0 {
		w.run(1)
	}
	if before := w.rule.Trials(); true {
		w.run(16 * windowCalls)
		if n := w.rule.Trials() - before; n < 2 || n > 4 {
			t.Errorf("%d trials in the 16 windows after a move, want those after rests of 1, 2, 4", n)
		}
	}
}

// TestEqualWaysDoNotFlap: between ways with equal times there are few changes.
func TestEqualWaysDoNotFlap(t *testing.T) {
	moves := uint64(0)
	const windows = 1000
	for seed := range uint64(20) {
		w := newWorld(seed, 1, func(w *world, _ bool) (time.Duration, int) { return w.about(100), 100 })
		w.run(windows * windowCalls)
		moves += w.rule.Moves()
	}
	if limit := uint64(20 * windows / 100); moves > limit {
		t.Errorf("%d moves of 20 clients in %d windows each, want at most %d", moves, windows, limit)
	}
}

// TestSizes: a way does not win because answers happen to be small while it is tried,
// nor lose because they are large.
func TestSizes(t *testing.T) {
	seeds(t, func(t *testing.T, seed uint64) {
		n := 0
		w := newWorld(seed, 1, func(w *world, second bool) (time.Duration, int) {
			// Sizes come in long runs, so windows see different ones.
			bytes := 64 << (n / 97 % 3 * 4)
			n++
			took := time.Duration(10+bytes/16) * time.Microsecond
			if second {
				took += took / 4
			}
			return took, bytes
		})
		w.run(300 * windowCalls)
		if share := w.run(300 * windowCalls); share > 0.05 {
			t.Errorf("%.3f of the calls in the slower way, %d moves", share, w.rule.Moves())
		}
	})
}

// TestOutliers: pauses of the machine, a hundred times as long as a call, decide nothing.
func TestOutliers(t *testing.T) {
	seeds(t, func(t *testing.T, seed uint64) {
		n := 0
		w := newWorld(seed, 1, func(w *world, second bool) (time.Duration, int) {
			us := 100
			if second {
				us = 150
			}
			if n++; n%499 == 0 {
				us *= 100
			}
			return w.about(us), 100
		})
		w.run(300 * windowCalls)
		if share := w.run(300 * windowCalls); share > 0.05 {
			t.Errorf("%.3f of the calls in the slower way, %d moves", share, w.rule.Moves())
		}
	})
}

// TestServerGetsSlow: the faster way is left when it becomes slower, and used
// again afterwards.
func TestServerGetsSlow(t *testing.T) {
	seeds(t, func(t *testing.T, seed uint64) {
		us := [2]int{100, 150}
		w := newWorld(seed, 4, func(w *world, second bool) (time.Duration, int) {
			if second {
				return w.about(us[1]), 100
			}
			return w.about(us[0]), 100
		})
		for i, take := range [][2]int{{100, 150}, {600, 150}, {100, 150}, {100, 30}} {
			us = take
			w.run(3 * mostWindows * windowCalls)
			share := w.run(mostWindows * windowCalls)
			if second := take[1] < take[0]; second && share < 0.9 || !second && share > 0.1 {
				t.Errorf("step %d, %v us: %.3f in the second way", i, take, share)
			}
		}
	})
}

// TestLateAnswersEndFirstWay: many late answers end the first way at once, and
// each trial of it ends as soon.
func TestLateAnswersEndFirstWay(t *testing.T) {
	r := NewRule(1)
	for range 100 {
		r.Late()
		for range lateShare {
			r.InTime()
		}
	}
	if r.Second() || r.Moves() != 0 {
		t.Fatal("left, though one answer in nine was late")
	}
	if r.Late() || !r.Late() || !r.Second() || r.Moves() != 1 {
		t.Fatalf("two late answers in a row: second way %t, %d moves", r.Second(), r.Moves())
	}
	if r.Late(); r.Late() || !r.Second() {
		t.Fatal("the second way's answers are not late")
	}
	// A trial of the first way, lost by two late answers.
	now := time.Duration(0)
	for trials := range uint64(5) {
		for r.Second() {
			if now += 100; !r.Rests() && r.Ended(now-100, now, 100, 0) {
				r.Started(now)
			}
		}
		if r.Trials() != trials+1 {
			t.Fatalf("%d trials, want %d", r.Trials(), trials+1)
		}
		r.Late()
		if !r.Late() || !r.Second() || r.Moves() != 1 {
			t.Fatalf("trial %d: second way %t, %d moves", trials, r.Second(), r.Moves())
		}
	}
	if want := 32; r.interval != want {
		t.Errorf("rests of %d windows after five lost trials, want %d", r.interval, want)
	}
}

// TestCallsOfTheOtherWay: those that began before the change do not count.
func TestCallsOfTheOtherWay(t *testing.T) {
	r := NewRule(1)
	now := time.Duration(0)
	for !r.Second() {
		if now += 100; !r.Rests() {
			r.Ended(now-100, now, 100, 0)
		}
	}
	for range 10 * windowCalls { // before Started
		if now += 1000; !r.Rests() {
			t.Fatal("a call counts before the other way is in use")
		}
	}
	r.Started(now)
	for range 10 * windowCalls {
		if r.Rests() || r.Ended(now-1, now+1e6, 100, 0) {
			t.Fatal("a call of the way before has ended the trial")
		}
	}
	if r.tried.calls != 0 {
		t.Errorf("%d calls of the way before in the window", r.tried.calls)
	}
}

// TestDoesNotAllocate: neither resting, nor in windows.
func TestDoesNotAllocate(t *testing.T) {
	r := NewRule(1)
	now := time.Duration(0)
	if n := testing.AllocsPerRun(10_000, func() {
		if now += 100; !r.Rests() && r.Ended(now-100, now, 100, 0) {
			r.Started(now)
		}
	}); n != 0 || r.Trials() == 0 {
		t.Errorf("%v allocations per call, %d trials", n, r.Trials())
	}
}
