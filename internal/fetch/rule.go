// Package fetch decides which way the answers of fastmsg come: whether a client
// fetches them, as RFP has it, or lets the server write them. fastmsg has the
// mechanism of both ways.
//
// A Rule decides between two ways to do the same calls, by the times of the calls.
// Ways applies it to answers.
//
// A client with n calls in flight makes n/T calls a second, where T is the mean
// time of a call (Little's law). So of two ways, the one with the shorter mean time
// is the better one, whatever the reason: a round trip more, a full link, a card
// that starts few operations, a slow server. A Rule needs no other measurement.
//
// # The rule
//
//	home way                                  other way
//	rest (1, 2, 4, ... windows) -> window --> change -> window -> shorter by a 16th?
//	 ^                                                             |            |
//	 |  no: change back, rest twice as long                        |            |
//	 +-------------------------------------------------------------+            |
//	 |  yes: the other way is the home way now, rest for one window             |
//	 +--------------------------------------------------------------------------+
//
// The two windows follow each other, so that both see the same load, and have the same
// length. A bias of windows (calls that take longer than a window are not in
// it) affects both.
//
// A window has the calls that began and ended in it. It begins when a first call
// has ended that began in its way: before that, calls wait in queues after
// calls of the previous way.
//
// # Sizes
//
// Answers differ in size, and a window's mean depends on the sizes that it happens to
// see. So the calls of the other way are compared with the times of calls of
// their sizes in the home way (direct standardisation). Sizes are classes, by
// powers of two; classes that the home way's window has not seen do not count.
//
// # Late answers
//
// A client sees only times. It does not see that others pay for a way whose answers
// come late: fetches that find nothing cost the server's card, and gain nothing. So
// the first way is also left when more than an eighth of its answers is late,
// without any comparison; it comes back by a trial, which ends as early.
//
// # Many clients that decide at once
//
// The clients of one server load it together: if it starts few operations, a first
// client with written answers has fast ones, and a hundred have slow ones. Rests are
// drawn at random around their length, so that clients do not try in step; and
// with the margin a client does not move when both ways take about the same
// time, where the clients together come to rest (Wardrop's equilibrium).
package fetch

import (
	"math/bits"
	"math/rand/v2"
	"time"
)

const (
	// windowCalls, for means: if the times of calls differ by a half of their mean
	// (standard deviation), the ratio of two such windows is right to 6 %.
	windowCalls = 128
	// perUnderWay is how many calls a window has at least for each call in
	// flight: a shorter window would have only the quickest of them.
	perUnderWay = 2
	// margin is the part by which the other way has to be faster.
	margin = 1. / 16
	// mostWindows is the longest rest: so trials of a way that takes three times as
	// long cost at most 2 %.
	mostWindows = 128
	// lateShare: see Late. Two in a row are enough, as in RFP (EuroSys 2017).
	lateShare = 8
	// outlier bounds the weight of one call, in means of its class: a pause of
	// the machine is no property of a way.
	outlier = 8
	// outlierAfter is how many calls of a class determine its mean.
	outlierAfter = 8
	// classes: 64 bytes, 128, ... and all longer ones.
	classes    = 24
	classBytes = 64
)

type state uint8

const (
	resting  state = iota
	home           // the home way's window
	changing       // waits for Started
	other          // the other way's window
)

// Rule is for one client. The zero value is not ready: see NewRule. It is used by one
// goroutine at a time, and does not allocate.
type Rule struct {
	way      bool // in use or wanted: false is the first way
	state    state
	rest     int // calls
	interval int // windows of a rest
	need     int // calls of a window
	late     int // lateShare for each answer of the first way that was late, less those in time

	settled bool
	since   time.Duration // calls that began before do not count
	base    window
	tried   window

	rng           rand.PCG
	trials, moves uint64
}

// window is the calls of one way.
type window struct {
	calls int
	sums  [classes]sum
}

type sum struct {
	calls int
	took  float64 // ns
}

func (s *sum) mean() float64 { return s.took / float64(s.calls) }

