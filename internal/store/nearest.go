package store

import (
	"math"

	"github.com/catfish-index/catfish/internal/record"
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
// Features that move meanwhile only make R larger than need be, or are met in both
// passes, and take one place (NearestSoFar.Offer). The second pass is one of the
// tree (rstar's SearchAny), so one that goes over 180 degrees meanwhile is met in it
// once. If there are fewer than k features in all, there is no R: the first pass has
// met all of them if it was one of the tree, too; otherwise everything is searched.
//
// A record is not read if its box alone is farther than the k found so far
// (Origin.Beyond). Those of some entries are asked for before the first is read.

// everywhere intersects all boxes.
var everywhere = rstar.Rect{
	MinX: math.Inf(-1), MinY: math.Inf(-1), MaxX: math.Inf(1), MaxY: math.Inf(1),
}

const (
	// browsed is how many entries of the tree are looked at at once: their records
	// come from memory together.
	browsed = 32
	// usualQueue is what a queue of entries takes for some hundreds of features,
	// which is not counted: a node of 4 KB for each of some 100.
	usualQueue = 512 << 10
	// circleFirst: a circle of at most this many entries per wanted feature is searched
	// at once, without the first pass.
	circleFirst = 4
)

// nearestOf calls yield with the nearest features, in order.
func (s *set) nearestOf(q *PreparedNearest, b *Buffer, yield func(*Found) (more bool, err error)) error {
	n := &b.near
	n.Begin(q, &b.steps)
	defer n.End()
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

// look decides about entries of the tree, some at a time. It changes items.
func (s *set) look(n *NearestSoFar, items []rstar.Item, b *Buffer) error {
	for len(items) > 0 {
		some := items[:min(len(items), browsed)]
		items = items[len(some):]
		wanted := some[:0]
		for _, it := range some {
			if err := b.looked(); err != nil {
				return err
			}
			if n.Wants(it) {
				s.m.Prefetch(record.Ref(it.ID))
				wanted = append(wanted, it)
			}
		}
		for _, it := range wanted {
			if !n.Wants(it) {
				continue // The features before it were nearer, or it is one of those.
			}
			if err := b.timed(); err != nil {
				return err
			}
			if err := s.offer(n, record.Ref(it.ID), b); err != nil {
				return err
			}
		}
	}
	return nil
}

// offer reads a feature and offers it.
func (s *set) offer(n *NearestSoFar, ref record.Ref, b *Buffer) error {
	if err := b.spend(); err != nil {
		return err
	}
	ok, err := s.read(ref, b, &b.found)
	if !ok || err != nil {
		return err
	}
	before := n.Held()
	if err := n.Offer(&b.found, ref); err != nil {
		return b.named(&b.found, err)
	}
	return b.keep(n.Held() - before)
}

// around searches the circle of the greatest distance, if that is no work.
func (s *set) around(n *NearestSoFar, b *Buffer) (done bool, err error) {
	if n.Query().Within == 0 {
		return false, nil
	}
	if n.Query().K > 0 {
		boxes, err := n.Circle(n.Query().Within)
		if err != nil {
			return false, err
		}
		in := 0
		for _, box := range boxes {
			some, rest := s.tree.CountSome(box, soonNodes)
			if in += some; rest != nil || in > circleFirst*n.Query().K+browsed {
				return false, nil
			}
		}
	}
	return true, s.circle(n, n.Query().Within, b)
}

// byBoxes is the first pass. It is done if it has seen all there is, at one moment.
func (s *set) byBoxes(n *NearestSoFar, b *Buffer) (done bool, err error) {
	br := s.tree.Browse(n.Query().X, n.Query().Y)
	held := int64(0) // by the queue of entries, which has some memory in any case
	defer func() {
		br.Close()
		b.drop(held)
	}()
	for !done && !n.Full() {
		b.neighbors, done = br.Next(b.neighbors[:0], browsed, soonNodes)
		b.items = b.items[:0]
		for _, it := range b.neighbors {
			b.items = append(b.items, it.Item)
		}
		now := max(0, int64(br.Held())-usualQueue)
		if err := b.keep(now - held); err != nil {
			return false, err
		}
		held = now
		if err := s.look(n, b.items, b); err != nil {
			return false, err
		}
	}
	return done && br.Parts() == 1, br.Err()
}

// circle is the second pass.
func (s *set) circle(n *NearestSoFar, radius float64, b *Buffer) (err error) {
	boxes := []rstar.Rect{everywhere}
	if !math.IsInf(radius, 1) {
		if boxes, err = n.Circle(radius); err != nil {
			return err
		}
	}
	var rest *rstar.Scan
	b.items, rest = s.tree.SearchAny(b.items[:0], boxes, 0, soonNodes)
	if rest != nil {
		defer rest.Close()
	}
	items := int64(len(b.items)) * itemBytes
	if err := b.keep(items); err != nil {
		return err
	}
	defer b.drop(items)
	take := func(items []rstar.Item) (bool, error) { return true, s.look(n, items, b) }
	if _, err := take(b.items); rest == nil || err != nil {
		return err
	}
	return s.rest(rest, b, take)
}
