package query

import (
	"bytes"
	"cmp"
	"iter"
	"math"
	"slices"
	"unsafe"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/rstar"
)

// NearestSoFar collects the nearest features that a search meets, in any order. It
// is for one goroutine.
type NearestSoFar struct {
	q     *PreparedNearest
	steps *feature.Steps // of filters and distances; nil: they are not divided
	best  []*near        // a heap, the farthest first, each id once
	// refs are those of best, and of others that were offered: what a record says
	// does not change, and Reach only shrinks, so they need not be looked at again.
	refs  map[record.Ref]struct{}
	ids   map[string]struct{} // of best, if those are many
	held  int64               // bytes of best
	spare []*near             // memory for best
}

const (
	// remembered bounds refs beside those of best: it is what 10 with a filter that
	// passes one in 400 are offered. A filter that passes nothing has all features
	// offered.
	remembered = 4096
	// fewBest are looked through for an id: that takes no longer than a look into a
	// map, which the ids would have to be copied for.
	fewBest = 32
	// Between searches a Buffer keeps memory for fewBest features of up to spareBytes,
	// and for remembered refs, since clearing a map takes time in proportion to its
	// size: 1 us.
	spareBytes = 4 << 10
	spareRefs  = 1024
)

// foundBytes is what a Found takes besides its id and value, with its places in the
// heap and the maps of a nearest.
const foundBytes = int64(unsafe.Sizeof(near{})) + 64

// near is a feature with its distance, in memory of its own.
type near struct {
	Found
	ref record.Ref
	mem []byte // of ID and Value
}

func (a *near) compare(b *near) int {
	return cmp.Or(cmp.Compare(a.Distance, b.Distance), slices.Compare(a.ID, b.ID))
}

// set copies f.
func (a *near) set(f *Found, ref record.Ref) {
	a.mem = append(append(a.mem[:0], f.ID...), f.Value...)
	n := len(f.ID)
	a.Found, a.ref = *f, ref
	a.ID, a.Value = a.mem[:n:n], a.mem[n:]
	a.View, _ = feature.Open(a.Value) // as before
}

// held returns the bytes that it takes.
func (a *near) held() int64 { return int64(cap(a.mem)) + foundBytes }

// Collect begins a search.
func (q *PreparedNearest) Collect() *NearestSoFar {
	n := new(NearestSoFar)
	n.Begin(q, nil)
	return n
}

// Begin begins a search in memory that n has. Filters and distances are divided into
// steps; nil: they are not.
func (n *NearestSoFar) Begin(q *PreparedNearest, steps *feature.Steps) {
	n.q, n.steps = q, steps
	if n.refs == nil {
		n.refs = map[record.Ref]struct{}{}
	}
	if q.K == 0 || q.K > fewBest {
		n.ids = map[string]struct{}{}
	}
}

// End keeps memory for the next search.
func (n *NearestSoFar) End() {
	for _, c := range n.best {
		if len(n.spare) < fewBest && cap(c.mem) <= spareBytes {
			c.Found = Found{}
			n.spare = append(n.spare, c)
		}
	}
	clear(n.best)
	if n.best = n.best[:0]; cap(n.best) > fewBest {
		n.best = nil
	}
	if len(n.refs) > spareRefs {
		n.refs = nil
	}
	clear(n.refs)
	n.q, n.ids, n.held = nil, nil, 0
}

// Query is what is searched for.
func (n *NearestSoFar) Query() *PreparedNearest { return n.q }

// Held returns the bytes that it keeps.
func (n *NearestSoFar) Held() int64 { return n.held }

// Full reports whether there are K.
func (n *NearestSoFar) Full() bool { return n.q.K > 0 && len(n.best) == n.q.K }

// Reach is the greatest useful distance of a feature; +Inf: any distance.
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
	if _, has := n.refs[record.Ref(it.ID)]; has {
		return false
	}
	return !n.q.origin.Beyond(feature.Box(it.Rect), n.Reach())
}

// Circle returns the boxes to search for, to meet all features within a distance.
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
//
// A feature that is written meanwhile may be met before and after, in different
// passes. It takes one place: that of the later state if that is near enough, too.
// So two states of one never take the place of another feature, and what is left
// out was, when it was, farther than K others.
func (n *NearestSoFar) Offer(f *Found, ref record.Ref) error {
	if len(n.refs) < remembered {
		n.refs[ref] = struct{}{}
	}
	// First the filter, which takes less time than the distance of a line or an area.
	if ok, err := n.q.pass.MatchIn(f, n.steps); !ok || err != nil {
		return err
	}
	var err error
	if f.Distance, err = n.q.origin.DistanceIn(&f.View, n.steps); err != nil {
		return err
	}
	if f.Distance > n.Reach() || math.IsInf(f.Distance, 1) {
		return nil
	}
	full, at := n.Full(), n.find(f)
	switch {
	case full && cmp.Or(cmp.Compare(f.Distance, n.best[0].Distance), slices.Compare(f.ID, n.best[0].ID)) >= 0:
		return nil
	case at >= 0 && n.best[at].Revision >= f.Revision:
		return nil
	case at < 0 && full:
		at = 0
	}
	n.refs[ref] = struct{}{}
	if n.ids != nil {
		n.ids[string(f.ID)] = struct{}{}
	}
	if at < 0 {
		c := n.free()
		c.set(f, ref)
		n.held += c.held()
		n.best = append(n.best, c)
		n.up(len(n.best) - 1)
		return nil
	}
	c := n.best[at]
	n.held -= c.held()
	if len(n.refs) > remembered && c.ref != ref {
		delete(n.refs, c.ref)
	}
	if n.ids != nil && !bytes.Equal(c.ID, f.ID) {
		delete(n.ids, string(c.ID))
	}
	c.set(f, ref)
	n.held += c.held()
	n.up(at)
	n.down(at)
	return nil
}

// find returns the place in best of the feature of f's id, -1: there is none.
func (n *NearestSoFar) find(f *Found) int {
	if n.ids != nil {
		if _, has := n.ids[string(f.ID)]; !has {
			return -1
		}
	}
	for i, o := range n.best {
		if bytes.Equal(o.ID, f.ID) {
			return i
		}
	}
	return -1
}

func (n *NearestSoFar) free() *near {
	if last := len(n.spare) - 1; last >= 0 {
		c := n.spare[last]
		n.spare = n.spare[:last]
		return c
	}
	return new(near)
}

// Result yields the features found, the nearest first. It ends the search.
func (n *NearestSoFar) Result() iter.Seq[*Found] {
	slices.SortFunc(n.best, (*near).compare)
	return func(yield func(*Found) bool) {
		for i := range n.best {
			if !yield(&n.best[i].Found) {
				return
			}
		}
	}
}

func (n *NearestSoFar) up(i int) {
	for i > 0 {
		p := (i - 1) / 2
		if n.best[p].compare(n.best[i]) >= 0 {
			return
		}
		n.best[p], n.best[i] = n.best[i], n.best[p]
		i = p
	}
}

func (n *NearestSoFar) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(n.best) {
			return
		}
		if c+1 < len(n.best) && n.best[c+1].compare(n.best[c]) > 0 {
			c++
		}
		if n.best[i].compare(n.best[c]) >= 0 {
			return
		}
		n.best[i], n.best[c] = n.best[c], n.best[i]
		i = c
	}
}
