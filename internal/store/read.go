package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// buffers of searches, by all collections.
var buffers = sync.Pool{New: func() any { return new(Buffer) }}

// use keeps the collection's memory until leave.
func (c *Collection) use() error {
	if !c.using.enter() {
		return fmt.Errorf("%w: collection %q", ErrClosed, c.Name())
	}
	if c.dropped.Load() {
		c.using.leave()
		return fmt.Errorf("%w: collection %q was dropped", ErrClosed, c.Name())
	}
	return nil
}

// Get returns the feature of an id. kv.ErrNotFound: there is none. fault.ErrMoved: another
// group has the id, or it moves there.
func (c *Collection) Get(ctx context.Context, id string) (Feature, error) {
	var f Feature
	err := c.GetMany(ctx, []string{id}, func(_ int, found *Found) (bool, error) {
		if found == nil {
			return false, query.NoFeature(c.Name(), id)
		}
		f = found.Feature()
		return true, nil
	})
	return f, err
}

// GetMany calls yield with the features of ids, in their order, nil where there is
// none, until it returns false. A feature is valid until yield returns.
func (c *Collection) GetMany(ctx context.Context, ids []string, yield func(i int, f *Found) (more bool, err error)) error {
	if err := c.use(); err != nil {
		return err
	}
	defer c.using.leave()
	b := buffers.Get().(*Buffer)
	defer buffers.Put(b)
	for i, id := range ids {
		if i%1024 == 1023 && ctx.Err() != nil {
			return ended(ctx)
		}
		key := []byte(id)
		f, err := c.set.get(key, b, c.set.now())
		if err == nil {
			err = c.st.mayRead(key)
		}
		if err != nil {
			return err
		}
		if more, err := yield(i, f); !more || err != nil {
			return err
		}
	}
	return nil
}

// get returns the feature of an id, nil: there is none that expires after now, or readers
// do not see it.
func (s *set) get(id []byte, b *Buffer, now time.Duration) (*Found, error) {
	if s.owned.Load().hidesID(id) {
		return nil, nil
	}
	v, _, err := s.m.Get(id, &b.one)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if ok, err := b.found.SetRecord(&v, now); !ok || err != nil {
		return nil, err
	}
	return &b.found, nil
}

// Search calls yield with the features that a query wants, until it returns false. In a
// store of one of several groups, after fault.ErrMoved what was given does
// not count: the store's slots changed meanwhile, or are about to.
// A feature is valid until yield returns, which must be soon: a search that
// waits for most of a second ends with ErrPaused. Nearest is the same.
//
// A feature that exists and matches during all of the search is given exactly once, as
// it was at a moment of the search; none is given that did not exist, or did not match,
// at any moment of it. A search without order that takes more than 0.1 ms may, beside
// many writes, give one twice that is moved meanwhile, or not at all.
func (c *Collection) Search(ctx context.Context, q Query, yield func(*Found) (more bool, err error)) error {
	p, err := c.Prepare(q)
	if err != nil {
		return err
	}
	b := buffers.Get().(*Buffer)
	defer buffers.Put(b)
	b.Budget = 0
	return c.SearchWith(ctx, p, b, yield)
}

// Prepare prepares a query of the collection. Compiled filters are kept.
func (c *Collection) Prepare(q Query) (*Prepared, error) {
	return q.Prepare(c.o.Space, c.st.filters)
}

// soonFilter is the longest filter, in bytes, that is compiled within a millisecond
// whatever it says: the worst take 7 us for each byte.
const soonFilter = 128

// PreparesSoon reports whether a query with this filter is prepared within a
// millisecond, as it is short, or was compiled before.
func (c *Collection) PreparesSoon(filter string) bool {
	return len(filter) <= soonFilter || c.st.filters.Has(filter)
}

// PrepareTo is Prepare into memory that p has: see Prepared.Set.
func (c *Collection) PrepareTo(p *Prepared, q *Query) error {
	return p.Set(q, c.o.Space, c.st.filters)
}

