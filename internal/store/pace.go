package store

import (
	"context"
	"errors"
	"time"

	"github.com/catfish-index/catfish/internal/feature"
)

// Pauses of searches
//
// A search pauses, for others to go first (Query.Pace), after some features or some
// time, whichever comes first:
//
//	most features          0.4 us each, with those that only a box decides about:
//	                       256 of them are a step, and the clock is seldom looked at
//	with a costly filter   up to 20 ms each (package filter), or a large polygon, or
//	                       a caller that writes much of each: the time decides
//
// Filters and tests of large polygons are divided themselves (within).
//
// The time that features take is not known before, so the clock is looked at after the
// first one, the next two, four, and so on, up to clockEvery, and again more often as
// soon as they take long.

const (
	// lookedAt is how many features are looked at before the next pause, 0.1 ms.
	lookedAt = 256
	// stepTime is the time after which a search pauses that has looked at fewer.
	stepTime = 100 * time.Microsecond
	// clockEvery is how many are read before the next look at the clock, which takes
	// 50 ns: a quarter of what a feature takes.
	clockEvery = 16
	// soonTime is the longest that a search with a budget takes (Buffer.Budget): 512
	// features without a costly filter take 0.1 to 0.3 ms.
	soonTime = 400 * time.Microsecond
)

// pacing is the state of a search's steps.
type pacing struct {
	ctx  context.Context
	pace func() error         // nil: none
	now  func() time.Duration // the store's clock

	looks  int
	steps  int
	at     time.Duration // by the clock, a few features ago; 0: not read in this step
	began  time.Duration // as at, when the step began
	every  int           // features between two looks at the clock
	soon   bool          // the search does not pause: it ends after soonTime
	unseen int           // of them, until the next one
}

func newPacing(ctx context.Context, pace func() error, now func() time.Duration) pacing {
	p := pacing{ctx: ctx, pace: pace, now: now, every: clockEvery}
	if pace != nil {
		p.every = 1
	}
	return p
}

// endSoon has the search end when it has taken soonTime, instead of pausing.
func (p *pacing) endSoon() {
	p.soon, p.every = true, 1
	p.clock()
}

// clock is a time since the search began, a few features ago at most: a feature that
// had not expired then existed at a moment of the search.
func (p *pacing) clock() time.Duration {
	if p.at == 0 {
		p.at = p.now()
		p.began, p.unseen = p.at, p.every
	}
	return p.at
}

// late counts a feature, and reports whether the step has taken its time before it.
func (p *pacing) late() bool {
	if p.at == 0 {
		return false
	}
	if p.unseen--; p.unseen > 0 {
		return false
	}
	before := p.at
	if p.at = p.now(); p.at-before > stepTime/2 {
		p.every = 1
	} else {
		p.every = min(2*p.every, clockEvery)
	}
	p.unseen = p.every
	return p.at-p.began >= stepTime
}

// looked counts a feature that is looked at, whether it is wanted or not. The error is
// why the search must end.
func (p *pacing) looked() error {
	p.looks++
	if !p.soon && p.looks%lookedAt == 0 {
		return p.pause()
	}
	return p.timed()
}

// timed pauses if the step has taken its time, or ends a search that may not pause.
func (p *pacing) timed() error {
	switch {
	case !p.late():
		return nil
	case !p.soon:
		return p.pause()
	case p.at-p.began >= soonTime:
		return ErrBudget
	}
	return nil
}

// within is called in the middle of a test that takes long (feature.Steps), or of a
// filter, and does as timed does.
func (p *pacing) within() error {
	p.clock()
	p.unseen = 0
	return p.timed()
}

// sortedAs is the number of features as which a sorted block of entries counts
// (first_sort.go).
const sortedAs = 16

// blocks calls f for each of n entries, and pauses between blocks of them. The error is
// why the search must end: then some are left.
func (p *pacing) blocks(n int, f func(i int)) error {
	for i := range n {
		if f(i); i%block != block-1 {
			continue
		}
		p.clock()
		before := p.looks
		if p.looks += sortedAs; !p.soon && p.looks/lookedAt > before/lookedAt {
			if err := p.pause(); err != nil {
				return err
			}
		} else if err := p.timed(); err != nil {
			return err
		}
	}
	return nil
}

// Soon returns steps that end with ErrBudget 0.4 ms after the call. A caller with a
// scheduling slot can then continue with requests that wait for slots.
func Soon() *feature.Steps {
	begun := time.Now()
	return &feature.Steps{Pause: func() error {
		if time.Since(begun) >= soonTime {
			return ErrBudget
		}
		return nil
	}}
}

// stepped counts a step of a search of the tree, which pauses more seldom: writes
// during a pause may make it begin again.
func (p *pacing) stepped() error {
	if p.ctx == nil {
		return nil
	}
	if p.steps++; p.soon || p.steps%stepsAtOnce != 0 {
		return ended(p.ctx)
	}
	return p.pause()
}

// pause lets others go first. A new step begins when the next feature is read.
func (p *pacing) pause() error {
	p.at = 0
	if p.ctx == nil {
		return nil
	}
	if err := ended(p.ctx); err != nil || p.pace == nil {
		return err
	}
	return p.pace()
}

// ended is the error of a context: ErrClosed if that is why it ended, since then a client may
// repeat its request at another server.
func ended(ctx context.Context) error {
	err := ctx.Err()
	if err != nil && errors.Is(context.Cause(ctx), ErrClosed) {
		return context.Cause(ctx)
	}
	return err
}
