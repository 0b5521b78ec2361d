package rstar

import (
	"math"
	"slices"
)

// What the revised strategy does between siblings: an overfull leaf shares
// with a neighbour before it splits, and a node with too few entries is
// merged into one (delete.go). Neither is in the papers.
//
// Splits alone leave leaves ln 2 full, 69 %. The original R*-tree gets some
// 72 % by reinsertion, and pays for it with half of its insertion rate.
// Redistributing an overfull leaf and a neighbour, with the rules for a
// split, gives a part of that at little cost, where the two can be cut
// differently without growing: on streets more than on uniform data. Allowing
// margins to grow by a twentieth would fill leaves to 71 % everywhere, at the
// cost of a tenth more leaf reads (docs/decisions/revised.md).

const (
	// shiftFillPercent is how full a neighbour may be. Fuller ones give
	// little room for many changed bytes.
	shiftFillPercent = 75
	// shiftArea is how much larger than their areas together the box of both
	// may be: if it is larger, they do not lie side by side.
	shiftArea = 1.5
)

// shift shares es, one more than fit into the leaf at depth d of p, between
// it and its nearest sibling, if that has room and neither margins nor
// overlap grow. Otherwise it changes nothing.
func (x *tx) shift(p *path, d int, es []entry) bool {
	n, parent := x.node(p.step[d].chunk), x.node(p.step[d-1].chunk)
	x.siblings(parent, p.step[d].slot)
	to := x.nearest(parent, n.minID())
	if to < 0 {
		return false
	}
	sibling := x.node(uint32(parent.ref(to)))
	a, b := parent.box(p.step[d].slot).rect(), parent.box(to).rect()
	if sibling.count()*100 > shiftFillPercent*x.t.fan(0) ||
		unit.area(a.Union(b)) > shiftArea*(unit.area(a)+unit.area(b)) {
		return false
	}
	both := len(es) + sibling.count()
	x.shared = slices.Grow(x.shared[:0], both)[:both]
	all := x.shared
	x.take(all[copy(all, es):], sibling)
	a, b = mbrOf(es), sibling.mbr()
	m := metricFor(a.Union(b))
	margin, overlap := m.margin(a)+m.margin(b), m.overlap(a, b)
	c := x.distribute(n, all, max(x.t.least(0), len(all)-x.t.fan(0)), margin)
	if c == nil || c.margin > margin || m.overlap(x.split.sweeps[c.order].sides(c.k)) > overlap {
		return false
	}
	k := c.k
	n, sibling = x.edit(n.chunk()), x.edit(sibling.chunk())
	n.fill(all[:k])
	sibling.fill(all[k:])
	x.fit(p, d)
	x.fitSlot(p, d-1, to)
	parent = x.edit(parent.chunk())
	parent.widen(n.minID(), n.maxID())
	parent.widen(sibling.minID(), sibling.maxID())
	x.tighten(p, d-1)
	return true
}

// siblings computes how much the margins of the other children of a node grow
// if they take the whole child at slot, for nearest.
func (x *tx) siblings(parent node, slot int) {
	x.pick.growths.fill(parent, parent.box(slot))
	x.pick.growths[placeOf(slot)] = math.Inf(1)
}

// nearest returns the slot of the sibling that grows least and has not yet
// been returned, or -1; id breaks ties.
func (x *tx) nearest(parent node, id uint64) int {
	g, groups := &x.pick.growths, innerGroups(parent)
	least := math.Inf(1)
	for _, v := range g[:groups*2*lanes] {
		if v < least {
			least = v
		}
	}
	if math.IsInf(least, 1) {
		return -1
	}
	var m masks
	m.atMost(g, groups, least)
	e := entry{lo: id}
	best := x.bestOf(parent, &e, &m)
	g[placeOf(best.slot)] = math.Inf(1)
	return best.slot
}

// mergeTries bounds the siblings that merge considers: if the nearest ones
// are full, reinsertion finds better places than a distant sibling.
const mergeTries = 3

// merge moves all entries of the node at depth d of p, which has too few, to
// the nearest sibling with room. It costs a tenth of inserting them again one
// by one, and moves entries of as few nodes as possible. If no near sibling
// has room, it changes nothing.
func (x *tx) merge(p *path, d int) bool {
	n, parent := x.node(p.step[d].chunk), x.node(p.step[d-1].chunk)
	x.siblings(parent, p.step[d].slot)
	for range mergeTries {
		to := x.nearest(parent, n.minID())
		if to < 0 {
			return false
		}
		if s := x.node(uint32(parent.ref(to))); s.count()+n.count() <= x.t.fan(s.level()) {
			x.mergeInto(p, d, to)
			return true
		}
	}
	return false
}

// mergeInto does what merge decided: to is the sibling's slot.
func (x *tx) mergeInto(p *path, d, to int) {
	chunk, slot := p.step[d].chunk, p.step[d].slot
	parent := x.edit(p.step[d-1].chunk)
	sibling := x.edit(uint32(parent.ref(to)))
	n := x.node(chunk)
	for i := range n.count() {
		e := x.entryAt(n, i)
		x.adopt(sibling, &e)
	}
	x.release(chunk)
	if parent.remove(slot); to == parent.count() {
		to = slot // the last entry took the place
	}
	x.fitSlot(p, d-1, to)
}
