package web

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/whole"
)

// A page of features
//
// A page has the first features by id after a given one and, if counting takes no longer
// than countTime, the number of all matching features (numberMatched). Two paths:
//
//	walk      if no area is given: all features in the order of their ids, until the
//	          page is full, and then on to count them, while there is time
//	ordered   in an area: the store returns the first features in order. It looks at
//	          all of the area, and counts it, or, if no count is needed and the area
//	          has many features, walks
//
// The last returns nothing before it has seen all of the area. If it has found more than
// a page when the time limit passes, a walk is tried that keeps the ids of a
// page: it meets them soon, unless ids correlate with places. If it does not within the
// same time again, the search runs to its end. So no page takes more than twice countTime
// longer than one search of all.

// countTime is how long a search continues only in order to count. An answer within 0.1 s
// seems immediate, and this is half of it: some 50,000 features are counted.
const countTime = 50 * time.Millisecond

// errEnough ends a search when its time limit for counting has passed.
var errEnough = errors.New("web: counted for long enough")

// pageBytes bounds the features of a page, whatever its limit, except for a single
// larger one: 10,000 places of 800 bytes.
const pageBytes = 8 << 20

// found is the result of a search.
type found struct {
	matched  int    // in all; -1: not counted
	returned int    // on this page
	more     bool   // there are more after this page
	last     []byte // the next page begins after this id
}

// add adds a feature to the page if there is room. The first feature always fits.
func (f *found) add(g *store.Found, add func(*store.Found) (bool, error)) (added bool, err error) {
	if added, err = add(g); err != nil || !added {
		f.more = true
		return false, err
	}
	f.returned++
	f.last = append(f.last[:0], g.ID...)
	return true, nil
}

// pageSearch is the reusable memory of a search.
type pageSearch struct {
	store.Buffer
	query store.Prepared
}

// searches pools the memory of finished searches.
var searches = sync.Pool{New: func() any { return new(pageSearch) }}

// keep returns the memory to the pool, without references to the request.
func (s *pageSearch) keep() {
	s.query.Forget()
	searches.Put(s)
}

// search calls add with the features of a page, until it returns false: then the page
// is full without that feature.
func (q *request) search(c whole.Collection, i itemsQuery,
	add func(*store.Found) (added bool, err error),
) (f found, err error) {
	q.turns = limits.Pacer{Of: q.host, Ctx: q.ctx, Source: q.source}
	defer q.turns.End()
	i.query.Pace = q.turns.Pause
	i.query.Hold = func(bytes int64) error { return q.hold(&q.holds.search, bytes) }
	f.matched = -1
	if i.count && i.query.Area == nil && i.query.Filter == "" && i.query.Where == nil {
		if f.matched, err = c.Len(q.ctx); err != nil {
			return f, err
		}
		i.count = false
	}
	if c.Several() {
		err = q.searchGroups(c, i, &f, add)
		return f, err
	}
	if !i.exact {
		i.until = q.o.Now().Add(countTime)
	}
	if i.query.Area == nil {
		err = q.walk(c, i, &f, add)
		return f, err
	}
	if err = q.searchOrdered(c, i, &f, add); errors.Is(err, errEnough) {
		_ = q.hold(&q.holds.ids, 0) // Releasing memory never fails.
		err = q.walkArea(c, i, &f, add)
	}
	if errors.Is(err, errEnough) {
		_ = q.hold(&q.holds.ids, 0)
		i.exact = true
		err = q.searchOrdered(c, i, &f, add)
	}
	return f, err
}

// pastCountTime reports whether the time limit for counting has passed.
func (q *request) pastCountTime(i *itemsQuery) bool { return !i.exact && !q.o.Now().Before(i.until) }

// pause is the Pace of a search that ends once enough is true and countTime has passed.
func (q *request) pause(i *itemsQuery, enough func() bool) func() error {
	return func() error {
		if err := q.turns.Pause(); err != nil {
			return err
		}
		if enough() && q.pastCountTime(i) {
			return errEnough
		}
		return nil
	}
}

// soon is the Pace of a search that returns nothing before it has seen all: at the time
// limit it ends if it has found a page, and otherwise continues to its end.
func (q *request) soon(i *itemsQuery, found func() bool) func() error {
	decided := false
	return q.pause(i, func() bool {
		if decided {
			return false
		}
		decided = q.pastCountTime(i)
		return found()
	})
}

func (q *request) searchOrdered(c whole.Collection, i itemsQuery, f *found,
	add func(*store.Found) (bool, error),
) error {
	s := searches.Get().(*pageSearch)
	defer s.keep()
	i.query.Order, i.query.Limit, i.query.Count = query.ByID, i.limit+1, i.count
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

// run1 runs one search.
func (q *request) run1(c whole.Collection, s *pageSearch, yield func(*store.Found) (bool, error)) error {
	if q.timeout > 0 && q.o.Now().Sub(q.begun) >= q.timeout {
		return &timeoutError{q.timeout} // The timer is late if all processors are busy.
	}
	if err := context.Cause(q.ctx); err != nil {
		return err
	}
	return c.SearchWith(q.ctx, &s.query, &s.Buffer, yield)
}
