package rstar

import "math"

// bounds is the least minima and the greatest maxima of a node's entries,
// for each lane: eight of a leaf, sixteen of an internal node in half
// words. Unused entries are empty boxes and change nothing; lane 0 holds
// rubbish.
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
				math.Float32frombits(h[w]), math.Float32frombits(h[w+2*fieldMinY]),
				math.Float32frombits(h[w+2*fieldMaxX]), math.Float32frombits(h[w+2*fieldMaxY]),
			})
		}
		return n.frame().decode(m)
	}
	leafBounds(&n[0], (c+leafGroup-1)/leafGroup, &b)
	r := emptyRect
	for w := 1; w < lanes; w++ {
		r = r.Union(Rect{
			math.Float64frombits(b[w]), math.Float64frombits(b[w+fieldMinY]),
			math.Float64frombits(b[w+fieldMaxX]), math.Float64frombits(b[w+fieldMaxY]),
		})
	}
	return r
}

// leafBoundsPlain is the reference path for leaves.
func leafBoundsPlain(n *uint64, groups int, b *bounds) {
	*b = bounds(groupAt(n, 0)[:4*lanes])
	at := math.Float64frombits
	for i := 1; i < groups; i++ {
		g := groupAt(n, i)
		for w := range 2 * lanes {
			b[w] = math.Float64bits(min(at(b[w]), at(g[w])))
			b[w+fieldMaxX] = math.Float64bits(max(at(b[w+fieldMaxX]), at(g[w+fieldMaxX])))
		}
	}
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
			h[w+2*fieldMaxX] = bits(max(at(h[w+2*fieldMaxX]), at(g[w+2*fieldMaxX])))
		}
	}
}