// NewRule returns a Rule that begins with the first way. The seed is for its rests only.
func NewRule(seed uint64) Rule {
	r := Rule{interval: 1, need: windowCalls}
	r.rng.Seed(seed, 0x747269616c)
	r.rests()
	return r
}

// Second reports whether to use the second way from now on, or else the first.
func (r *Rule) Second() bool { return r.way }

// Trials is how often the other way was tried.
func (r *Rule) Trials() uint64 { return r.trials }

// Moves is how often the other way became the home way.
func (r *Rule) Moves() uint64 { return r.moves }

// Rests is called first for each call that ends. It returns false if Ended must
// be called, too.
func (r *Rule) Rests() bool {
	switch r.state {
	case resting:
		if r.rest--; r.rest <= 0 {
			r.state, r.base, r.settled, r.since = home, window{}, false, 0
		}
		return true
	case changing:
		return true
	}
	return false
}

// Started is called when the way chosen by Second is in use: calls that begin
// from now on are answered in it. Without an earlier change it does nothing.
func (r *Rule) Started(now time.Duration) {
	if r.state == changing {
		r.state, r.tried, r.settled, r.since = other, window{}, false, now
	}
}

// InTime is called for an answer of the first way that came in time.
func (r *Rule) InTime() { r.late = max(0, r.late-1) }

// Late is called for an answer that came late, if that costs others something.
// It reports whether Second has changed: if more than one of lateShare answers
// is late, the first way is left at once.
func (r *Rule) Late() (changed bool) {
	if r.late += lateShare; r.late < 2*lateShare {
		return false
	}
	r.late = 0
	if r.way || r.state == changing {
		return false
	}
	r.leave(r.state == home || r.state == resting)
	return true
}

// Ended records a call, its answer's bytes, and how many others are in flight.
// It reports whether Second has changed.
func (r *Rule) Ended(began, now time.Duration, bytes, underWay int) (changed bool) {
	if began < r.since {
		return false
	}
	if !r.settled {
		r.settled, r.since = true, now
		if r.state == home {
			r.need = max(windowCalls, perUnderWay*underWay)
		}
		return false
	}
	class := min(bits.Len(uint(max(bytes-1, 0))/classBytes), classes-1)
	took := float64(max(now-began, 0))
	if r.state == home {
		r.base.add(class, took, &r.base)
		if r.base.calls < r.need {
			return false
		}
		r.state, r.way = changing, !r.way
		r.trials++
		return true
	}
	r.tried.add(class, took, &r.base)
	if r.tried.calls < r.need {
		return false
	}
	if r.tried.shorter(&r.base) {
		r.moved()
		return false
	}
	r.leave(false)
	return true
}

// leave changes to the way that is not in use: for good, or because a trial is lost.
func (r *Rule) leave(home bool) {
	r.way = !r.way
	if home {
		r.moved()
		return
	}
	r.interval = min(2*r.interval, mostWindows)
	r.rests()
}

// moved: the way in use is the home way now, and may be the worse one by chance.
func (r *Rule) moved() {
	r.moves++
	r.interval = 1
	r.rests()
}

// add counts a call, unless it is an outlier by the means of a window.
func (w *window) add(class int, took float64, by *window) {
	s := &w.sums[class]
	if m := &by.sums[class]; m.calls >= outlierAfter {
		took = min(took, outlier*m.mean())
	}
	s.calls++
	s.took += took
	w.calls++
}

// shorter reports whether the calls of w took less, by the margin, than calls of their
// sizes in the home way's window.
func (w *window) shorter(base *window) bool {
	took, expected := 0., 0.
	for i := range w.sums {
		if s, b := &w.sums[i], &base.sums[i]; b.calls > 0 {
			took += s.took
			expected += float64(float64(s.calls) * b.mean()) // not fused: equal on every machine
		}
	}
	return took < float64((1-margin)*expected)
}

// rests begins a rest, of half to three halves of its length.
func (r *Rule) rests() {
	n := uint64(r.interval) * uint64(r.need)
	r.state, r.rest = resting, int(n/2+r.rng.Uint64()%n)
}
