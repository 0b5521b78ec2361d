package rstar

import "math"

// Where an entry goes. Both strategies prefer, among the children that
// already cover it, the one of least area; they differ when no child covers
// it (original.go, revised.go). Where the papers leave ties, margins break
// them (boxes without area, such as points on a line, would all tie), and
// after margins ids: like keys of a B-tree, ids distinguish equal rectangles.
// Of equally good children, the one whose id bounds contain the new id, or
// come nearest to it, is chosen, and splits sort ties by id. So even among
// many objects on one point a delete finds its leaf by the id bounds.
//
// Everything is computed in units of the node's frame, as the boxes are
// stored, so that no scale of the coordinates makes products overflow or
// vanish: they are float32, and float64 has room for their squares.

// unit is the metric for boxes in units of a frame.
var unit = metric{1}

// pickScratch is memory for a choice.
type pickScratch struct {
	boxes   [maxFanout]Rect // the children's or candidates', in units of the frame
	cands   [maxFanout]candidate
	growths growths         // revised.go
	tried   [maxFanout]bool // revised.go

	// The box to which the leaf's parent encoded the object, if it had to.
	box   box32
	known bool
}

// candidate is a child and what it would cost to choose it. The most
// important cost comes first.
type candidate struct {
	overlap float64 // enlargement of its overlap with its siblings
	area    float64 // enlargement
	margin  float64 // enlargement
	size    float64 // area before
	girth   float64 // margin before
	slot    int
}

// compare orders candidates by cost; 0 is a tie, which ids must break.
func (c *candidate) compare(d *candidate) int {
	switch {
	case c.overlap != d.overlap:
		return sign(c.overlap < d.overlap)
	case c.area != d.area:
		return sign(c.area < d.area)
	case c.margin != d.margin:
		return sign(c.margin < d.margin)
	case c.size != d.size:
		return sign(c.size < d.size)
	case c.girth != d.girth:
		return sign(c.girth < d.girth)
	}
	return 0
}

func sign(less bool) int {
	if less {
		return -1
	}
	return 1
}

// choose puts into p the path from the root to the node at level that is to
// take e (ChooseSubtree).
func (x *tx) choose(p *path, e *entry, level int) {
	x.pick.known = false
	p.n = 0
	p.push(x.root, -1)
	in := inside(e.rect)
	chunk := x.root
	for l := x.height - 1; l > level; l-- {
		n := x.node(chunk)
		slot := x.pickChild(n, e, &in, l)
		chunk = uint32(n.ref(slot))
		if l == 1 {
			x.t.prefetch(chunk, x.t.nodeLines) // all its lines will get a new version
		}
		p.push(chunk, slot)
	}
}

// inside returns the query that finds the entries of an internal node that
// cover r, and perhaps some that fall short by a rounding error. An entry
// covers r if its minima are at most those of r and its maxima at least
// those: the comparisons of a scan, with the borders exchanged.
func inside(r Rect) Rect { return Rect{r.MaxX, r.MaxY, r.MinX, r.MinY} }

// pickChild returns the entry of n, a node at a level above 0, that e is to
// go to; in is the query that inside returns for its rectangle.
func (x *tx) pickChild(n node, e *entry, in *Rect, level int) int {
	var m masks
	m.scanInner(&n[0], n.count(), in)
	if bit := m.next(); bit >= 0 {
		if m == (masks{}) {
			return slotOf(bit)
		}
		return x.leastCovering(n, e, bit, &m)
	}
	b, ok := n.frame().encode(e.rect) // infinite where it is out of reach
	if level == 1 {
		x.pick.box, x.pick.known = b, ok
	}
	b = b.finite()
	if x.t.opts.Strategy.original() {
		boxes := x.pick.boxes[:n.count()]
		for i := range boxes {
			boxes[i] = n.box(i).rect()
		}
		return x.pickOriginal(n, e, boxes, b.rect(), level == 1)
	}
	return x.pickRevised(n, e, b)
}

// leastCovering returns the smallest of the children that cover e: the one at
// bit and those in the mask m.
func (x *tx) leastCovering(n node, e *entry, bit int, m *masks) int {
	var best candidate
	const unknown = math.MaxUint64
	away := uint64(unknown) // distance of e's id from best's bounds, once needed
	for first := true; bit >= 0; bit, first = m.next(), false {
		c := candidate{slot: slotOf(bit)}
		r := n.box(c.slot).rect()
		c.size, c.girth = unit.area(r), unit.margin(r)
		switch order := c.compare(&best); {
		case first || order < 0:
			best, away = c, unknown
		case order == 0:
			if away == unknown {
				away = x.idDistance(uint32(n.ref(best.slot)), e.lo)
			}
			if d := x.idDistance(uint32(n.ref(c.slot)), e.lo); d < away {
				best, away = c, d
			}
		}
	}
	return best.slot
}

// better reports whether a is cheaper than b, by ids if they tie.
func (x *tx) better(n node, e *entry, a, b *candidate) bool {
	if c := a.compare(b); c != 0 {
		return c < 0
	}
	return x.idDistance(uint32(n.ref(a.slot)), e.lo) < x.idDistance(uint32(n.ref(b.slot)), e.lo)
}

// rect converts b to float64, in units of its frame.
func (b box32) rect() Rect {
	return Rect{float64(b.minX), float64(b.minY), float64(b.maxX), float64(b.maxY)}
}

// finite makes the borders of an entry beyond the frame finite: differences
// of infinite ones would be NaN.
func (b box32) finite() box32 {
	clamp := func(v float32) float32 { return min(max(v, -math.MaxFloat32), math.MaxFloat32) }
	return box32{clamp(b.minX), clamp(b.minY), clamp(b.maxX), clamp(b.maxY)}
}
