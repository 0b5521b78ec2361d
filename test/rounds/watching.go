//go:build linux

package rounds

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish"
)

// watch hands on the events of all keys, until the last ones. A watch of several groups may end when
// slots move; the next one begins then.
func (u *users) watch(ctx context.Context) {
	missing := map[string]bool{} // the last ones
	for key := range u.job.Keys {
		missing[lastID(u.job.Number, key)] = true
	}
	for {
		err := u.watchOnce(ctx, missing)
		if u.job.Several && errors.Is(err, catfish.ErrLagged) && ctx.Err() == nil {
			continue
		}
		if err != nil && ctx.Err() == nil {
			u.out <- Said{Broken: "watching: " + err.Error()}
		}
		break
	}
	u.stood.Do(func() { close(u.stands) })
}

func (u *users) watchOnce(ctx context.Context, missing map[string]bool) error {
	stood, call := false, clock()
	q := catfish.WatchQuery{Query: catfish.FeatureQuery{Area: catfish.Box(-1, -1, 1, 1)}, Progress: true}
	for e, err := range u.keys(pathWrite).Watch(ctx, q) {
		if err != nil {
			return err
		}
		if !stood {
			stood = true
			u.out <- Said{Event: &Event{Key: standing, Revision: e.Resume, Call: call, End: clock()}}
			u.stood.Do(func() { close(u.stands) })
		}
		if e.Kind == catfish.Progress {
			continue
		}
		x := Event{Revision: e.Revision, Key: lastWrite}
		if _, err := fmt.Sscanf(e.ID, "k%d-", &x.Key); err == nil && e.Kind != catfish.Exit {
			x.Value, _ = numberOf(e.Feature.Properties) // 0 is no value.
		}
		u.out <- Said{Event: &x}
		if missing[e.ID] {
			if delete(missing, e.ID); len(missing) == 0 {
				close(u.last)
				return nil
			}
		}
	}
	return nil
}

// lastPause is how long a process waits for its last events before it writes again: a watch that
// has begun again has missed some.
const lastPause = 2 * time.Second

// end waits for the last events.
func (u *users) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	for {
		for key := range u.job.Keys {
			id := lastID(u.job.Number, key)
			for {
				_, _, err := u.keys(pathWrite).Put(ctx, value(id, u.number()), catfish.Condition{})
				if err == nil {
					break
				}
				if ctx.Err() != nil {
					u.out <- Said{Broken: "the last write is not made: " + err.Error()}
					return
				}
			}
		}
		select {
		case <-u.last:
			return
		case <-ctx.Done():
			u.out <- Said{Broken: fmt.Sprintf("the watcher has not got the last events in %v", callTime)}
			return
		case <-time.After(lastPause):
		}
	}
}
