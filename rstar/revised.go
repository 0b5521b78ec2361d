package rstar

// The revised R*-tree: Beckmann and Seeger, "A revised R*-tree in comparison
// with related index structures", SIGMOD 2009. Nothing is reinserted, so an
// insertion moves entries only when it splits. Its ChooseSubtree (section 4.1
// there) compares margins, which order even boxes without area, and considers
// overlap only where it arises.

// pickRevised returns the entry that e, which is r in the node's units, is to
// go to; no entry covers it.
//
// Let E1 be the child whose margin grows least. If its overlap (by margin)
// with no sibling grows, it is chosen. Otherwise the candidates are those up
// to the last, in the order of growth, with which E1's overlap grows. Of
// these, the first whose overlap with none of them grows is chosen, or else
// the one of least growth, searched depth first from E1 (CheckComp of the
// paper).
func (x *tx) pickRevised(n node, e *entry, r box32) int {
	g, groups := &x.pick.growths, innerGroups(n)
	var m masks
	m.atMost(g, groups, g.fill(n, r))
	first := x.bestOf(n, e, &m)
	// Only the children up to the last one with which first's overlap grows
	// need be in order.
	last := first
	box := n.box(first.slot)
	m.meet(n, box.union(r))
	was, will := box.rect(), box.union(r).rect()
	for bit := m.next(); bit >= 0; bit = m.next() {
		if slotOf(bit) == first.slot || g[bit] < last.margin {
			continue
		}
		c := candidateAt(n, g, bit)
		sibling := n.box(c.slot).rect()
		if x.better(n, e, &last, &c) && overlapGrowth(true, &was, &will, &sibling) > 0 {
			last = c
		}
	}
	if last.slot == first.slot {
		return first.slot
	}
	cands := x.pick.cands[:0]
	m.atMost(g, groups, last.margin)
	for bit := m.next(); bit >= 0; bit = m.next() {
		c := candidateAt(n, g, bit)
		if c.margin == last.margin && x.better(n, e, &last, &c) {
			continue
		}
		// There are few, so they are sorted by insertion.
		i := len(cands)
		cands = append(cands, c)
		for ; i > 0 && x.better(n, e, &c, &cands[i-1]); i-- {
			cands[i] = cands[i-1]
		}
		cands[i] = c
	}
	return x.checkComp(n, cands, r)
}

// bestOf returns the cheapest of the children in the mask m by their growths;
// there is at least one.
func (x *tx) bestOf(n node, e *entry, m *masks) candidate {
	g := &x.pick.growths
	best := candidateAt(n, g, m.next())
	for bit := m.next(); bit >= 0; bit = m.next() {
		if c := candidateAt(n, g, bit); x.better(n, e, &c, &best) {
			best = c
		}
	}
	return best
}

// candidateAt returns the child at an index of g.
func candidateAt(n node, g *growths, bit int) candidate {
	slot := slotOf(bit)
	return candidate{margin: g[bit], girth: unit.margin(n.box(slot).rect()), slot: slot}
}

// checkComp chooses among candidates, in the order of their cost, of which
// the first has an overlap that grows.
func (x *tx) checkComp(n node, cands []candidate, r box32) int {
	s := compSearch{
		boxes: x.pick.boxes[:len(cands)], r: r.rect(), cands: cands,
		tried: x.pick.tried[:len(cands)],
	}
	for i := range cands {
		b := n.box(cands[i].slot).rect()
		s.boxes[i] = b
		if unit.area(b.Union(s.r)) == 0 {
			s.flat = true
		}
	}
	clear(s.tried)
	if i := s.check(0); i >= 0 {
		return cands[i].slot
	}
	best := 0
	for i := range s.cands {
		if s.tried[i] && s.cands[i].overlap < s.cands[best].overlap {
			best = i
		}
	}
	return cands[best].slot
}

// compSearch is the state of CheckComp.
type compSearch struct {
	cands []candidate
	boxes []Rect // of the candidates
	r     Rect
	tried []bool
	flat  bool // some box has no area: margins count
}

// check returns a candidate whose overlap does not grow, reached from t by
// growing overlaps, or -1.
func (s *compSearch) check(t int) int {
	s.tried[t] = true
	c := &s.cands[t]
	c.overlap = 0
	was := s.boxes[t]
	will := was.Union(s.r)
	for j := range s.cands {
		if j == t || !will.Intersects(s.boxes[j]) {
			continue
		}
		g := overlapGrowth(s.flat, &was, &will, &s.boxes[j])
		c.overlap += g
		if g > 0 && !s.tried[j] {
			if i := s.check(j); i >= 0 {
				return i
			}
		}
	}
	if c.overlap == 0 {
		return t
	}
	return -1
}

// overlapGrowth is how much the intersection with a sibling, which it meets
// then, grows when a child's box does: its area, or margin.
func overlapGrowth(margin bool, was, will, sibling *Rect) float64 {
	size := func(r Rect) float64 {
		if margin {
			return unit.margin(r)
		}
		return unit.area(r)
	}
	grown, _ := intersection(*will, *sibling)
	g := size(grown)
	if r, ok := intersection(*was, *sibling); ok {
		g -= size(r)
	}
	return g
}
