package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// Writes of boxes that several groups have.

// ofBox makes a request about one box, of its group.
func (r *clusterBoxes) ofBox(ctx context.Context, box rstar.Rect, do func(c *Client) error) error {
	return r.byMap(ctx, func(v *view) error {
		g, _, err := v.is.OfBox(r.name, box)
		if err != nil {
			return err
		}
		c, err := r.k.conn(ctx, v, int(g))
		if err != nil {
			return err
		}
		if err := do(r.at(c)); err != nil {
			return groupError(v.names[g], err)
		}
		return nil
	})
}

func (r *clusterBoxes) insert(ctx context.Context, box rstar.Rect, id uint64) error {
	return r.ofBox(ctx, box, func(c *Client) error { return c.Insert(ctx, box, id) })
}

func (r *clusterBoxes) delete(ctx context.Context, box rstar.Rect, id uint64) (found bool, err error) {
	err = r.ofBox(ctx, box, func(c *Client) (err error) {
		found, err = c.Delete(ctx, box, id)
		return err
	})
	return found, err
}

func (r *clusterBoxes) update(ctx context.Context, old, new rstar.Rect, id uint64) (found bool, err error) {
	across := false
	err = r.byMap(ctx, func(v *view) error {
		from, _, err := v.is.OfBox(r.name, old)
		if err != nil {
			return err
		}
		to, _, err := v.is.OfBox(r.name, new)
		if across = from != to; err != nil || across {
			return err
		}
		c, err := r.k.conn(ctx, v, int(to))
		if err != nil {
			return err
		}
		if found, err = r.at(c).Update(ctx, old, new, id); err != nil {
			return groupError(v.names[to], err)
		}
		return nil
	})
	if err == nil && across {
		return r.move(ctx, old, new, id)
	}
	return found, err
}

// move moves a box to another group. At each moment one has it. If there was none at its old place, it
// is deleted at the new one.
func (r *clusterBoxes) move(ctx context.Context, old, new rstar.Rect, id uint64) (found bool, err error) {
	if err := r.insert(ctx, new, id); err != nil {
		return false, err
	}
	found, err = r.delete(ctx, old, id)
	switch {
	case found:
		return true, nil
	case err != nil && !RetrySafe(err):
		return false, fmt.Errorf("box %d was put at its new place, and may stay at its old one, too: %w", id, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.k.c.opts.DialTimeout)
	defer cancel()
	if _, left := r.delete(ctx, new, id); left != nil {
		return false, fmt.Errorf("%w: box %d was put at its new place, and cannot be deleted there: %w", model.ErrUnknownOutcome, id, left)
	}
	return false, err
}

// inserter is that of the Client. Each group gets its own boxes of a batch, at the same time.
func (r *clusterBoxes) inserter() func(ctx context.Context, batch []rstar.Item) (n int, err error) {
	var mu sync.Mutex
	boots := map[string]*atomic.Uint64{} // by group
	boot := func(group string) *atomic.Uint64 {
		mu.Lock()
		defer mu.Unlock()
		if boots[group] == nil {
			boots[group] = new(atomic.Uint64)
		}
		return boots[group]
	}
	return func(ctx context.Context, batch []rstar.Item) (int, error) {
		if err := r.insertBatch(ctx, batch, boot); err != nil {
			return 0, err
		}
		return len(batch), nil
	}
}

func (r *clusterBoxes) insertBatch(ctx context.Context, left []rstar.Item, boot func(group string) *atomic.Uint64) error {
	stored := false
	err := r.byMap(ctx, func(v *view) error {
		of := make([]int, len(left))
		for i, it := range left {
			g, _, err := v.is.OfBox(r.name, it.Rect)
			if err != nil {
				return err
			}
			of[i] = int(g)
		}
		parts := divide(len(left), len(v.names), func(i int) int { return of[i] })
		var mu sync.Mutex
		var again []rstar.Item // which a group has refused, and nothing of them was done
		err := r.k.askAll(ctx, v, parts.groups, false, func(ctx context.Context, n int, c *connection) error {
			part := make([]rstar.Item, len(parts.at[n]))
			for j, i := range parts.at[n] {
				part[j] = left[i]
			}
			err := r.at(c).insertBatch(ctx, part, boot(c.part.group))
			mu.Lock()
			defer mu.Unlock()
			var failed *wire.RemoteError
			switch {
			case moved(err):
				again, err = append(again, part...), nil
			case err == nil, errors.As(err, &failed) && failed.Done > 0:
				stored = true
			}
			return err
		})
		if moved(err) { // The map has changed since.
			err = nil
		}
		if left = again; err == nil && len(left) > 0 {
			err = errOldMap
		}
		return err
	})
	if err != nil && stored {
		err = fmt.Errorf("%w: some of the boxes are stored: %w", model.ErrUnknownOutcome, err)
	}
	return err
}
