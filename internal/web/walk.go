package web

import (
	"errors"

	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/whole"
)

// walk searches the features in the order of their ids.
func (q *request) walk(c whole.Collection, i itemsQuery, f *found, add func(*store.Found) (bool, error)) error {
	s := searches.Get().(*pageSearch)
	defer s.keep()
	i.query.Pace = q.pause(&i, func() bool { return f.more })
	matched := 0
	through := func(yield func(*store.Found) (bool, error)) error {
		err := q.through(c, s, &i, yield)
		if errors.Is(err, errEnough) {
			i.count, err = false, nil
		}
		return err
	}
	err := through(func(g *store.Found) (bool, error) {
		matched++
		if f.more {
			return true, nil
		}
		if f.returned < i.limit {
			if added, err := f.add(g, add); added || err != nil {
				return added, err
			}
		}
		f.more = true
		i.count = i.count && !q.pastCountTime(&i)
		return i.count, nil
	})
	if after := i.query.After; err == nil && i.count && after != "" {
		i.query.After = "" // Features of earlier pages are counted, too.
		i.query.Pace = q.pause(&i, func() bool { return true })
		err = through(func(g *store.Found) (bool, error) {
			before := string(g.ID) <= after
			if before {
				matched++
			}
			return before, nil
		})
	}
	if i.count {
		f.matched = matched
	}
	return err
}

// through calls yield with the matching features, in the order of ids.
func (q *request) through(c whole.Collection, s *pageSearch, i *itemsQuery, yield func(*store.Found) (bool, error)) error {
	i.query.Order, i.query.Limit, i.query.Count = query.ByID, 0, false
	if err := c.PrepareTo(&s.query, &i.query); err != nil {
		return err
	}
	return q.run1(c, s, yield)
}

// idBytes is the memory of an id besides its text.
const idBytes = 16

// walkArea finds a page of an area by a walk, and does not count. errEnough: it found
// too few features in time, and returned none.
func (q *request) walkArea(c whole.Collection, i itemsQuery, f *found, add func(*store.Found) (bool, error)) error {
	s := searches.Get().(*pageSearch)
	defer s.keep()
	i.until = q.o.Now().Add(countTime)
	i.query.Pace = q.pause(&i, func() bool { return true })
	var ids []string
	if err := q.through(c, s, &i, func(g *store.Found) (bool, error) {
		ids = append(ids, string(g.ID))
		return len(ids) <= i.limit, q.hold(&q.holds.ids, q.holds.ids+int64(idBytes+len(g.ID)))
	}); err != nil {
		return err
	}
	f.more = len(ids) > i.limit
	return q.give(c, s, &i, ids, f, add)
}

// give fetches the features of the first ids, as many as a page has, and judges them
// again: it drops those that a writer has changed so that they no longer match.
func (q *request) give(c whole.Collection, s *pageSearch, i *itemsQuery, ids []string, f *found,
	add func(*store.Found) (bool, error),
) error {
	steps := q.steps()
	ids = ids[:min(len(ids), i.limit)]
	return c.GetMany(q.ctx, ids, func(at int, g *store.Found) (bool, error) {
		if err := q.turns.Tick(); err != nil {
			return false, err
		}
		ok, err := g != nil, error(nil)
		if ok {
			ok, err = s.query.MatchIn(g, steps)
		}
		if !ok || err != nil {
			f.last = append(f.last[:0], ids[at]...) // The next page begins after it, too.
			return err == nil, err
		}
		return f.add(g, add)
	})
}
