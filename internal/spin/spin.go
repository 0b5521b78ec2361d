// Package spin polls for a short time before it sleeps.
//
// A goroutine that sleeps is woken through the kernel, which takes 35 to 50
// us when its core is idle; polling memory takes some 0.1 us. This is the ski
// rental problem: an algorithm that does not know when the event will come
// spins for as long as one wake-up costs, then sleeps, and pays at most twice
// what one with that knowledge would have paid (Karlin, Manasse, McGeoch and
// Owicki, "Competitive randomized algorithms for non-uniform problems", SODA
// 1990). The past is some guide to the future, so below that bound the budget
// follows it:
//
//	the event came while spinning       budget x 2, up to Max
//	it came soon after, spinning
//	for Max would have caught it        budget x 2, up to Max
//	it came later                       budget / 2, down to Max/32
//
// A budget below Max only reduces the cost of spinning without an event.
//
// # Others go first
//
// Between two polls the goroutine yields (runtime.Gosched), so that it never
// delays one that is ready to run. A yield that takes long indicates such
// goroutines: it takes 100 ns with an empty run queue, and at least the time
// until the next one blocks otherwise. Reading the number of runnable
// goroutines from runtime/metrics would cost more than the poll that it
// decides on. The time of a long yield is work of others, so it is not
// charged to the budget, nor to Spun; but after a few of them the spinner
// gives up: the core has better things to do, and the sleep is cheap, because
// the run queue is checked without any wake-up.
//
// Goroutines of other processes count too: several clients may share a core,
// and while one waits for the server another could post. So every few polls,
// about once in a microsecond, the thread yields as well (sched_yield, 0.2 us
// when no other thread wants the core), and a switch to another process shows
// as a long yield.
package spin

import (
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// WakeCost is the default of Max: a wake-up across cores, measured
	// on virtual machines as 35 to 50 us.
	WakeCost = 40 * time.Microsecond

	// longYield distinguishes a yield in which others ran from one with an
	// empty run queue, which takes 0.05 to 0.3 us.
	longYield = 2 * time.Microsecond

	// maxLongYields is the number of rounds through a busy run queue after
	// which a spinner gives up. One round may be the end of a short burst;
	// this many in a row are load.
	maxLongYields = 8

	// osYieldEvery is the number of polls from one yield to the kernel to the
	// next: 1 us of polls for 0.2 us of system call.
	osYieldEvery = 8

	// floorShare bounds the budget from below by Max/floorShare, about 1 us:
	// enough for some polls, 3 % of what the sleep costs anyway.
	floorShare = 32
)

// Spinner spins for one waiting goroutine at a time. The zero value is
// ready. Spun and Budget may be called from any goroutine.
type Spinner struct {
	// Max bounds one Spin. 0 means WakeCost, negative means one poll.
	Max time.Duration
	// Now is the time source and Yield lets others run, for tests. Nil
	// means the monotonic clock and the scheduler's.
	Now   func() time.Duration
	Yield func()

	budget atomic.Int64 // ns; 0: not used yet, then Max
	spun   atomic.Int64 // ns
	gaveUp time.Duration
}

var start = time.Now()

func (s *Spinner) now() time.Duration {
	if s.Now != nil {
		return s.Now()
	}
	return time.Since(start)
}

// yield lets others run before a poll, the 1st, 2nd, ...
func (s *Spinner) yield(look int) {
	if s.Yield != nil {
		s.Yield()
		return
	}
	if look%osYieldEvery == 0 {
		osYield()
	}
	runtime.Gosched()
}

func (s *Spinner) limit() time.Duration {
	if s.Max == 0 {
		return WakeCost
	}
	return max(s.Max, 0)
}

// Budget is the maximum time that the next Spin spends.
func (s *Spinner) Budget() time.Duration {
	if b := s.budget.Load(); b != 0 {
		return min(time.Duration(b), s.limit())
	}
	return s.limit()
}

// Spun is the time spent spinning so far: busy from the operating system's
// point of view, but in fact idle.
func (s *Spinner) Spun() time.Duration { return time.Duration(s.spun.Load()) }

// Spin polls until ready returns true or the budget is spent, and reports
// which. After false the caller sleeps, then calls Woke. It does not
// allocate.
func (s *Spinner) Spin(ready func() bool) bool {
	if ready() {
		return true
	}
	budget := s.Budget()
	if budget == 0 {
		return false
	}
	var own time.Duration
	var long int
	last := s.now()
	for look := 1; own < budget && long < maxLongYields; look++ {
		s.yield(look)
		ok := ready()
		now := s.now()
		if d := now - last; d < longYield {
			own += d
		} else {
			long++
		}
		last = now
		if ok {
			s.spun.Add(int64(own))
			s.grow()
			return true
		}
	}
	s.spun.Add(int64(own))
	s.gaveUp = last
	return false
}

// Woke reports that the sleep after an unsuccessful Spin ended now, because
// the event came (not because of a timeout). The sleep contains one wake-up,
// hence the 2: an event within Max of spinning shows up to two of them later.
func (s *Spinner) Woke() {
	if s.now()-s.gaveUp <= 2*s.limit() {
		s.grow()
	} else {
		s.shrink()
	}
}

func (s *Spinner) grow() {
	s.budget.Store(int64(min(2*s.Budget(), s.limit())))
}

func (s *Spinner) shrink() {
	s.budget.Store(int64(max(s.Budget()/2, s.limit()/floorShare)))
}
