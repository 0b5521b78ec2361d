package rstar

import (
	"cmp"
	"math"
	"slices"
)

// How an overfull node is split. Both strategies sort the entries by each
// border of each axis and look at every cut that leaves both sides least
// entries; they differ in how they judge a cut.
//
//	original  the axis whose cuts have the least sum of margins, there
//	          the cut of least overlap, then area (section 4.2 of 1990)
//	revised   leaves: that axis; internal nodes: both axes. There the
//	          cut of least weight: of cuts without overlap the one of
//	          least margins, else of least overlap, either one weighed by
//	          how far it is from where it should be (section 4.2 of 2009)
//
// Where it should be: a node that grew to one side since it was made will
// go on to, and is cut near the other side, so that the part that grows has
// room. The center it had when it was made is the point of its frame.

// splitScratch is memory for a split.
type splitScratch struct {
	head, tail [maxFanout + 1]Rect // MBRs of the first, of the last entries
	keys       [maxFanout + 1]uint64
	perm       [4][maxFanout + 1]uint8 // entries in each order
	cuts       [4][maxFanout + 1]cut
	sorted     []entry
}

// order is one of the four sort orders of both papers.
type order int

const (
	byMinX order = iota
	byMaxX
	byMinY
	byMaxY
)

// cut is what is known of the distribution into the first k entries of an
// order and the others.
type cut struct {
	overlap, area, margin float64
	skew                  int // distance from halves: for equal boxes
	order                 order
	k                     int
}

// distribute orders es, one more than fit into n, and returns k: the first
// k entries are one group, the others the second, neither of fewer than
// least. n is the node that overflows.
func (x *tx) distribute(n node, es []entry, least int) int {
	world := emptyRect
	for i := range es {
		world = world.Union(es[i].rect)
	}
	m := metricFor(world)
	var margins [2]float64
	for o := range order(4) {
		x.sortBy(es, o)
		margins[o/2] += x.measure(m, es, o, least)
	}
	axis := order(0)
	if margins[1] < margins[0] {
		axis = 1
	}
	var best *cut
	if x.t.opts.Strategy == Original {
		best = x.bestOriginal(axis, len(es), least)
	} else {
		best = x.bestRevised(m, n, world, axis, len(es), least)
	}
	s := &x.split
	s.sorted = s.sorted[:0]
	for _, i := range s.perm[best.order][:len(es)] {
		s.sorted = append(s.sorted, es[i])
	}
	copy(es, s.sorted)
	return best.k
}

// measure fills in the cuts of an order and returns their sum of margins.
func (x *tx) measure(m metric, es []entry, o order, least int) (sum float64) {
	s := &x.split
	perm := s.perm[o][:len(es)]
	last := len(es) - 1
	s.head[0], s.tail[last] = es[perm[0]].rect, es[perm[last]].rect
	for j := 1; j <= last; j++ {
		s.head[j] = s.head[j-1].Union(es[perm[j]].rect)
		s.tail[last-j] = s.tail[last-j+1].Union(es[perm[last-j]].rect)
	}
	for k := least; k <= len(es)-least; k++ {
		a, b := s.head[k-1], s.tail[k]
		c := &s.cuts[o][k]
		*c = cut{
			overlap: m.overlap(a, b),
			area:    m.area(a) + m.area(b),
			margin:  m.margin(a) + m.margin(b),
			skew:    max(k, len(es)-k) - len(es)/2,
			order:   o, k: k,
		}
		if c.overlap == 0 && c.area == 0 {
			// Without area, overlap is told by margin.
			if r, ok := intersection(a, b); ok {
				c.overlap = m.margin(r)
			}
		}
		sum += c.margin
	}
	return sum
}

// bestOriginal returns the best cut of an axis by the paper of 1990.
func (x *tx) bestOriginal(axis order, entries, least int) *cut {
	var best *cut
	for o := 2 * axis; o < 2*axis+2; o++ {
		for k := least; k <= entries-least; k++ {
			if c := &x.split.cuts[o][k]; best == nil || c.better(best) {
				best = c
			}
		}
	}
	return best
}

func (c *cut) better(d *cut) bool {
	switch {
	case c.overlap != d.overlap:
		return c.overlap < d.overlap
	case c.area != d.area:
		return c.area < d.area
	case c.margin != d.margin:
		return c.margin < d.margin
	}
	return c.skew < d.skew
}

