package web

import (
	"errors"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/query"
)

// walk searches the features in the order of their ids.
func (q *request) walk(c *store.Collection, i itemsQuery, f *found, add func(*store.Found) (bool, error)) error {
	s := searches.Get().(*pageSearch)
	defer s.keep()
	i.query.Pace = q.pause(&i, func() bool { return f.more })
	matched, steps := 0, q.steps()
	through := func(yield func(*store.Found) (bool, error)) error {
		err := q.through(c, s, &i, steps, yield)
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
func (q *request) through(c *store.Collection, s *pageSearch, i *itemsQuery, steps *feature.Steps, yield func(*store.Found) (bool, error)) error {
	i.query.Order, i.query.Limit, i.query.Count = query.ByID, 0, false
	if err := c.PrepareTo(&s.query, &i.query); err != nil {
		return err
	}
	return q.run1(c, s, func(g *store.Found) (bool, error) {
		if ok, err := i.rest.match(g, steps); !ok || err != nil {
			return err == nil, err
		}
		return yield(g)
	})
}

// walkArea finds a page of an area by a walk, and does not count. errEnough: it found
// too few features in time, and returned none.
func (q *request) walkArea(c *store.Collection, i itemsQuery, f *found, add func(*store.Found) (bool, error)) error {
	s := searches.Get().(*pageSearch)
	defer s.keep()
	i.until = q.o.Now().Add(countTime)
	i.query.Pace = q.pause(&i, func() bool { return true })
	steps := q.steps()
	var ids []string
	if err := q.through(c, s, &i, steps, func(g *store.Found) (bool, error) {
		ids = append(ids, string(g.ID))
		return len(ids) <= i.limit, q.hold(&q.holds.ids, q.holds.ids+int64(idBytes+len(g.ID)))
	}); err != nil {
		return err
	}
	f.more = len(ids) > i.limit
	return q.give(c, s, &i, ids, f, steps, add)
}
