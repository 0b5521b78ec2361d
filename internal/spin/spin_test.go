package spin

import (
	"sync/atomic"
	"testing"
	"time"
)

// fake is a clock that a yield advances.
type fake struct {
	now, perYield time.Duration
	yields        int
}

func (f *fake) spinner() *Spinner {
	return &Spinner{
		Now: func() time.Duration { return f.now },
		Yield: func() {
			f.now += f.perYield
			f.yields++
		},
	}
}

func never() bool { return false }

func TestSpinIsBounded(t *testing.T) {
	f := &fake{perYield: 100}
	s := f.spinner()
	if s.Spin(never) {
		t.Fatal("an event that never came")
	}
	if s.Spun() != WakeCost || f.now != WakeCost {
		t.Errorf("spun %v in %v, want %v", s.Spun(), f.now, WakeCost)
	}
}

func TestReadyAtOnceCostsNothing(t *testing.T) {
	f := &fake{perYield: 100}
	s := f.spinner()
	if !s.Spin(func() bool { return true }) {
		t.Fatal("not ready")
	}
	if s.Spun() != 0 || f.yields != 0 {
		t.Errorf("spun %v, %d yields", s.Spun(), f.yields)
	}
}

func TestNegativeMaxPollsOnce(t *testing.T) {
	f := &fake{perYield: 100}
	s := f.spinner()
	s.Max = -1
	polls := 0
	s.Spin(func() bool { polls++; return false })
	if polls != 1 || f.yields != 0 {
		t.Errorf("%d polls, %d yields", polls, f.yields)
	}
}

func TestBudgetShrinksInVainAndGrowsWhenItPays(t *testing.T) {
	f := &fake{perYield: 100}
	s := f.spinner()
	for range 20 {
		s.Spin(never)
		f.now += time.Second
		s.Woke()
	}
	if got, want := s.Budget(), WakeCost/floorShare; got != want {
		t.Fatalf("after long sleeps the budget is %v, want %v", got, want)
	}
	low := s.Spun()
	s.Spin(never)
	if d := s.Spun() - low; d > WakeCost/floorShare+f.perYield {
		t.Errorf("spun %v with a budget of %v", d, s.Budget())
	}

	// The event comes in time.
	for range 2 {
		before := s.Budget()
		at := f.now + 500
		if !s.Spin(func() bool { return f.now >= at }) {
			t.Fatal("missed the event")
		}
		if s.Budget() != 2*before {
			t.Errorf("budget %v, want %v", s.Budget(), 2*before)
		}
	}
	// It comes too late for the budget, but not for Max: sleeping cost more
	// than spinning would have, so the budget returns to Max.
	for range 10 {
		s.Spin(never)
		f.now += WakeCost
		s.Woke()
	}
	if s.Budget() != WakeCost {
		t.Errorf("after short sleeps the budget is %v", s.Budget())
	}
}

// Time in which other goroutines ran does not count as spun, and a busy run
// queue ends the spinning.
func TestYieldsToOthers(t *testing.T) {
	f := &fake{perYield: 50 * time.Microsecond}
	s := f.spinner()
	if s.Spin(never) {
		t.Fatal("an event that never came")
	}
	if f.yields != maxLongYields || s.Spun() != 0 {
		t.Errorf("%d yields, spun %v", f.yields, s.Spun())
	}
}

func TestSpinSeesAnotherGoroutine(t *testing.T) {
	s := Spinner{Max: time.Minute}
	var flag atomic.Bool
	go flag.Store(true)
	for !s.Spin(flag.Load) {
	}
}

func TestSpinDoesNotAllocate(t *testing.T) {
	var s Spinner
	n := 0
	if a := testing.AllocsPerRun(100, func() {
		s.Spin(func() bool { n++; return n%3 == 0 })
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
}

// Four polls with three yields between them.
func BenchmarkSpin(b *testing.B) {
	var s Spinner
	for b.Loop() {
		n := 0
		s.Spin(func() bool { n++; return n == 4 })
	}
}
