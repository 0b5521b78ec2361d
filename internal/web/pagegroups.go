package web

import (
	"context"

	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/whole"
)

// searchGroups finds a page of a collection of several groups: the first of each group's first
// features. The groups count the others, for countTime.
func (q *request) searchGroups(c whole.Collection, i itemsQuery, f *found, add func(*store.Found) (bool, error)) error {
	s := searches.Get().(*pageSearch)
	defer s.keep()
	i.query.Order, i.query.Limit = query.ByID, i.limit+1
	if err := c.PrepareTo(&s.query, &i.query); err != nil {
		return err
	}
	if err := q.run1(c, s, func(g *store.Found) (bool, error) {
		if f.returned == i.limit {
			f.more = true
			return false, nil
		}
		return f.add(g, add)
	}); err != nil || !i.count {
		return err
	}
	ctx := q.ctx
	if !i.exact {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, countTime)
		defer cancel()
	}
	n, err := c.Count(ctx, i.query)
	switch {
	case err == nil:
		f.matched = n
	case ctx.Err() != nil && q.ctx.Err() == nil: // It takes longer.
		return nil
	}
	return err
}
