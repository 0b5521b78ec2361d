package rstar

import (
	"math"
	"math/bits"
)

// What a choice computes for all children of an internal node at once: by how
// much each box's margin grows if it takes another box, which children grow
// by no more than a bound, and which intersect a box. All are in units of the
// node's frame, with a bit for each child as in scan.go. growthPlain,
// atMostPlain and meetPlain are the reference; the code that tools/scanasm
// generates does exactly the same arithmetic, so that trees do not depend on
// the processor.

// growths has a place for each half lane of the largest node's groups.
type growths [maxGroups * 2 * lanes]float64

// slotOf returns the child for a bit of masks, or a place in growths.
func slotOf(bit int) int { return bit/16*innerGroup + bit%16 - 2 }

// placeOf is the reverse.
func placeOf(slot int) int { return slot/innerGroup*16 + slot%innerGroup + 2 }

// growthFloor excludes the version's lane.
var growthFloor = [lanes]float64{
	math.Inf(1), math.Inf(1),
	math.Inf(-1), math.Inf(-1), math.Inf(-1), math.Inf(-1), math.Inf(-1), math.Inf(-1),
}

// innerGroups returns the number of groups in use.
func innerGroups(n node) int { return (n.count() + innerGroup - 1) / innerGroup }

// fill computes the growths of n's children, which are twice a difference of
// metric.margin, and returns the least; those of unused entries are infinite.
// r is finite.
func (g *growths) fill(n node, r box32) float64 {
	var rest [lanes]float64
	fillGrowths(&n[0], innerGroups(n), &r, g, &rest)
	return min(rest[0], rest[1], rest[2], rest[3], rest[4], rest[5], rest[6], rest[7])
}

// growthPlain is the reference path: the least growth may be in any element
// of rest.
func growthPlain(n *uint64, groups int, r *box32, g *growths, rest *[lanes]float64) {
	for i := range rest {
		rest[i] = math.Inf(1)
	}
	rx, ry := float64(r.minX), float64(r.minY)
	rw, rh := float64(r.maxX), float64(r.maxY)
	at := func(group *group, w int) float64 { return float64(math.Float32frombits(group.half(w))) }
	for i := range groups {
		group := groupAt(n, i)
		g[i*16], g[i*16+1] = math.Inf(1), math.Inf(1)
		for w := 2; w < 2*lanes; w++ {
			minX, minY := at(group, w), at(group, w+fieldMinY)
			maxX, maxY := at(group, w+fieldMaxX), at(group, w+fieldMaxY)
			was := (maxX - minX) + (maxY - minY)
			will := (max(maxX, rw) - min(minX, rx)) + (max(maxY, rh) - min(minY, ry))
			g[i*16+w] = will - was
			rest[0] = min(rest[0], will-was)
		}
	}
}

// atMost sets m to the children that grow by no more than bound, which is
// finite.
func (m *masks) atMost(g *growths, groups int, bound float64) {
	*m = masks{}
	growthsAtMost(g, groups, bound, m)
}

func atMostPlain(g *growths, groups int, bound float64, m *masks) {
	for i, v := range g[:groups*16] {
		if v <= bound {
			m[i/64] |= 1 << (i % 64)
		}
	}
}

// meet sets m to the children of n whose boxes intersect q.
func (m *masks) meet(n node, q box32) {
	*m = masks{}
	boxesMeet(&n[0], innerGroups(n), &q, m)
}

func meetPlain(n *uint64, groups int, q *box32, m *masks) {
	at := func(group *group, w int) float32 { return math.Float32frombits(group.half(w)) }
	for i := range groups {
		g := groupAt(n, i)
		hits := uint64(0)
		for w := 2; w < 2*lanes; w++ {
			hits |= (le(at(g, w), q.maxX) & le(at(g, w+fieldMinY), q.maxY) &
				le(q.minX, at(g, w+fieldMaxX)) & le(q.minY, at(g, w+fieldMaxY))) << w
		}
		m[i/4] |= hits << (i % 4 * 16)
	}
}

// next removes the lowest bit from m and returns it, or -1.
func (m *masks) next() int {
	for i, b := range m {
		if b != 0 {
			m[i] = b & (b - 1)
			return i*64 + bits.TrailingZeros64(b)
		}
	}
	return -1
}
