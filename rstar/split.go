package rstar

import (
	"math"
	"slices"
)

// How an overfull node is split. Both strategies sort the entries by each
// border of each axis and consider every cut that leaves both sides at least
// the minimum fill; they differ in how they judge a cut.
//
//	original  the axis whose cuts have the least sum of margins, there
//	          the cut of least overlap, then area (section 4.2 of 1990)
//	revised   leaves: that axis; internal nodes: both axes. There the
//	          cut of least weight: of cuts without overlap the one of
//	          least margins, else of least overlap, either one weighted by
//	          its distance from where it should be (section 4.2 of 2009)
//
// Where it should be: a node that has grown to one side since it was made will continue
// to do so, and is cut near the other side, so that the part that grows has room. The
// center of the node at its creation is the point of its frame.

// splitScratch is memory for a split.
type splitScratch struct {
	sweeps [4]sweep // by order
	sort   sortScratch
	gauss  gauss
	sorted []entry
}

// sweep is an order of the entries and the properties of its cuts.
type sweep struct {
	perm       [maxFanout + 1]uint8 // the entries in the order
	head, tail [maxFanout + 1]corners
	cuts       [maxFanout + 1]cut
}

// order is one of the four sort orders of both papers.
type order int

const (
	byMinX order = iota
	byMaxX
	byMinY
	byMaxY
)

// cut describes the distribution into the first k entries of an order and the others.
type cut struct {
	overlap, area, margin float64
	skew                  int // distance from the middle, for equal boxes
	order                 order
	k                     int
}

// distribute orders es, one more than fit into n, and returns the cut: its
// first k entries are one group, the others the second, neither with fewer
// than least. n is the node that overflows. If all cuts have margins above
// most, it may give up, and returns nil.
func (x *tx) distribute(n node, es []entry, least int, most float64) *cut {
	s := &x.split
	world := s.sort.begin(es, &s.sweeps[0])
	m := metricFor(world)
	var margins [2]float64 // by axis
	var mins [4]float64
	for o := range order(4) {
		w := &s.sweeps[o]
		s.sort.by(es, o, &w.perm)
		w.run(&s.sort.corners, len(es))
		var sum float64
		sum, mins[o] = w.measure(m, len(es), least)
		margins[o/2] += sum
	}
	axis := order(0)
	if margins[1] < margins[0] {
		axis = 1
	}
	from, to := 2*axis, 2*axis+2
	if n.inner() && x.t.opts.Strategy == Revised {
		from, to = byMinX, byMaxY+1
	}
	if slices.Min(mins[from:to]) > most {
		return nil
	}
	apart := false // some cut has no overlap
	for o := from; o < to; o++ {
		apart = s.sweeps[o].judge(m, o, len(es), least) || apart
	}
	var best *cut
	if x.t.opts.Strategy.original() {
		best = x.bestOriginal(from, to, len(es), least)
	} else {
		best = x.bestRevised(m, n, world, from, to, apart, len(es), least)
	}
	s.sorted = s.sorted[:0]
	for _, i := range s.sweeps[best.order].perm[:len(es)] {
		s.sorted = append(s.sorted, es[i])
	}
	copy(es, s.sorted)
	return best
}

// run fills in the MBRs of the first and of the last entries.
func (w *sweep) run(cs *[maxFanout + 1]corners, n int) {
	sweepCorners(cs, &w.perm, n, &w.head, &w.tail)
}

// sides returns the MBRs of the two groups of a cut.
func (w *sweep) sides(k int) (a, b Rect) { return w.head[k-1].rect(), w.tail[k].rect() }

// measure fills in the margins of the cuts and returns their sum and the
// least.
func (w *sweep) measure(m metric, entries, least int) (sum, lowest float64) {
	lowest = math.Inf(1)
	for k := least; k <= entries-least; k++ {
		margin := m.marginOf(&w.head[k-1]) + m.marginOf(&w.tail[k])
		w.cuts[k].margin = margin
		sum += margin
		if margin < lowest {
			lowest = margin
		}
	}
	return sum, lowest
}

