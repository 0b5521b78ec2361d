package store

import (
	"fmt"
	"math"

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
	Pace   func() error // as of a Query
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

const (
	// browsed is how many entries of the tree are looked at at once.
	browsed = 32
	// circleFirst: a circle of so many entries a feature wanted is searched at
	// once, without the first pass.
	circleFirst = 4
)

// nearestOf calls yield with the nearest features, in order.
func (s *set) nearestOf(q *PreparedNearest, b *Buffer, yield func(*Found) (more bool, err error)) error {
	n := q.Collect()
	done, err := s.around(n, b)
	if err == nil && !done {
		done, err = s.byBoxes(n, b)
	}
	if err == nil && !done {
		err = s.circle(n, n.Reach(), b)
	}
	if err != nil {
		return err
	}
	for f := range n.Result() {
		if more, err := yield(f); !more || err != nil {
			return err
		}
	}
	return nil
}

// look decides about an entry of the tree.
func (s *set) look(n *NearestSoFar, it rstar.Item, b *Buffer) error {
	if err := b.looked(); err != nil {
		return err
	}
	if !n.Wants(it) {
		return nil
	}
	if err := b.spend(); err != nil {
		return err
	}
	ref := record.Ref(it.ID)
	ok, err := s.read(ref, b, &b.found)
	if ok {
		err = n.Offer(&b.found, ref)
	}
	return err
}

// around searches the circle of the greatest distance, if that is no work.
func (s *set) around(n *NearestSoFar, b *Buffer) (done bool, err error) {
	if n.q.Within == 0 {
		return false, nil
	}
	if n.q.K > 0 {
		boxes, err := n.Circle(n.q.Within)
		if err != nil {
			return false, err
		}
		in := 0
		for _, box := range boxes {
			some, rest := s.tree.CountSome(box, soonNodes)
			if in += some; rest != nil || in > circleFirst*n.q.K+browsed {
				return false, nil
			}
		}
	}
	return true, s.circle(n, n.q.Within, b)
}

// byBoxes is the first pass. It is done if it has seen all there is.
func (s *set) byBoxes(n *NearestSoFar, b *Buffer) (done bool, err error) {
	br := s.tree.Browse(n.q.X, n.q.Y)
	defer br.Close()
	for !done && !n.Full() {
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
func (s *set) circle(n *NearestSoFar, radius float64, b *Buffer) error {
	boxes, err := n.Circle(radius)
	if err != nil {
		return err
	}
	for _, box := range boxes {
		var rest *rstar.Scan
		b.items, rest = s.tree.SearchSome(b.items[:0], box, 0, soonNodes)
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

func (s *set) rest(n *NearestSoFar, rest *rstar.Scan, b *Buffer) error {
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
