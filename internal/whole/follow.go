package whole

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Events of several groups
//
// Each group is watched, and gives its events when they are taken. The events of an id come in
// the order of its writes, since one group has it. Between groups there is no order, and a
// revision of one says nothing about another: so a position has that of each group
// (placement.WatchPosition). A write that concerns several areas has an event for each; no other
// group's events come between, so that at most one group is amid a revision. When the map changes,
// the watch ends with store.ErrLagged: the caller searches again, and watches from then on. When a
// group is lost, the error says so, and the caller may continue from the position.

// Follower is a store.Follower of one group, or of several.
type Follower struct {
	store.Follower
	of *watch // nil: one
}

// From says where a watch begins: its WatchOptions of one group, Groups of several.
type From struct {
	store.WatchOptions
	Groups *placement.WatchPosition
	// Amid is the place in Groups, from 1, of the one whose events come first, until its next
	// revision is complete; 0: none.
	Amid int
}

// watch is that of several groups.
type watch struct {
	*Groups
	c      *store.Collection
	areas  []areaWatched
	from   From
	at     placement.WatchPosition
	last   int // the group of the last event, by its place in at
	events chan event
	turn   chan struct{} // has an element while a group is amid a revision
	cancel context.CancelFunc
	under  sync.WaitGroup
	ended  chan error // has an element when a group's watch has ended
}

// event is one of a group, or why it could not be made.
type event struct {
	store.Event
	group  int
	failed error
}

// Follow begins to follow a collection. Add areas, then Start it. store.ErrLagged: from is of
// one group, and several have the store, or the other way round.
func (c Collection) Follow(ctx context.Context, from From, host limits.Stepper, source string) (*Follower, error) {
	switch {
	case c.of != nil && from.WatchOptions != store.WatchOptions{}:
		return nil, fmt.Errorf("%w: revision %d is of one server, and several groups have this store: search again", store.ErrLagged, from.From)
	case c.of != nil:
		return &Follower{of: &watch{Groups: c.of, c: c.own, from: from}}, nil
	case from.Groups != nil:
		return nil, fmt.Errorf("%w: the position is of several groups, and one server has this store: search again", store.ErrLagged)
	}
	w, err := c.own.Watch(ctx, from.WatchOptions)
	if err != nil {
		return nil, err
	}
	return &Follower{Follower: store.Follower{Watcher: w, Slots: host, Source: source, At: w.Revision()}}, nil
}

// Add is store.Watcher.Add.
func (f *Follower) Add(name string, q store.Query) error {
	if f.of == nil {
		return f.Watcher.Add(name, q)
	}
	if _, err := f.of.c.Prepare(q); err != nil {
		return err
	}
	t, err := textOf(&q, f.of.c.Options().Space)
	f.of.areas = append(f.of.areas, areaWatched{name, t})
	return err
}

// Start returns when all writes that begin now will give events.
func (f *Follower) Start(ctx context.Context) error {
	if f.of == nil {
		return nil
	}
	return f.of.start(ctx)
}

// Revision and History are those of store.Watcher, 0 of several groups.
func (f *Follower) Revision() uint64 {
	if f.of != nil {
		return 0
	}
	return f.Watcher.Revision()
}

// History is described with Revision.
func (f *Follower) History() uint64 {
	if f.of != nil {
		return 0
	}
	return f.Watcher.History()
}

// Position is how far each group is; nil: there is one, or the watch does not stand.
func (f *Follower) Position() *placement.WatchPosition {
	if f.of == nil || len(f.of.at.Groups) == 0 {
		return nil
	}
	return &placement.WatchPosition{Epoch: f.of.at.Epoch, Groups: slices.Clone(f.of.at.Groups)}
}

// Group is the place in Position of the group whose event was taken last, 0 if there is one group.
func (f *Follower) Group() int {
	if f.of == nil {
		return 0
	}
	return f.of.last
}

// Close ends the watch.
func (f *Follower) Close() {
	if f.of == nil {
		f.Watcher.Close()
	} else if f.of.cancel != nil {
		f.of.cancel()
		f.of.under.Wait()
	}
}

// Gather is store.Follower.Gather.
func (f *Follower) Gather(ctx context.Context, within time.Duration, b store.EventBatch) error {
	if f.of == nil {
		return f.Follower.Gather(ctx, within, b)
	}
	return f.of.gather(ctx, within, b)
}

func (w *watch) start(ctx context.Context) error {
	return w.byMap(ctx, func(v *View) error {
		groups := v.having()
		if err := w.from.Groups.Fits(v.Map.Epoch, len(groups)); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		w.cancel, w.events, w.turn, w.ended = cancel, make(chan event, eventsAtOnce), make(chan struct{}, 1), make(chan error, len(groups))
		at := placement.WatchPosition{Epoch: v.Map.Epoch, Groups: make([]placement.GroupPosition, len(groups))}
		if w.from.Amid > 0 {
			w.turn <- struct{}{}
		}
		stands := make(chan struct{}, len(groups))
		for n, g := range groups {
			stood := false
			r := request{Op: opWatch, Epoch: v.Map.Epoch, Collection: w.c.Name(), Areas: w.areas, events: &events{
				stands: func(begins store.WatchOptions) error {
					if stood {
						return fmt.Errorf("%w: a watch that begins twice", errFormat)
					}
					stood = true
					at.Groups[n] = placement.GroupPosition{History: begins.History, Revision: begins.From}
					stands <- struct{}{}
					return nil
				},
				take:  w.taker(ctx, n, w.from.Amid == n+1),
				flush: func() error { return nil },
			}}
			if from := w.from.Groups; from != nil {
				r.From = store.WatchOptions{From: from.Groups[n].Revision, History: from.Groups[n].History}
			}
			w.under.Go(func() {
				_, err := w.ask(ctx, v, g, &r, nil)
				if err == nil {
					err = errEnded
				}
				w.ended <- v.ofGroup(g, err)
			})
		}
		for range groups {
			select {
			case <-stands:
			case err := <-w.ended:
				cancel()
				w.under.Wait()
				return err
			}
		}
		w.at = at
		return nil
	})
}

// taker returns what takes the events of a group until they are gathered. amid: w.turn is the group's.
func (w *watch) taker(ctx context.Context, group int, amid bool) func(*store.Event, error) error {
	return func(e *store.Event, failed error) error {
		if !amid {
			select {
			case w.turn <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		select {
		case w.events <- event{*e, group, failed}:
		case <-ctx.Done():
			return ctx.Err()
		}
		if amid = e.Resume < e.Revision; !amid {
			<-w.turn
		}
		return nil
	}
}

var errEnded = fmt.Errorf("%w: its events have ended", fault.ErrNotReady)

func (w *watch) gather(ctx context.Context, within time.Duration, b store.EventBatch) error {
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		some, full := b.Filled()
		if full {
			return nil
		}
		var e event
		select {
		case e = <-w.events:
		default:
			if some {
				return nil
			}
			select {
			case e = <-w.events:
			case err := <-w.ended:
				switch {
				case ctx.Err() != nil:
					return context.Cause(ctx)
				case errors.Is(err, fault.ErrMoved):
					return fmt.Errorf("%w: %w", store.ErrLagged, err)
				}
				return err
			case <-timer.C:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if v := w.view(); v == nil || v.Map.Epoch != w.at.Epoch {
			return fmt.Errorf("%w: slots have moved between groups", store.ErrLagged)
		}
		w.at.Groups[e.group].Revision, w.last = e.Resume, e.group
		if e.Kind == query.Progress {
			continue
		}
		if err := b.Take(&e.Event, e.failed); err != nil {
			return err
		}
	}
}