// bestRevised returns the best cut by the paper of 2009: of the axis for a
// leaf, of both for an internal node.
func (x *tx) bestRevised(m metric, n node, world Rect, axis order, entries, least int) *cut {
	from, to := 2*axis, 2*axis+2
	if n.inner() {
		from, to = byMinX, byMaxY+1
	}
	apart := false // some cut has no overlap
	for o := from; o < to; o++ {
		for k := least; k <= entries-least; k++ {
			apart = apart || x.split.cuts[o][k].overlap == 0
		}
	}
	w, h := m.halfWidths(world)
	most := 2*(w+h) - min(w, h) // margins of a cut are hardly ever more
	g := newGauss(n.frame(), world, entries, least)
	var best *cut
	least2 := math.Inf(1)
	for o := from; o < to; o++ {
		for k := least; k <= entries-least; k++ {
			c := &x.split.cuts[o][k]
			weight := g.at(o/2, k)
			cost := c.overlap / weight
			if apart {
				if c.overlap > 0 {
					continue
				}
				// Not above 0, so that more weight is better, too.
				cost = min(c.margin-most, 0) * weight
			}
			if best == nil || cost < least2 || cost == least2 && c.skew < best.skew {
				best, least2 = c, cost
			}
		}
	}
	return best
}

// gauss weighs cuts: 1 where a cut should be, less elsewhere, at the ends
// little above 0 (section 4.2 of 2009, with its s = 0.5).
type gauss struct {
	mean, sigma [2]float64 // by axis
	entries     float64
}

const (
	gaussS = 0.5
	// gaussLeast is exp(-1/s^2), what a Gaussian without asymmetry has at
	// the ends.
	gaussLeast = 0.018315638888734179
	// weightLeast keeps weights positive where the mean is far off.
	weightLeast = 1e-3
)

func newGauss(f frame, world Rect, entries, least int) gauss {
	g := gauss{entries: float64(entries)}
	madeX, madeY := f.center()
	reach := 1 - 2*float64(least)/float64(entries)
	for axis, c := range [2][3]float64{
		{centerX(world), madeX, world.MaxX/2 - world.MinX/2},
		{centerY(world), madeY, world.MaxY/2 - world.MinY/2},
	} {
		// How far the center moved since, in half extents.
		asymmetry := 0.0
		if c[2] > 0 && f.s > 0 {
			asymmetry = min(max((c[0]/2-c[1]/2)/c[2]*2, -1), 1)
		}
		g.mean[axis] = reach * asymmetry
		g.sigma[axis] = gaussS * (1 + math.Abs(g.mean[axis]))
	}
	return g
}

// at returns the weight of a cut after k entries.
func (g *gauss) at(axis order, k int) float64 {
	x := 2*float64(k)/g.entries - 1
	d := (x - g.mean[axis]) / g.sigma[axis]
	return max((math.Exp(-d*d)-gaussLeast)/(1-gaussLeast), weightLeast)
}

// sortBy puts the order of es by one border, then the opposite one, then
// ids into the scratch's perm.
func (x *tx) sortBy(es []entry, o order) {
	s := &x.split
	keys, perm := s.keys[:len(es)], s.perm[o][:len(es)]
	// The key without its last 8 bits, which hold the place, sorts fast;
	// if that leaves two out of order or tied, all is done again.
	for i := range es {
		keys[i] = orderedBits(borderOf(&es[i].rect, o))&^0xFF | uint64(i)
	}
	slices.Sort(keys)
	exact := true
	for i, k := range keys {
		perm[i] = uint8(k)
		exact = exact && (i == 0 || borderOf(&es[perm[i-1]].rect, o) < borderOf(&es[perm[i]].rect, o))
	}
	if exact {
		return
	}
	slices.SortFunc(perm, func(a, b uint8) int {
		p, q := &es[a], &es[b]
		return cmp.Or(
			cmp.Compare(borderOf(&p.rect, o), borderOf(&q.rect, o)),
			cmp.Compare(borderOf(&p.rect, o^1), borderOf(&q.rect, o^1)),
			compareIDs(p, q))
	})
}

// borderOf returns the border that an order sorts by; o^1 is the opposite
// one's.
func borderOf(r *Rect, o order) float64 {
	switch o {
	case byMinX:
		return r.MinX
	case byMaxX:
		return r.MaxX
	case byMinY:
		return r.MinY
	}
	return r.MaxY
}

// compareIDs orders entries by their least id.
func compareIDs(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.ref, b.ref))
}
