package store

import (
	"context"
	"errors"
	"time"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

// followTurn is how many events a follower takes before others get the scheduling slot.
const followTurn = 64

// Follower takes a watcher's events in batches, in scheduling slots that it shares with
// other long work. One goroutine may use it at a time.
type Follower struct {
	*Watcher
	// Slots are the scheduling slots: step is called in one of the source.
	Slots interface {
		RunStep(ctx context.Context, source string, step func()) error
	}
	Source string
	// At is the revision after which to continue: all events up to it were taken.
	At uint64
}

// EventBatch is what a Follower fills.
type EventBatch interface {
	// Take adds an event, or handles the failure of one, which has an area and an id. An
	// error ends the batch, after the event.
	Take(e *Event, failed error) error
	// Filled reports whether there is anything in the batch, and whether it is full.
	Filled() (some, full bool)
}

// Gather fills a batch: with the events that there are, or that come within a time. The
// error says why no more follow; what the batch has was taken before.
func (f *Follower) Gather(ctx context.Context, within time.Duration, b EventBatch) error {
	wait, done := context.WithTimeout(ctx, within)
	defer done()
	for {
		idle, err := f.turn(ctx, b)
		some, full := b.Filled()
		switch {
		case err != nil, full, idle && (some || wait.Err() != nil):
			return err
		case idle:
			f.Wait(wait)
		}
	}
}

// turn takes some events in one scheduling slot, or in several if they take long.
func (f *Follower) turn(ctx context.Context, b EventBatch) (idle bool, err error) {
	if ended := f.Slots.RunStep(ctx, f.Source, func() { idle, err = f.some(b, Soon()) }); ended != nil {
		return false, ended
	}
	if !errors.Is(err, ErrBudget) {
		return idle, err
	}
	p := &limits.Pacer{Of: f.Slots, Ctx: ctx, Source: f.Source}
	defer p.End()
	if err := p.Pause(); err != nil {
		return false, err
	}
	return f.some(b, &feature.Steps{Pause: p.Tick})
}

// some takes some events, in steps. It is idle if none are left.
func (f *Follower) some(b EventBatch, s *feature.Steps) (idle bool, err error) {
	for range followTurn {
		if _, full := b.Filled(); full {
			return false, nil
		}
		e, ok, err := f.TryIn(s)
		switch {
		case !ok && err != nil:
			return false, err
		case !ok:
			f.At = f.Revision()
			return true, nil
		case err == nil && e.Kind == query.Progress:
			f.At = e.Resume
			continue
		}
		f.At = e.Resume
		if err := b.Take(&e, err); err != nil {
			return false, err
		}
	}
	return false, nil
}

// SearchAgain reports whether an error means that a watcher cannot continue where it
// was: the events after that are lost to it.
func SearchAgain(err error) bool {
	return errors.Is(err, ErrLagged) || errors.Is(err, disk.ErrTrimmed) || errors.Is(err, disk.ErrAhead)
}
