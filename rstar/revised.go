package rstar

import "slices"

// The revised R*-tree: Beckmann and Seeger, "A revised R*-tree in
// comparison with related index structures", SIGMOD 2009. Nothing is
// reinserted, so an insertion moves entries only when it splits. Its
// ChooseSubtree (section 4.1 there) thinks in margins, which order boxes
// without area, too, and looks at overlap only where it arises.

// pickRevised returns the entry that e, r in the node's units, shall go
// to; none covers it.
//
// Let E1 be the child whose margin grows least. If its overlap (by margin)
// with no sibling grows, it is taken. Else the candidates are those up to
// the last, in the order of growth, with which E1's overlap grows; of them
// the first is taken whose overlap with none of them grows, or the one of
// least growth, searched depth first from E1 (CheckComp of the paper).
func (x *tx) pickRevised(n node, e *entry, boxes []Rect, r Rect) int {
	cands := x.pick.cands[:len(boxes)]
	first, flat := 0, false
	for i := range boxes {
		b := &boxes[i]
		c := &cands[i]
		u := b.Union(r)
		*c = candidate{girth: unit.margin(*b), slot: i}
		c.margin = unit.margin(u) - c.girth
		flat = flat || unit.area(u) == 0
		if i > 0 && x.better(n, e, c, &cands[first]) {
			first = i
		}
	}
	// Only what comes up to the last that first's overlap grows with need
	// be in order.
	last := first
	u := boxes[first].Union(r)
	for j := range boxes {
		if j != first && u.Intersects(boxes[j]) && x.better(n, e, &cands[last], &cands[j]) &&
			overlapGrowth(unit.margin, boxes, first, j, r) > 0 {
			last = j
		}
	}
	if last == first {
		return first
	}
	end, p := cands[last], 0
	for i := range cands {
		if c := cands[i]; !x.better(n, e, &end, &c) {
			cands[p] = c
			p++
		}
	}
	cands = cands[:p]
	slices.SortFunc(cands, func(a, b candidate) int {
		if c := a.compare(&b); c != 0 {
			return c
		}
		return sign(x.better(n, e, &a, &b))
	})
	s := compSearch{boxes: boxes, r: r, cands: cands, tried: x.pick.tried[:p], size: unit.area}
	if flat {
		s.size = unit.margin
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
	boxes []Rect
	r     Rect
	cands []candidate
	tried []bool
	size  func(Rect) float64 // area, or margin if some box has no area
}

// check returns a candidate whose overlap does not grow, reached from t by
// growing overlaps, or -1.
func (s *compSearch) check(t int) int {
	s.tried[t] = true
	c := &s.cands[t]
	c.overlap = 0
	for j := range s.cands {
		if j == t {
			continue
		}
		g := overlapGrowth(s.size, s.boxes, c.slot, s.cands[j].slot, s.r)
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

// overlapGrowth is how much the intersection of children i and j grows
// when i takes r.
func overlapGrowth(size func(Rect) float64, boxes []Rect, i, j int, r Rect) float64 {
	grown, ok := intersection(boxes[i].Union(r), boxes[j])
	if !ok {
		return 0
	}
	g := size(grown)
	if was, ok := intersection(boxes[i], boxes[j]); ok {
		g -= size(was)
	}
	return g
}
