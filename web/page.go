package web

import (
	"container/heap"
	"context"
	"slices"
	"sync"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/internal/turns"
	"github.com/catfish-index/catfish/store"
)

// A page of features
//
// What is wanted are the first features by id behind one, and how many there are
// in all. There are two ways:
//
//	not counted, or        the store gives the first ones in their order; in an area
//	in an area, or         it has to look at all of them anyway, and counts them
//	no condition
//	counted everywhere,    one search looks at all that the condition could mean,
//	or more than a query   counts, and keeps the smallest ids: a heap of one more than
//	has (filter.go)        the page has. Their features are then fetched, and judged
//	                       again: what a writer changed in between is not given if it
//	                       no longer fits
//
// So a request that counts costs one search, not two, and the second way holds ids, not
// features.

// pageBytes is how much the features of a page take at most, whatever its limit, but for
// one that is larger: 10,000 places of 800 bytes.
const pageBytes = 8 << 20

// found is what a search gave.
type found struct {
	matched  int    // in all; -1: not counted
	returned int    // on this page
	more     bool   // there is more behind it
	last     []byte // the id behind which the next begins
}

// add adds a feature to the page, if there is room. The first always has.
func (f *found) add(g *store.Found, add func(*store.Found) (bool, error)) (added bool, err error) {
	if added, err = add(g); err != nil || !added {
		f.more = true
		return false, err
	}
	f.returned++
	f.last = append(f.last[:0], g.ID...)
	return true, nil
}

// pageSearch is what a search needs.
type pageSearch struct {
	store.Buffer
	query store.Prepared
}

// searches that are over.
var searches = sync.Pool{New: func() any { return new(pageSearch) }}

// keep leaves memory to the next search, but none of the request's.
func (s *pageSearch) keep() {
	s.query.Forget()
	searches.Put(s)
}

// search calls add with the features of a page, until it returns false: then the
// page is full without that feature.
func (q *request) search(c api.FeatureCollection, i itemsQuery,
	add func(*store.Found) (added bool, err error),
) (f found, err error) {
	q.turns = turns.Pacer{Of: q.host, Ctx: q.ctx, Source: q.source}
	p := &q.turns
	defer p.End()
	i.query.Pace = p.Pause
	i.query.Hold = func(bytes int64) error { return q.hold(&q.holds.search, bytes) }
	f.matched = -1
	if i.count && i.query.Area == nil && i.query.Filter == "" && i.rest == nil {
		f.matched, i.count = c.Len(), false
	}
	if i.rest != nil || i.count && i.query.Area == nil {
		err = q.searchCounting(c, i, &f, p, add)
	} else {
		i.query.Order, i.query.Limit, i.query.Count = store.ByID, i.limit+1, i.count
		err = q.searchOrdered(c, &i, &f, add)
	}
	return f, err
}

func (q *request) searchOrdered(c api.FeatureCollection, i *itemsQuery, f *found,
	add func(*store.Found) (bool, error),
) error {
	s := searches.Get().(*pageSearch)
	defer s.keep()
	if err := c.PrepareTo(&s.query, &i.query); err != nil {
		return err
	}
	err := q.run1(c, s, func(g *store.Found) (bool, error) {
		if f.returned == i.limit {
			f.more = true
			return false, nil
		}
		return f.add(g, add)
	})
	if i.count {
		f.matched = s.Matched
	}
	return err
}

func (q *request) searchCounting(c api.FeatureCollection, i itemsQuery, f *found, pace *turns.Pacer,
	add func(*store.Found) (bool, error),
) error {
	limit, after := i.limit, i.query.After
	i.query.After, i.query.Order = "", store.AnyOrder
	s := searches.Get().(*pageSearch)
	defer s.keep()
	if err := c.PrepareTo(&s.query, &i.query); err != nil {
		return err
	}
	matched, steps := 0, q.steps()
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
	f.more = len(ids) == limit+1
	slices.Sort(ids)
	ids = slices.Compact(ids) // One that was moved may have been found twice.
	if len(ids) > limit {
		ids = ids[:limit]
	}
	return c.GetMany(q.ctx, ids, func(at int, g *store.Found) (bool, error) {
		if err := pace.Tick(); err != nil {
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
			f.last = append(f.last[:0], ids[at]...) // The next page begins behind it, too.
			return err == nil, err
		}
		return f.add(g, add)
	})
}

// run1 carries out one search.
func (q *request) run1(c api.FeatureCollection, s *pageSearch, yield func(*store.Found) (bool, error)) error {
	if q.timeout > 0 && q.o.Now().Sub(q.begun) >= q.timeout {
		return &timeoutError{q.timeout} // The timer comes later if all processors are busy.
	}
	if err := context.Cause(q.ctx); err != nil {
		return err
	}
	return c.SearchWith(q.ctx, &s.query, &s.Buffer, yield)
}

// smallest is a heap of ids with the largest first.
type smallest []string

func (s smallest) Len() int           { return len(s) }
func (s smallest) Less(i, j int) bool { return s[i] > s[j] }
func (s smallest) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *smallest) Push(x any)        { *s = append(*s, x.(string)) }
func (s *smallest) Pop() any          { x := (*s)[len(*s)-1]; *s = (*s)[:len(*s)-1]; return x }

// idBytes is what an id takes besides its text.
const idBytes = 16

// offer keeps an id if it is among the most smallest ones, and returns how many
// bytes more are kept then.
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
