package store

import (
	"context"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/rstar"
)

// Searches made together
//
// A search of one feature waits for memory some six times: once for each level of the
// tree, and for the record. Searches of a batch are independent, so they wait together:
//
//	tree     all boxes at once (rstar.Tree.SearchManySome)
//	records  of all entries found are prefetched
//	decide   search by search, as SearchWith does (set.decide)
//
// Each keeps the promises of SearchWith; together they are no snapshot.
//
// Only simple searches take part: a box that is one rectangle of the tree, and
// nothing else but a limit. One that crosses 180 degrees, or ends there, is two
// rectangles, which only one pass for both may search (rstar/any.go); a filter may
// take long; an order, a cursor or a polygon needs what SearchWith has. A search
// that finds more than a batch may look at, or fails, is left as well: SearchWith
// answers it, and is the reference for all others.

// Batch is what searches that are made together need, for one goroutine at a time.
// The zero value is ready.
type Batch struct {
	b     Buffer
	areas []feature.Query
	rects []rstar.Rect
	items []rstar.Item
	ends  []int // where in items those of each search end
	most  int
	usual int // entries that a search of the last batch found
	of    *set
	take  func(query int, r rstar.Rect, id uint64) bool
}

// batchNodes bounds the nodes that the searches of a batch visit together. As their
// waits for memory overlap, those take 0.1 to 0.2 ms.
const batchNodes = 4096

// SearchTogether makes the first of some searches together, and returns how many are
// answered. The next one is to be made by SearchWith: it is not simple, takes long,
// or fails. If it is not the first, it may only have found no room in this batch.
//
// It calls yield with the features that the searches find, in their order, valid until
// it returns. If yield returns false that search is not answered, and ends the batch.
// The caller drops the results of that search. Together they look at up to most
// features, and for 0.4 ms (Buffer.Budget), in the middle of a large geometry, too.
func (c *Collection) SearchTogether(ctx context.Context, qs []BoxSearch, most int, t *Batch,
	yield func(query int, f *Found) bool) (answered int) {
	if c.use() != nil {
		return 0
	}
	defer c.using.leave()
	reading, err := c.st.readAll()
	if err != nil {
		return 0
	}
	n := t.find(c.set, qs, most)
	t.b.begin(ctx, c.set, nil, nil)
	t.b.endSoon()
	defer t.b.end()
	p, at := Prepared{}, 0
	for i := range n {
		items := t.items[at:t.ends[i]]
		at = t.ends[i]
		p.SetArea(&t.areas[i])
		left := qs[i].Limit
		clear(t.b.seen)
		for _, it := range items {
			ok, err := c.set.decide(&p, it, &t.b)
			if err != nil || ok && !yield(i, &t.b.found) {
				return i
			}
			if ok {
				if left--; left == 0 {
					break
				}
			}
		}
		if reading.end(nil) != nil {
			return i
		}
	}
	return n
}

// find finds the entries of the first searches, and prefetches their records. It
// returns the number of these searches.
func (t *Batch) find(s *set, qs []BoxSearch, most int) int {
	t.rects = t.rects[:0]
	// The batch has no room for the results of more searches.
	qs = qs[:min(len(qs), max(1, most/(1+t.usual)))]
	if len(t.areas) < len(qs) {
		t.areas = make([]feature.Query, len(qs))
	}
	for i := range qs {
		q, a := &qs[i], &t.areas[i]
		err := a.SetBox(s.space, q.Box[0], q.Box[1], q.Box[2], q.Box[3], q.Relation)
		if err != nil || q.Relation >= feature.Contains || q.Limit < 0 || len(a.Boxes()) != 1 {
			break
		}
		t.rects = append(t.rects, rstar.Rect(a.Boxes()[0]))
	}
	if len(t.rects) == 0 {
		return 0
	}
	if t.take == nil {
		t.take = t.found // once, since a method value allocates
	}
	t.items, t.ends, t.most, t.of = t.items[:0], t.ends[:0], most, s
	n, rest := s.tree.SearchManySome(t.rects, batchNodes, t.take)
	if rest != nil {
		rest.Close()
	}
	t.endUpTo(n)
	t.usual = len(t.items) / max(1, n)
	t.of = nil
	return n
}

// found receives the tree's entries, in the order of the searches.
func (t *Batch) found(query int, r rstar.Rect, id uint64) bool {
	t.endUpTo(query)
	if len(t.items) >= t.most {
		return false
	}
	t.of.m.Prefetch(record.Ref(id))
	t.items = append(t.items, rstar.Item{Rect: r, ID: id})
	return true
}

func (t *Batch) endUpTo(n int) {
	for len(t.ends) < n {
		t.ends = append(t.ends, len(t.items))
	}
}