// PrepareNearest is Prepare for the nearest.
func (c *Collection) PrepareNearest(q NearestQuery) (*PreparedNearest, error) {
	return q.Prepare(c.o.Space, c.st.filters)
}

// SearchWith is Search with a query and a buffer that are ready.
func (c *Collection) SearchWith(ctx context.Context, p *Prepared, b *Buffer, yield func(*Found) (more bool, err error)) error {
	if err := c.use(); err != nil {
		return err
	}
	defer c.using.leave()
	reading, err := c.st.readAll()
	if err != nil {
		return err
	}
	b.begin(ctx, c.set, p.Pace, p.Hold)
	b.begun = c.set.now()
	defer b.end()
	return reading.end(c.searchAll(p, b, b.cutting(&p.Fields, yield)))
}

// searchAll chooses the way of a search.
func (c *Collection) searchAll(p *Prepared, b *Buffer, yield func(*Found) (more bool, err error)) error {
	switch {
	case p.Everywhere() && b.Budget > 0:
		return ErrBudget
	case p.Everywhere():
		return c.byID(p, b, yield)
	case p.Order == query.ByID:
		return c.first(p, b, yield)
	}
	return c.set.search(p, b, yield)
}

// byKeys reports whether an ordered answer is found sooner by going through ids in
// their order than by finding all in the area: that takes as long as there are
// features in the area, and this as long as it takes to meet enough of them.
func (s *set) byKeys(p *Prepared, search areaSearch) bool {
	in, all := search.items, s.tree.Len()
	if search.rest != nil {
		in = 0
		for _, box := range search.boxes {
			in += s.tree.Count(box)
		}
	}
	return in > 0 && float64(in)*float64(in) > keyCost*float64(p.Limit)*float64(all)
}

// keyCost is the cost of finding a feature by its id, relative to finding one by area.
const keyCost = 3

// byID goes through ids in their order.
func (c *Collection) byID(p *Prepared, b *Buffer, yield func(*Found) (bool, error)) error {
	from := []byte(p.After)
	if p.After != "" {
		from = append(from, 0) // the next one
	}
	keys, err := c.st.db.Keys(c.num, from)
	if err != nil {
		return err
	}
	defer keys.Close()
	for left := p.Limit; keys.Next(); {
		if err := b.looked(); err != nil {
			return err
		}
		f, err := c.set.get(keys.Key(), b, b.clock())
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		ok, err := b.match(p, f)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		more, err := yield(f)
		if left--; !more || err != nil || left == 0 {
			return err
		}
	}
	return keys.Err()
}

// Count returns the number of features that a query wants, its limit aside.
func (c *Collection) Count(ctx context.Context, q Query) (n int, err error) {
	q.Limit, q.Order, q.After = 0, query.AnyOrder, ""
	err = c.Search(ctx, q, func(*Found) (bool, error) { n++; return true, nil })
	return n, err
}

// Nearest calls yield with the features around a point, the nearest first, until
// it returns false. A feature is valid until yield returns.
func (c *Collection) Nearest(ctx context.Context, q NearestQuery, yield func(*Found) (more bool, err error)) error {
	p, err := c.PrepareNearest(q)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b := buffers.Get().(*Buffer)
	defer buffers.Put(b)
	b.Budget = 0
	return c.NearestWith(ctx, p, b, yield)
}

// NearestWith is Nearest with a query and a buffer that are ready.
func (c *Collection) NearestWith(ctx context.Context, p *PreparedNearest, b *Buffer, yield func(*Found) (more bool, err error)) error {
	if err := c.use(); err != nil {
		return err
	}
	defer c.using.leave()
	reading, err := c.st.readAll()
	if err != nil {
		return err
	}
	b.begin(ctx, c.set, p.Pace, p.Hold)
	b.begun = c.set.now()
	defer b.end()
	return reading.end(c.set.nearestOf(p, b, b.cutting(&p.Fields, yield)))
}
