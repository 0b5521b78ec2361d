package rstar

import (
	"math"
	"slices"
)

// How a Scan divides a cell (steps.go).
//
// A cut in the middle would be useless where all objects lie at one end, and an
// infinite query has no middle. So the cut is the median of the tree's boxes in the
// cell: of the boxes of nodes, on the highest level that has a few of them there.

const (
	// boxesToCut is the number of boxes that is enough to find a median. Fewer nodes
	// are read for them, under the writer's lock, each with up to 84 children.
	boxesToCut = 16
	// enoughToCut is about the number of them that are sorted: sorting all would take
	// as long as a step.
	enoughToCut = 128
)

// divide replaces the cell by two, if that is of use. The caller holds the writer's
// lock, and its search of the cell has not ended within most nodes.
func (c *Scan) divide(most uint64) {
	a, b, ok := c.cell, c.cell, false
	if c.mayCut(most) {
		a, b, ok = halve(c.cell, c.t.boxesIn(c.cell, c.s.boxes))
	}
	if !ok {
		c.whole = true
		return
	}
	c.cuts++
	c.todo = append(c.todo, b)
	c.search(a)
}

// mayCut reports whether, after so few cuts, cells may still be too large. If cells
// could be cut in even halves until they take one step, each would take more than half
// a step, and there were 2 * nodes / most. Twice that number is allowed, as halves are
// not even; where objects overlap to such a degree that cutting is useless, there would
// be cells without end.
func (c *Scan) mayCut(most uint64) bool {
	nodes := uint64(0)
	for i := range c.t.nodes {
		nodes += uint64(c.t.nodes[i].Load())
	}
	const few = 16 // for trees of a few steps
	return uint64(c.cuts) < few+4*nodes/most
}

// boxesIn returns the parts of some boxes, or of objects, that lie in cell, of those
// that intersect one of some if that is not nil.
// The caller holds the writer's lock.
func (t *Tree) boxesIn(cell Rect, some []Rect) (boxes []Rect) {
	finite := Rect{-math.MaxFloat64, -math.MaxFloat64, math.MaxFloat64, math.MaxFloat64}
	cell, ok := intersection(cell, finite)
	if !ok {
		return nil
	}
	nodes := []uint32{t.tx.committed.root}
	for level := t.tx.committed.height - 1; ; level-- {
		boxes = boxes[:0]
		var next []uint32
		for _, chunk := range nodes {
			n := t.at(chunk)
			for i := range n.count() {
				whole := n.rect(i)
				if some != nil && !whole.intersectsAny(some) {
					continue
				}
				if r, ok := intersection(whole, cell); ok {
					boxes = append(boxes, r)
					next = append(next, uint32(n.ref(i)))
				}
			}
		}
		if level == 0 || len(boxes) == 0 || len(boxes) >= boxesToCut {
			return boxes
		}
		nodes = next
	}
}

// halve cuts a cell where it is longer, as far as there are boxes. ok is
// false if it cannot be cut so that there are some on both sides.
func halve(cell Rect, boxes []Rect) (a, b Rect, ok bool) {
	u := emptyRect
	for _, r := range boxes {
		u = u.Union(r)
	}
	a, b = cell, cell
	x, okX := median(boxes, u.MinX, u.MaxX, centerX)
	y, okY := median(boxes, u.MinY, u.MaxY, centerY)
	if okX && (!okY || u.MaxX/2-u.MinX/2 >= u.MaxY/2-u.MinY/2) {
		a.MaxX, b.MinX = math.Nextafter(x, math.Inf(-1)), x
		return a, b, true
	}
	if okY {
		a.MaxY, b.MinY = math.Nextafter(y, math.Inf(-1)), y
	}
	return a, b, okY
}

// median returns the median of the centers, which is made to be more than lo
// and at most hi.
func median(boxes []Rect, lo, hi float64, center func(Rect) float64) (m float64, ok bool) {
	if !(lo < hi) {
		return 0, false
	}
	every := 1 + len(boxes)/enoughToCut
	var at []float64
	for i := 0; i < len(boxes); i += every {
		at = append(at, center(boxes[i]))
	}
	slices.Sort(at)
	return max(math.Nextafter(lo, hi), min(at[len(at)/2], hi)), true
}
