package rstar

import (
	"math"
	"slices"
)

// Searches for several rectangles
//
// An area may need more than one rectangle: one that lies on both sides of 180 degrees
// lies at both ends of the plane. One search for each would be several passes, each
// with its own move counter, and an object that Update carries from one rectangle to
// another meanwhile could be met by both, or by none. So one pass has a cell and boxes,
// and meets every object that intersects the cell and at least one of the boxes:
//
//	cell   +-----------------------------------+   the rectangle around all
//	       |  +-------+            +--------+  |   boxes, or a part of that
//	       |  | box 1 |            | box 2  |  |   (steps.go)
//	       |  +-------+            +--------+  |
//	       +-----------------------------------+
//
// All that publish.go argues about a pass holds for this one: it visits each node
// of a path whose boxes cover an object of the answer. For the rectangle of the
// object intersects the cell and some box i, and every box of the path contains
// that rectangle. An object that intersects several boxes has one entry in one
// leaf, so it is met once.
//
// The argument about cells in steps.go holds, too. An object of the answer intersects
// the rectangle around all boxes and so belongs to one cell. It intersects that cell,
// and some box, which need not intersect the cell: therefore a pass compares nodes with
// the cell and with whole boxes, not with the intersections of the two.

// SearchAny is SearchSome for several rectangles: it finds each object that
// intersects at least one of them, once. One that Update moves meanwhile from one
// to another is found once, too, as within one rectangle (Scan). qs must not change
// while rest is in use.
func (t *Tree) SearchAny(dst []Item, qs []Rect, limit, nodes int) (items []Item, rest *Scan) {
	if len(qs) == 1 {
		return t.SearchSome(dst, qs[0], limit, nodes)
	}
	around, boxes := aroundAll(qs)
	if len(boxes) == 0 {
		return dst, nil
	}
	items, _, rest = t.searchSome(dst, around, boxes, limit, nodes)
	return items, rest
}

// aroundAll is the rectangle around those qs without a NaN, which may intersect
// something.
func aroundAll(qs []Rect) (around Rect, boxes []Rect) {
	around, boxes = emptyRect, qs
	if slices.ContainsFunc(qs, isNaN) {
		boxes = slices.DeleteFunc(slices.Clone(qs), isNaN)
	}
	for _, q := range boxes {
		around = around.Union(q)
	}
	return around, boxes
}

// isNaN reports whether a coordinate is NaN: then nothing intersects r.
func isNaN(r Rect) bool {
	return math.IsNaN(r.MinX) || math.IsNaN(r.MinY) || math.IsNaN(r.MaxX) || math.IsNaN(r.MaxY)
}

// intersectsAny reports whether r intersects one of qs.
func (r *Rect) intersectsAny(qs []Rect) bool {
	for i := range qs {
		if r.Intersects(qs[i]) {
			return true
		}
	}
	return false
}

// onlyAny removes from items, from mark on, those that intersect none of qs.
func onlyAny(items []Item, mark int, qs []Rect) []Item {
	n := mark
	for i := mark; i < len(items); i++ {
		if items[i].Rect.intersectsAny(qs) {
			items[n] = items[i]
			n++
		}
	}
	return items[:n]
}

// onlyAny removes those children of the internal node at n that intersect none of
// qs.
func (m *masks) onlyAny(n *uint64, count int, qs []Rect) {
	var all, one masks
	for i := range qs {
		one.scanInner(n, count, &qs[i])
		for w := range all {
			all[w] |= one[w]
		}
	}
	for w := range m {
		m[w] &= all[w]
	}
}
