package store

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/feature/filter"
	"github.com/catfish-index/catfish/record"
	"github.com/catfish-index/catfish/rstar"
)

// The nearest, by distances that the tree does not know
//
// The tree orders boxes by their distance in the plane of coordinates. On the
// sphere that is another order: a degree of longitude shrinks towards the poles,
// and 180 degrees is no border. So a search has two passes:
//
//	(1) features in the tree's order, until k have passed the filter. They need
//	    not be the nearest, but the k nearest are no farther than the farthest
//	    of them: R
//	(2) a search of the circle of radius R, which wraps (feature.NewCircle): the
//	    k nearest are in it
//
// A record is not read if its box alone is farther than the k found so far
// (Origin.LowerBound).

// NearestQuery asks for the features around a point, in the order of their
// distance, then of their ids. At least one of K and Within is needed.
type NearestQuery struct {
	X, Y float64
	K    int // how many; 0: all within
	// Within is the greatest distance, in metres or the unit of a planar space;
	// 0: none.
	Within float64
	Filter string
}

// PreparedNearest is a NearestQuery for a space.
type PreparedNearest struct {
	NearestQuery
	space  feature.Space
	origin feature.Origin
	pass   *Prepared // the filter
}

// MaxNearest is the greatest K.
const MaxNearest = 1 << 16

// Prepare checks and compiles a query.
func (q *NearestQuery) Prepare(s feature.Space) (*PreparedNearest, error) {
	return q.prepare(s, func(expr string) (*filter.Program, error) { return filter.Compile(expr, filter.Options{}) })
}

func (q *NearestQuery) prepare(s feature.Space, compile func(string) (*filter.Program, error)) (*PreparedNearest, error) {
	switch {
	case q.K < 0 || q.K > MaxNearest:
		return nil, fmt.Errorf("%w: k is %d, want 0 to %d", ErrQuery, q.K, MaxNearest)
	case !(q.Within >= 0) || math.IsInf(q.Within, 1):
		return nil, fmt.Errorf("%w: a greatest distance of %v", ErrQuery, q.Within)
	case q.K == 0 && q.Within == 0:
		return nil, fmt.Errorf("%w: neither k nor a greatest distance", ErrQuery)
	}
	o, err := feature.NewOrigin(s, orb.Point{q.X, q.Y})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrQuery, err)
	}
	pass, err := (&Query{Filter: q.Filter}).prepare(s, compile)
	if err != nil {
		return nil, err
	}
	return &PreparedNearest{NearestQuery: *q, space: s, origin: o, pass: pass}, nil
}

// near is a feature with its distance.
type near struct {
	Found
	ref record.Ref
}

func (a *near) compare(b *near) int {
	return cmp.Or(cmp.Compare(a.Distance, b.Distance), slices.Compare(a.ID, b.ID))
}

// nearest are the k nearest so far, as a heap: the farthest first.
type nearest struct {
	q    *PreparedNearest
	k    int // 0: all
	best []near
	refs map[record.Ref]struct{} // in best
}

// reach is how far away a feature may be to be of use.
func (n *nearest) reach() float64 {
	r := math.Inf(1)
	if n.q.Within > 0 {
		r = n.q.Within
	}
	if n.k > 0 && len(n.best) == n.k {
		r = min(r, n.best[0].Distance)
	}
	return r
}

// offer takes a feature if it is nearer than those there are.
func (n *nearest) offer(f *Found, ref record.Ref) {
	c := near{*f, ref}
	full := n.k > 0 && len(n.best) == n.k
	if f.Distance > n.reach() || full && c.compare(&n.best[0]) >= 0 {
		return
	}
	// The bytes are the search's buffer.
	c.Value = slices.Clone(f.Value)
	c.ID = slices.Clone(f.ID)
	c.View, _ = feature.Open(c.Value) // as before
	if full {
		delete(n.refs, n.best[0].ref)
		n.best[0] = c
		n.down()
	} else {
		n.best = append(n.best, c)
		n.up()
	}
	n.refs[ref] = struct{}{}
}

func (n *nearest) up() {
	for i := len(n.best) - 1; i > 0; {
		p := (i - 1) / 2
		if n.best[p].compare(&n.best[i]) >= 0 {
			return
		}
		n.best[p], n.best[i] = n.best[i], n.best[p]
		i = p
	}
}

