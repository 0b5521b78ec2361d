package rstar

import (
	"cmp"
	"slices"
)

// splitScratch is memory for distribute: MBRs of the first and of the
// last i+1 entries.
type splitScratch struct {
	head, tail [maxFanout + 1]Rect
}

// order is one of the four sort orders of the paper's section 4.2.
type order int

const (
	byMinX order = iota
	byMaxX
	byMinY
	byMaxY
)

// quality of a distribution, most important first.
type quality struct {
	overlap, area, margin float64
	skew                  int // distance from halves: for equal boxes
	order                 order
	k                     int // entries of the first group
}

func (q *quality) better(r *quality) bool {
	switch {
	case q.overlap != r.overlap:
		return q.overlap < r.overlap
	case q.area != r.area:
		return q.area < r.area
	case q.margin != r.margin:
		return q.margin < r.margin
	}
	return q.skew < r.skew
}

// distribute sorts es, one more than fit, and returns k: the first k
// entries are one group, the others the second, neither of fewer than
// least (Split, section 4.2). The
// axis is the one whose distributions have the least sum of margins; on
// it the distribution of least overlap, then area is taken.
func (x *tx) distribute(es []entry, least int) int {
	world := emptyRect
	for i := range es {
		world = world.Union(es[i].rect)
	}
	m := metricFor(world)
	bestX, sumX := x.bestOf(m, es, least, byMinX, byMaxX)
	best, sumY := x.bestOf(m, es, least, byMinY, byMaxY)
	sorted := byMaxY
	if sumX <= sumY {
		best = bestX
	}
	if sorted != best.order {
		sortEntries(es, best.order)
	}
	return best.k
}

// bestOf returns the best distribution of one axis, and the sum of the
// margins of all.
func (x *tx) bestOf(m metric, es []entry, least int, orders ...order) (best quality, sum float64) {
	head, tail := &x.split.head, &x.split.tail
	last := len(es) - 1
	for i, o := range orders {
		sortEntries(es, o)
		head[0], tail[last] = es[0].rect, es[last].rect
		for j := 1; j <= last; j++ {
			head[j] = head[j-1].Union(es[j].rect)
			tail[last-j] = tail[last-j+1].Union(es[last-j].rect)
		}
		for k := least; k <= len(es)-least; k++ {
			a, b := head[k-1], tail[k]
			q := quality{
				overlap: m.overlap(a, b),
				area:    m.area(a) + m.area(b),
				margin:  m.margin(a) + m.margin(b),
				skew:    max(k, len(es)-k) - len(es)/2,
				order:   o, k: k,
			}
			sum += q.margin
			if i == 0 && k == least || q.better(&best) {
				best = q
			}
		}
	}
	return best, sum
}

// sortEntries sorts by one border, then the opposite one, then ids.
func sortEntries(es []entry, o order) {
	slices.SortFunc(es, func(a, b entry) int {
		var c int
		switch o {
		case byMinX:
			c = cmp2(a.rect.MinX, b.rect.MinX, a.rect.MaxX, b.rect.MaxX)
		case byMaxX:
			c = cmp2(a.rect.MaxX, b.rect.MaxX, a.rect.MinX, b.rect.MinX)
		case byMinY:
			c = cmp2(a.rect.MinY, b.rect.MinY, a.rect.MaxY, b.rect.MaxY)
		default:
			c = cmp2(a.rect.MaxY, b.rect.MaxY, a.rect.MinY, b.rect.MinY)
		}
		if c != 0 {
			return c
		}
		return compareIDs(&a, &b)
	})
}

// cmp2 compares a with b, then c with d.
func cmp2(a, b, c, d float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case c < d:
		return -1
	case c > d:
		return 1
	}
	return 0
}

// compareIDs orders entries by their least id.
func compareIDs(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.ref, b.ref))
}
