package web

import (
	"container/heap"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/internal/turns"
	"github.com/catfish-index/catfish/store"
)

// A page of features
//
// What is wanted are the first features by id behind one, and, if it takes no longer than
// countTime, how many there are in all (Query.numberMatched). There are three ways:
//
//	walk      all features in the order of their ids, until the page is full, and from
//	          there on to count as long as there is time: where no area is given
//	ordered   the store gives the first ones of an area in their order. It looks at all
//	          of the area, and counts it, or, if it need not be counted and the area
//	          has much, walks
//	whole     where a filter has more than a query has (filter.go): one search looks at
//	          all of the area, counts, and keeps the smallest ids, a heap of one more
//	          than the page has. Their features are then fetched, and judged again: what
//	          a writer changed in between is not given if it no longer fits
//
// The last two have nothing to give before they have seen all of the area. So when the
// time is over they go on only if they have found less than a page: features that fit are
// rare then, and a walk would meet few. Else a walk meets enough of them in about the
// same time again.

// countTime is how long a search goes on to count what it has no other use for. An answer
// within 0.1 s seems immediate, and this is half of it: some 50,000 features are counted.
const countTime = 50 * time.Millisecond

// errEnough ends a search when its time to count is over.
var errEnough = errors.New("web: counted for long enough")

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
	if !i.exact {
		i.until = q.o.Now().Add(countTime)
	}
	switch {
	case i.query.Area == nil:
		return f, q.walk(c, &i, &f, add)
	case i.rest != nil:
		err = q.searchWhole(c, i, &f, p, add)
	default:
		err = q.searchOrdered(c, i, &f, add)
	}
	if errors.Is(err, errEnough) {
		i.count = false
		err = q.walk(c, &i, &f, add)
	}
	return f, err
}

// late reports whether the time to count is over.
func (q *request) late(i *itemsQuery) bool { return !i.exact && !q.o.Now().Before(i.until) }

// pause is the Pace of a search that ends as soon as enough is true and it is late.
func (q *request) pause(i *itemsQuery, enough func() bool) func() error {
	return func() error {
		if err := q.turns.Pause(); err != nil {
			return err
		}
		if enough() && q.late(i) {
			return errEnough
		}
		return nil
	}
}

// walk goes through the features by their ids.
func (q *request) walk(c api.FeatureCollection, i *itemsQuery, f *found, add func(*store.Found) (bool, error)) error {
	s := searches.Get().(*pageSearch)
	defer s.keep()
	i.query.Order, i.query.Limit, i.query.Count = store.ByID, 0, false
	i.query.Pace = q.pause(i, func() bool { return f.more })
	matched, steps := 0, q.steps()
	through := func(yield func(*store.Found) (bool, error)) error {
		if err := c.PrepareTo(&s.query, &i.query); err != nil {
			return err
		}
		err := q.run1(c, s, func(g *store.Found) (bool, error) {
			if ok, err := i.rest.match(g, steps); !ok || err != nil {
				return err == nil, err
			}
			return yield(g)
		})
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
		i.count = i.count && !q.late(i)
		return i.count, nil
	})
	if after := i.query.After; err == nil && i.count && after != "" {
		i.query.After = "" // What is on the pages before counts, too.
		i.query.Pace = q.pause(i, func() bool { return true })
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

// soon is the Pace of a search that gives nothing before it has seen all: when it is late
// it ends if it has found a page, and otherwise goes on to its end.
func (q *request) soon(i *itemsQuery, found func() bool) func() error {
	decided := false
	return q.pause(i, func() bool {
		if decided {
			return false
		}
		decided = q.late(i)
		return found()
	})
}

func (q *request) searchOrdered(c api.FeatureCollection, i itemsQuery, f *found,
	add func(*store.Found) (bool, error),
) error {
	s := searches.Get().(*pageSearch)
	defer s.keep()
	i.query.Order, i.query.Limit, i.query.Count = store.ByID, i.limit+1, i.count
	if i.count {
		i.query.Pace = q.soon(&i, func() bool { return f.returned == 0 && s.Matched > i.limit })
	}
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
	if i.count && err == nil {
		f.matched = s.Matched
	}
	return err
}

func (q *request) searchWhole(c api.FeatureCollection, i itemsQuery, f *found, pace *turns.Pacer,
	add func(*store.Found) (bool, error),
) error {
	limit, after := i.limit, i.query.After
	i.query.After, i.query.Order = "", store.AnyOrder
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
