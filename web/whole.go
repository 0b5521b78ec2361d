package web

import (
	"container/heap"
	"slices"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/query"
)

// searchWhole searches all of an area, and keeps the ids of the page.
func (q *request) searchWhole(c *store.Collection, i itemsQuery, f *found,
	add func(*store.Found) (bool, error),
) error {
	limit, after := i.limit, i.query.After
	i.query.After, i.query.Order = "", query.AnyOrder
	matched, steps := 0, q.steps()
	i.query.Pace = q.soon(&i, func() bool { return matched > i.limit })
	s := searches.Get().(*pageSearch)
	defer s.keep()
	if err := c.PrepareTo(&s.query, &i.query); err != nil {
		return err
	}
	var ids smallest
	if err := q.run1(c, s, func(g *store.Found) (bool, error) {
		if ok, err := i.rest.match(g, steps); !ok || err != nil {
			return err == nil, err
		}
		matched++
		if after == "" || string(g.ID) > after {
			return true, q.hold(&q.holds.ids, q.holds.ids+ids.offer(g.ID, limit+1))
		}
		return true, nil
	}); err != nil {
		return err
	}
	if i.count {
		f.matched = matched
	}
	f.more = len(ids) > limit
	slices.Sort(ids)
	return q.give(c, s, &i, ids, f, steps, add)
}

// give fetches the features of the first ids, as many as a page has, and judges them
// again: it drops those that a writer has changed so that they no longer match.
func (q *request) give(c *store.Collection, s *pageSearch, i *itemsQuery, ids []string, f *found, steps *feature.Steps,
	add func(*store.Found) (bool, error),
) error {
	ids = slices.Compact(ids) // A feature that was moved may have been found twice.
	ids = ids[:min(len(ids), i.limit)]
	return c.GetMany(q.ctx, ids, func(at int, g *store.Found) (bool, error) {
		if err := q.turns.Tick(); err != nil {
			return false, err
		}
		ok, err := g != nil, error(nil)
		if ok {
			ok, err = s.query.MatchIn(g, steps)
		}
		if ok && err == nil {
			ok, err = i.rest.match(g, steps)
		}
		if !ok || err != nil {
			f.last = append(f.last[:0], ids[at]...) // The next page begins after it, too.
			return err == nil, err
		}
		return f.add(g, add)
	})
}

// smallest is a heap of ids with the largest first.
type smallest []string

func (s smallest) Len() int           { return len(s) }
func (s smallest) Less(i, j int) bool { return s[i] > s[j] }
func (s smallest) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *smallest) Push(x any)        { *s = append(*s, x.(string)) }
func (s *smallest) Pop() any          { x := (*s)[len(*s)-1]; *s = (*s)[:len(*s)-1]; return x }

// idBytes is the memory of an id besides its text.
const idBytes = 16

// offer keeps an id if it is among the most smallest ones, and returns the growth of
// the heap in bytes.
func (s *smallest) offer(id []byte, most int) (bytes int64) {
	switch {
	case len(*s) < most:
		heap.Push(s, string(id))
		return int64(idBytes + len(id))
	case string(id) < (*s)[0]:
		bytes = int64(len(id) - len((*s)[0]))
		(*s)[0] = string(id)
		heap.Fix(s, 0)
	}
	return bytes
}
