package fastmsg

import (
	"math/rand/v2"
	"time"

	"github.com/catfish-index/catfish/internal/trial"
)

// Which way answers come
//
// Fetching is better if the server's card starts fewer operations than it serves.
// Elsewhere it is worse: an answer takes a round trip more, and unused lines and Reads
// that find nothing take a full link. A client cannot know which, so it compares the
// times of its calls (package trial), and fetches its answers (the first way) or lets the
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
type ways struct {
	rule   trial.Rule
	clock  func() time.Duration
	change bool          // the rule has changed the way, this side has not yet
	refuge bool          // a late answer is to be written
	left   time.Duration // when the refuge began

	trials, moves uint64 // of the rule, as added to counts
}

var fetchClock = time.Now()

func newWays() ways {
	return ways{rule: trial.New(rand.Uint64()), clock: func() time.Duration { return time.Since(fetchClock) }}
}

// noteAnswer notes an answer, its size, and the time when its call began.
func (c *Caller) noteAnswer(began time.Duration, bytes int) {
	f := c.fetch
	if f.on.Load() {
		f.rule.InTime()
	} else if f.refuge && began >= f.left && f.say == 0 {
		f.refuge, f.wanted, f.say = false, true, sayLeave
	}
	if f.rule.Rests() {
		return
	}
	if f.rule.Ended(began, f.clock(), bytes, int(c.lead.open.Load())) {
		f.change, f.refuge = true, false
	}
	f.count()
}

// count adds what the rule has done to the counts that Callers share.
func (f *fetcher) count() {
	trials, moves := f.rule.Trials(), f.rule.Moves()
	if trials == f.trials && moves == f.moves {
		return
	}
	f.counts.Trials.Add(trials - f.trials)
	f.counts.Moves.Add(moves - f.moves)
	f.trials, f.moves = trials, moves
}

// changeWay applies the rule's decision as soon as that is possible: not while
// a Read is in flight, nor before the server has applied the last change.
func (c *Caller) changeWay() {
	f := c.fetch
	if !f.change || f.reading || f.wanted || f.say != 0 {
		return
	}
	switch on := f.on.Load(); {
	case on && f.rule.Second():
		c.stopFetching()
	case !on && !f.rule.Second():
		f.wanted, f.say = true, sayLeave
		return // changed when the server has said where answers lie
	}
	f.change = false
	f.rule.Started(f.clock())
}

// tooLate asks the server to write the late answers, and those that come soon.
func (c *Caller) tooLate() {
	f := c.fetch
	if !f.on.Load() || f.reading {
		return
	}
	c.stopFetching()
	switch {
	case f.rule.Late():
		f.change = true
		f.count()
	case !f.rule.Second():
		f.refuge, f.left = true, f.clock()
	}
}
