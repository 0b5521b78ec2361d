package rstar

// What the revised strategy does between siblings: an overfull leaf shares
// with a neighbour before it splits, and a node with too few entries goes
// up in one (delete.go). Neither is in the papers.
//
// Splits alone leave leaves ln 2 full, 69 %. The original R*-tree gets some
// 72 % out of reinsertion, and pays for it with half of its insertions.
// Cutting an overfull leaf and a neighbour anew, with the rules for a split,
// gives a part of that for little, where the two can be cut otherwise without
// growing: on streets more than on uniform data. Margins that may grow by a
// twentieth would fill leaves to 71 % everywhere, for a tenth more leaf reads
// (docs/decisions/revised.md).

const (
	// shiftFillPercent is how full a neighbour may be. Fuller ones give
	// little room for much writing.
	shiftFillPercent = 75
	// shiftArea is how much larger the box of both may be than their
	// areas: beyond, they do not lie side by side.
	shiftArea = 1.5
)

// shift shares es, one more than fit into the leaf at depth d of p, between
// it and its nearest sibling, if that has room and neither margins nor
// overlap grow. Else it changes nothing.
func (x *tx) shift(p *path, d int, es []entry) bool {
	n, parent := x.node(p.step[d].chunk), x.node(p.step[d-1].chunk)
	near := x.siblings(parent, p.step[d].slot)
	to := x.nearest(parent, &near, n.minID())
	if to < 0 {
		return false
	}
	sibling := x.node(uint32(parent.ref(to)))
	a, b := parent.box(p.step[d].slot).rect(), parent.box(to).rect()
	if sibling.count()*100 > shiftFillPercent*n.fanout() ||
		unit.area(a.Union(b)) > shiftArea*(unit.area(a)+unit.area(b)) {
		return false
	}
	all := x.shared[:0]
	all = append(all, es...)
	for i := range sibling.count() {
		all = append(all, x.entryAt(sibling, i))
	}
	x.shared = all
	a, b = mbrOf(es), sibling.mbr()
	m := metricFor(a.Union(b))
	margin, overlap := m.margin(a)+m.margin(b), m.overlap(a, b)
	k := x.distribute(n, all, max(x.t.least(0), len(all)-n.fanout()))
	a, b = mbrOf(all[:k]), mbrOf(all[k:])
	if m.margin(a)+m.margin(b) > margin || m.overlap(a, b) > overlap {
		return false
	}
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

func mbrOf(es []entry) Rect {
	r := emptyRect
	for i := range es {
		r = r.Union(es[i].rect)
	}
	return r
}

// siblings returns the other children of a node, with how much their
// margins grow if they take all of the child at slot. The result is valid
// until the next choice.
func (x *tx) siblings(parent node, slot int) []candidate {
	r := parent.box(slot).rect()
	cands := x.pick.cands[:0]
	for i := range parent.count() {
		if i == slot {
			continue
		}
		b := parent.box(i).rect()
		c := candidate{girth: unit.margin(b), slot: i}
		c.margin = unit.margin(b.Union(r)) - c.girth
		cands = append(cands, c)
	}
	return cands
}

// nearest takes the best of cands out and returns its slot, or -1; id
// breaks ties.
func (x *tx) nearest(parent node, cands *[]candidate, id uint64) int {
	c := *cands
	if len(c) == 0 {
		return -1
	}
	e, best := entry{lo: id}, 0
	for i := 1; i < len(c); i++ {
		if x.better(parent, &e, &c[i], &c[best]) {
			best = i
		}
	}
	slot := c[best].slot
	c[best] = c[len(c)-1]
	*cands = c[:len(c)-1]
	return slot
}

// mergeTries bounds the siblings that merge looks at: if the nearest ones
// are full, reinsertion finds better places than a far one.
const mergeTries = 3

// merge moves all entries of the node at depth d of p, which has too few,
// to the nearest sibling with room. It costs a tenth of inserting them again
// one by one, and moves as few nodes as can be. If no near sibling has room,
// it changes nothing.
func (x *tx) merge(p *path, d int) bool {
	n, parent := x.node(p.step[d].chunk), x.node(p.step[d-1].chunk)
	near := x.siblings(parent, p.step[d].slot)
	for range mergeTries {
		to := x.nearest(parent, &near, n.minID())
		if to < 0 {
			return false
		}
		if s := x.node(uint32(parent.ref(to))); s.count()+n.count() <= s.fanout() {
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
