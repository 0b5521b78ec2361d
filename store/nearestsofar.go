package store

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/record"
	"github.com/catfish-index/catfish/rstar"
)

// NearestSoFar collects the nearest features that a search meets, in any order. It
// is for one goroutine.
type NearestSoFar struct {
	q    *PreparedNearest
	best []near                  // a heap, the farthest first
	refs map[record.Ref]struct{} // that were offered and wanted
}

// near is a feature with its distance, in memory of its own.
type near struct {
	Found
	ref record.Ref
}

func (a *near) compare(b *near) int {
	return cmp.Or(cmp.Compare(a.Distance, b.Distance), slices.Compare(a.ID, b.ID))
}

// Collect begins a search.
func (q *PreparedNearest) Collect() *NearestSoFar {
	return &NearestSoFar{q: q, refs: map[record.Ref]struct{}{}}
}

// Full reports whether there are K.
func (n *NearestSoFar) Full() bool { return n.q.K > 0 && len(n.best) == n.q.K }

// Reach is how far away a feature may be to be of use; +Inf: any distance.
func (n *NearestSoFar) Reach() float64 {
	r := math.Inf(1)
	if n.q.Within > 0 {
		r = n.q.Within
	}
	if n.Full() {
		r = min(r, n.best[0].Distance)
	}
	return r
}

// Wants reports whether the record that an entry of the tree leads to may be of
// use.
func (n *NearestSoFar) Wants(it rstar.Item) bool {
	_, has := n.refs[record.Ref(it.ID)]
	return !has && n.q.origin.LowerBound(feature.Box(it.Rect)) <= n.Reach()
}

// Circle is what to search for in the tree to meet all features within a distance.
func (n *NearestSoFar) Circle(radius float64) (boxes []rstar.Rect, err error) {
	c, err := feature.NewCircle(n.q.space, orb.Point{n.q.X, n.q.Y}, radius, feature.Intersects)
	if err != nil {
		return nil, err
	}
	for _, b := range c.Boxes() {
		boxes = append(boxes, rstar.Rect(b))
	}
	return boxes, nil
}

// Offer takes a feature, and sets its distance, if it passes the filter and is
// nearer than those there are. Its bytes remain the caller's.
func (n *NearestSoFar) Offer(f *Found, ref record.Ref) error {
	if f.Distance = n.q.origin.Distance(&f.View); f.Distance > n.Reach() || math.IsInf(f.Distance, 1) {
		return nil
	}
	c := near{*f, ref}
	full := n.Full()
	if full && c.compare(&n.best[0]) >= 0 {
		return nil
	}
	if ok, err := n.q.pass.Match(f); !ok || err != nil {
		return err
	}
	c.Found = f.Clone()
	if full {
		delete(n.refs, n.best[0].ref)
		n.best[0] = c
		n.down()
	} else {
		n.best = append(n.best, c)
		n.up()
	}
	n.refs[ref] = struct{}{}
	return nil
}

// Result is what was found, the nearest first. It ends the search. Of a feature that
// was written meanwhile, and met before and after, it has the later state; then
// there may be fewer than K.
func (n *NearestSoFar) Result() iter.Seq[*Found] {
	latest := make(map[string]uint64, len(n.best))
	for i := range n.best {
		id := string(n.best[i].ID)
		latest[id] = max(latest[id], n.best[i].Revision)
	}
	n.best = slices.DeleteFunc(n.best, func(a near) bool { return a.Revision < latest[string(a.ID)] })
	slices.SortFunc(n.best, func(a, b near) int { return a.compare(&b) })
	return func(yield func(*Found) bool) {
		for i := range n.best {
			if !yield(&n.best[i].Found) {
				return
			}
		}
	}
}

func (n *NearestSoFar) up() {
	for i := len(n.best) - 1; i > 0; {
		p := (i - 1) / 2
		if n.best[p].compare(&n.best[i]) >= 0 {
			return
		}
		n.best[p], n.best[i] = n.best[i], n.best[p]
		i = p
	}
}

func (n *NearestSoFar) down() {
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(n.best) {
			return
		}
		if c+1 < len(n.best) && n.best[c+1].compare(&n.best[c]) > 0 {
			c++
		}
		if n.best[i].compare(&n.best[c]) >= 0 {
			return
		}
		n.best[i], n.best[c] = n.best[c], n.best[i]
		i = c
	}
}
