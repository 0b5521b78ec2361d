package client

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store/query"
)

// A watch of several groups
//
// Each group is watched, and gives its events when the caller takes them. The events of an id
// come in the order of its writes, since one group has it. Between groups there is no order, and
// a revision of one says nothing about another, so in place of a Resume events have a Position,
// with the Resume of each group (placement.WatchPosition), and a watch with From is refused.
//
// If the map changes, an id's new group might give an event before the last ones of its old
// group have come. So the watch ends with ErrLagged, as one that cannot continue: the caller
// searches again, and watches from then on. Moves are rare.

func (r *clusterFeatures) Watch(ctx context.Context, q *model.WatchQuery, yield func(model.FeatureEvent) bool) error {
	if q.From != 0 || q.History != 0 {
		return notRouted("a watch from a revision, which is one group's; a Position is of all,")
	}
	from, err := placement.ParseWatchPosition(q.Position)
	if err != nil {
		return err
	}
	stood := false
	err = r.k.byMap(ctx, func(v *view) error {
		err := from.Fits(v.epoch, len(v.having()))
		if err == nil {
			err = r.watch(ctx, v, q, from, yield, &stood)
		}
		if stood && moved(err) {
			return fmt.Errorf("%w: slots have moved between groups: search again", model.ErrLagged)
		}
		return err
	})
	return err
}

// groupsWatch is a watch of several groups.
type groupsWatch struct {
	mu     sync.Mutex
	at     *placement.WatchPosition // how far each group is
	yield  func(model.FeatureEvent) bool
	ended  bool          // yield wants no more
	absent int           // groups whose watch does not stand yet
	stands chan struct{} // closed when all stand
}

func (r *clusterFeatures) watch(ctx context.Context, v *view, q *model.WatchQuery, from *placement.WatchPosition, yield func(model.FeatureEvent) bool, stood *bool) error {
	groups := v.having()
	w := &groupsWatch{at: &placement.WatchPosition{Epoch: v.epoch, Groups: make([]placement.GroupPosition, len(groups))}, yield: yield, absent: len(groups), stands: make(chan struct{})}
	caller := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	var under sync.WaitGroup
	under.Go(func() {
		select {
		case <-v.over:
			cancel()
		case <-stop:
		}
	})
	err := r.k.askAll(ctx, v, groups, true, func(ctx context.Context, n int, c *connection) error {
		first, q := true, *q
		if q.Position = ""; from != nil {
			q.From, q.History = from.Groups[n].Revision, from.Groups[n].History
		}
		err := r.at(c).Watch(ctx, &q, func(e model.FeatureEvent) bool {
			if first {
				first = false
				return w.standing(ctx, n, e, stood)
			}
			return w.give(v, n, e)
		})
		if err == nil {
			cancel() // The caller wants no more.
		}
		if failed := (*model.WatchError)(nil); errors.As(err, &failed) {
			w.mu.Lock()
			w.pass(n, &failed.Event)
			w.mu.Unlock()
		}
		return err
	})
	close(stop)
	under.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if failed := (*model.WatchError)(nil); errors.As(err, &failed) {
		failed.Event.Position = w.at.String() // after the last event that another group has given
	}
	select {
	case <-v.over:
		if !w.ended && caller.Err() == nil {
			return errOldMap
		}
	default:
	}
	switch {
	case w.ended:
		return nil
	case caller.Err() != nil:
		return caller.Err()
	case errors.Is(err, context.Canceled):
		return nil
	}
	return err
}

// pass notes how far group n is after an event. The caller has locked mu.
func (w *groupsWatch) pass(n int, e *model.FeatureEvent) {
	w.at.Groups[n] = placement.GroupPosition{History: e.History, Revision: e.Resume}
	e.Resume, e.History = 0, 0
}

// standing is called with the first event of each group, a Progress. When all groups are
// watched the caller gets one.
func (w *groupsWatch) standing(ctx context.Context, n int, e model.FeatureEvent, stood *bool) bool {
	w.mu.Lock()
	w.pass(n, &e)
	if w.absent--; w.absent == 0 {
		*stood = true
		e.Revision, e.Position = 0, w.at.String()
		w.ended = !w.yield(e)
		close(w.stands)
	}
	w.mu.Unlock()
	select {
	case <-w.stands:
	case <-ctx.Done():
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.ended
}

// give gives an event, unless the map has changed.
func (w *groupsWatch) give(v *view, n int, e model.FeatureEvent) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-v.over:
		return false
	default:
	}
	if w.ended {
		return false
	}
	if e.Kind == query.Progress {
		e.Revision = 0
	}
	w.pass(n, &e)
	e.Position = w.at.String()
	w.ended = !w.yield(e)
	return !w.ended
}
