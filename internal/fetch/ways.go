package fetch

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Ways decides which way the answers of one client come. It is used by one
// goroutine at a time, except for Clock, and does not allocate.
//
// Fetching is better if the server's card starts fewer operations than it serves.
// Elsewhere it is worse: an answer takes a round trip more, and unused lines and Reads
// that find nothing take a full link. A client cannot know which, so it compares the
// times of its calls (Rule), and fetches its answers (the first way) or lets the
// server write them (the second):
//
//	            trial, or its end
//	fetched <---------------------> written
//	  |  ^      late too often -->
//	  |  | a call that began since is answered
//	  v  |
//	 refuge: this answer is late, so it is to be written
//
// A refuge is part of fetching: its calls count as fetched ones. It exists because
// Reads that find nothing cost the server's card, which the client's times do not
// show, and because a client that sleeps needs the server to wake it.
type Ways struct {
	Clock func() time.Duration // any number of goroutines may call it
	// Always fetches all answers that are not late, and compares nothing.
	Always bool

	rule   Rule
	change bool          // the rule has changed the way, the client has not yet
	refuge bool          // a late answer is to be written
	left   time.Duration // when the refuge began

	counts        *Counts
	trials, moves uint64 // of the rule, as added to counts
}

// Counts counts the operations of clients that fetch answers, which may share it.
type Counts struct {
	Reads   atomic.Uint64 // of answers
	Vain    atomic.Uint64 // Reads that found nothing
	Changes atomic.Uint64 // times that a client changed over to answers that are written
	Trials  atomic.Uint64 // times that a client tried the other way of answers
	Moves   atomic.Uint64 // times that a client stayed in the other way, until it moves again
}

// Step is what a client does about its way.
type Step uint8

const (
	Stay  Step = iota
	Fetch      // ask the server to leave answers
	Write      // stop fetching
)

var start = time.Now()

// NewWays returns the Ways of a client that begins by fetching.
func NewWays(counts *Counts) Ways {
	w := SeededWays(counts, rand.Uint64())
	w.Clock = func() time.Duration { return time.Since(start) }
	return w
}

// SeededWays is NewWays with the seed of its rests, and without a clock.
func SeededWays(counts *Counts, seed uint64) Ways {
	return Ways{rule: NewRule(seed), counts: counts}
}

// Back notes an answer to a call that began at that time. It reports whether the
// client, which fetches or not, ends its refuge and fetches again; busy: it cannot yet.
func (w *Ways) Back(fetches, busy bool, began time.Duration) (again bool) {
	if fetches {
		w.rule.InTime()
	} else if w.refuge && began >= w.left && !busy {
		w.refuge = false
		return true
	}
	return false
}

// Ended records a call for the comparison: when it began, its answer's bytes, and
// how many others are in flight.
func (w *Ways) Ended(began time.Duration, bytes, underWay int) {
	if w.Always || w.rule.Rests() {
		return
	}
	if w.rule.Ended(began, w.Clock(), bytes, underWay) {
		w.change, w.refuge = true, false
	}
	w.count()
}

// count adds what the rule has done to the counts.
func (w *Ways) count() {
	trials, moves := w.rule.Trials(), w.rule.Moves()
	if trials == w.trials && moves == w.moves {
		return
	}
	w.counts.Trials.Add(trials - w.trials)
	w.counts.Moves.Add(moves - w.moves)
	w.trials, w.moves = trials, moves
}

// Changes reports whether the client must call Next as soon as it can change over.
func (w *Ways) Changes() bool { return w.change }

// Next returns what the client does about the rule's change, at once. After Fetch,
// the client calls Next again when it fetches.
func (w *Ways) Next(fetches bool) Step {
	step := Stay
	switch second := w.rule.Second(); {
	case fetches && second:
		step = Write
	case !fetches && !second:
		return Fetch
	}
	w.change = false
	w.rule.Started(w.Clock())
	return step
}

// Late notes that the client stopped fetching because an answer was late.
func (w *Ways) Late() {
	switch {
	case !w.Always && w.rule.Late():
		w.change = true
		w.count()
	case !w.rule.Second():
		w.refuge, w.left = true, w.Clock()
	}
}