// judge fills in the other properties of the cuts and reports whether one is
// without overlap.
func (w *sweep) judge(m metric, o order, entries, least int) (apart bool) {
	for k := least; k <= entries-least; k++ {
		a, b := w.sides(k)
		c := &w.cuts[k]
		c.order, c.k, c.skew = o, k, max(k, entries-k)-entries/2
		c.overlap, c.area = 0, m.area(a)+m.area(b)
		r, ok := intersection(a, b)
		if !ok {
			apart = true
			continue
		}
		if c.overlap = m.area(r); c.overlap == 0 && c.area == 0 {
			// Without area, overlap is measured by margin.
			c.overlap = m.margin(r)
		}
		apart = apart || c.overlap == 0
	}
	return apart
}

// bestOriginal returns the best cut of an axis according to the paper of
// 1990.
func (x *tx) bestOriginal(from, to order, entries, least int) *cut {
	var best *cut
	for o := from; o < to; o++ {
		for k := least; k <= entries-least; k++ {
			if c := &x.split.sweeps[o].cuts[k]; best == nil || c.better(best) {
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

// bestRevised returns the best cut according to the paper of 2009: of the
// axis for a leaf, of both for an internal node.
func (x *tx) bestRevised(m metric, n node, world Rect, from, to order, apart bool, entries, least int) *cut {
	w, h := m.halfWidths(world)
	most := 2*(w+h) - min(w, h) // margins of a cut are hardly ever more
	g := &x.split.gauss
	g.set(n, world, entries, least)
	var best *cut
	least2 := math.Inf(1)
	for o := from; o < to; o++ {
		for k := least; k <= entries-least; k++ {
			c := &x.split.sweeps[o].cuts[k]
			// Weights are at most 1, so a cost is at least the unweighted
			// cost.
			cost := c.overlap
			if apart {
				if c.overlap > 0 {
					continue
				}
				// Not above 0, so that a greater weight is better here, too.
				cost = min(c.margin-most, 0)
			}
			if cost > least2 {
				continue
			}
			if weight := g.at(o/2, k); apart {
				cost *= weight
			} else {
				cost /= weight
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
	weights     [2][maxFanout + 1]float64 // those computed, else 0
}

const (
	gaussS = 0.5
	// gaussLeast is exp(-1/s^2), the value of a Gaussian without asymmetry at
	// the ends.
	gaussLeast = 0.018315638888734179
	// weightLeast keeps weights positive where the mean is far away.
	weightLeast = 1e-3
)

// set prepares for the cuts of entries with MBR world that n is to hold.
func (g *gauss) set(n node, world Rect, entries, least int) {
	g.entries = float64(entries)
	clear(g.weights[0][:entries])
	clear(g.weights[1][:entries])
	madeX, madeY := n.made()
	reach := 1 - 2*float64(least)/float64(entries)
	for axis, c := range [2][3]float64{
		{centerX(world), madeX, world.MaxX/2 - world.MinX/2},
		{centerY(world), madeY, world.MaxY/2 - world.MinY/2},
	} {
		// How far the center has moved since, in half extents.
		asymmetry := 0.0
		if c[2] > 0 && !math.IsNaN(c[1]) {
			asymmetry = min(max((c[0]/2-c[1]/2)/c[2]*2, -1), 1)
		}
		g.mean[axis] = reach * asymmetry
		g.sigma[axis] = gaussS * (1 + math.Abs(g.mean[axis]))
	}
}

// at returns the weight of a cut after k entries.
func (g *gauss) at(axis order, k int) float64 {
	if w := g.weights[axis][k]; w != 0 {
		return w
	}
	x := 2*float64(k)/g.entries - 1
	d := (x - g.mean[axis]) / g.sigma[axis]
	w := max((math.Exp(-d*d)-gaussLeast)/(1-gaussLeast), weightLeast)
	g.weights[axis][k] = w
	return w
}
