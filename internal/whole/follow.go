package whole

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
)

// Events of several groups
//
// Each group is watched, and gives its events when they are taken. The events of an id come in
// the order of its writes, since one group has it. Between groups there is no order, and a
// revision of one says nothing about another: so there is no position to resume from. When the
// map changes, or a group is lost, the watch ends with store.ErrLagged: the caller searches again,
// and watches from then on.

// Follower is a store.Follower of one group, or of several.
type Follower struct {
	store.Follower
	of *watch // nil: one
}

// watch is that of several groups.
type watch struct {
	*Groups
	c      *store.Collection
	areas  []areaWatched
	epoch  uint64
	events chan event
	cancel context.CancelFunc
	under  sync.WaitGroup
	ended  chan error // has an element when a group's watch has ended
}

// event is one of a group, or why it could not be made.
type event struct {
	store.Event
	failed error
}

// Follow begins to follow a collection. Add areas, then Start it. Of several groups,
// fault.ErrSeveralGroups: o says where to begin.
func (c Collection) Follow(ctx context.Context, o store.WatchOptions, host limits.Stepper, source string) (*Follower, error) {
	if c.of != nil {
		if o != (store.WatchOptions{}) {
			return nil, fmt.Errorf("%w: a watch from a revision, which is one group's", fault.ErrSeveralGroups)
		}
		return &Follower{of: &watch{Groups: c.of, c: c.own}}, nil
	}
	w, err := c.own.Watch(ctx, o)
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
		ctx, cancel := context.WithCancel(ctx)
		groups := v.having()
		w.cancel, w.epoch, w.events, w.ended = cancel, v.Map.Epoch, make(chan event, eventsAtOnce), make(chan error, len(groups))
		stands := make(chan struct{}, len(groups))
		for _, g := range groups {
			r := request{Op: opWatch, Epoch: v.Map.Epoch, Collection: w.c.Name(), Areas: w.areas, events: &events{
				stands: func() error { stands <- struct{}{}; return nil },
				take: func(e *store.Event, failed error) error {
					select {
					case w.events <- event{*e, failed}:
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				},
				flush: func() error { return nil },
			}}
			w.under.Go(func() {
				_, err := w.ask(ctx, v, g, &r, nil)
				w.ended <- v.ofGroup(g, errors.Join(err, errEnded))
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
		return nil
	})
}

var errEnded = errors.New("its events have ended")

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
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				return fmt.Errorf("%w: %w", store.ErrLagged, err)
			case <-timer.C:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if v := w.view(); v == nil || v.Map.Epoch != w.epoch {
			return fmt.Errorf("%w: slots have moved between groups", store.ErrLagged)
		}
		if err := b.Take(&e.Event, e.failed); err != nil {
			return err
		}
	}
}
