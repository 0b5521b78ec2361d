package rstar

import "math"

// bounds is the least minima and the greatest maxima of an internal node's
// children, for each lane, in half words. Unused entries are empty boxes and
// change nothing; lane 0 is arbitrary.
type bounds [4 * lanes]uint64

// mbr returns the MBR of the entries. The node does not change meanwhile.
func (n node) mbr() Rect {
	c := n.count()
	if c == 0 {
		return emptyRect
	}
	var b bounds
	if n.inner() {
		innerBounds(&n[0], (c+innerGroup-1)/innerGroup, &b)
		h := node(b[:]).half()
		m := emptyBox32
		for w := 2; w < 2*lanes; w++ {
			m = m.union(box32{
				math.Float32frombits(h[w]), math.Float32frombits(h[w+fieldMinY]),
				math.Float32frombits(h[w+fieldMaxX]), math.Float32frombits(h[w+fieldMaxY]),
			})
		}
		return n.frame().decode(m)
	}
	return leafBounds(&n[0], n.groups(), c)
}

// innerBoundsPlain is the reference path for internal nodes.
func innerBoundsPlain(n *uint64, groups int, b *bounds) {
	*b = bounds(groupAt(n, 0)[:4*lanes])
	at, bits := math.Float32frombits, math.Float32bits
	h := node(b[:]).half()
	for i := 1; i < groups; i++ {
		g := node(groupAt(n, i)[:]).half()
		for w := range 4 * lanes {
			h[w] = bits(min(at(h[w]), at(g[w])))
			h[w+fieldMaxX] = bits(max(at(h[w+fieldMaxX]), at(g[w+fieldMaxX])))
		}
	}
}