func (n *nearest) down() {
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

// look decides about an entry of the tree.
func (s *set) look(n *nearest, it rstar.Item, b *Buffer) error {
	if n.q.origin.LowerBound(feature.Box(it.Rect)) > n.reach() {
		return nil
	}
	ref := record.Ref(it.ID)
	if _, ok := n.refs[ref]; ok {
		return nil
	}
	if err := b.spend(); err != nil {
		return err
	}
	f := &b.found
	ok, err := s.read(ref, b, f)
	if !ok || err != nil {
		return err
	}
	if f.Distance = n.q.origin.Distance(&f.View); f.Distance > n.reach() {
		return nil
	}
	if ok, err = n.q.pass.Match(f); ok {
		n.offer(f, ref)
	}
	return err
}

const (
	// browsed is how many entries of the tree are looked at at once.
	browsed = 32
	// circleFirst: a circle of so many entries a feature wanted is searched at
	// once, without the first pass.
	circleFirst = 4
)

// nearestOf calls yield with the nearest features, in order.
func (s *set) nearestOf(q *PreparedNearest, b *Buffer, yield func(*Found) (more bool, err error)) error {
	n := &nearest{q: q, k: q.K, refs: map[record.Ref]struct{}{}}
	done, err := s.around(n, b)
	if err == nil && !done {
		done, err = s.byBoxes(n, b)
	}
	if err == nil && !done {
		err = s.circle(n, n.reach(), b)
	}
	if err != nil {
		return err
	}
	slices.SortFunc(n.best, func(a, b near) int { return a.compare(&b) })
	for i := range n.best {
		if more, err := yield(&n.best[i].Found); !more || err != nil {
			return err
		}
	}
	return nil
}

// around searches the circle of the greatest distance, if that is no work.
func (s *set) around(n *nearest, b *Buffer) (done bool, err error) {
	if n.q.Within == 0 {
		return false, nil
	}
	if n.k > 0 {
		c, err := feature.NewCircle(n.q.space, orb.Point{n.q.X, n.q.Y}, n.q.Within, feature.Intersects)
		if err != nil {
			return false, err
		}
		in := 0
		for _, box := range c.Boxes() {
			some, rest := s.tree.CountSome(rstar.Rect(box), soonNodes)
			if in += some; rest != nil || in > circleFirst*n.k+browsed {
				return false, nil
			}
		}
	}
	return true, s.circle(n, n.q.Within, b)
}

// byBoxes is the first pass. It is done if it has seen all there is.
func (s *set) byBoxes(n *nearest, b *Buffer) (done bool, err error) {
	br := s.tree.Browse(n.q.X, n.q.Y)
	defer br.Close()
	for !done && len(n.best) < n.k {
		var found []rstar.Neighbor
		found, done = br.Next(nil, browsed, soonNodes)
		for _, it := range found {
			s.m.Prefetch(record.Ref(it.ID))
		}
		for _, it := range found {
			if err := s.look(n, it.Item, b); err != nil {
				return false, err
			}
		}
	}
	return done, br.Err()
}

// circle is the second pass.
func (s *set) circle(n *nearest, radius float64, b *Buffer) error {
	c, err := feature.NewCircle(n.q.space, orb.Point{n.q.X, n.q.Y}, radius, feature.Intersects)
	if err != nil {
		return err
	}
	for _, box := range c.Boxes() {
		var rest *rstar.Scan
		b.items, rest = s.tree.SearchSome(b.items[:0], rstar.Rect(box), 0, soonNodes)
		for _, it := range b.items {
			if err := s.look(n, it, b); err != nil {
				return err
			}
		}
		if rest == nil {
			continue
		}
		err := s.rest(n, rest, b)
		rest.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *set) rest(n *nearest, rest *rstar.Scan, b *Buffer) error {
	for done := false; !done; {
		done = rest.Step(stepNodes)
		for items := rest.Take(); items != nil; items = rest.Take() {
			for _, it := range items {
				if err := s.look(n, it, b); err != nil {
					return err
				}
			}
		}
	}
	return rest.Err()
}
