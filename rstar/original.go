package rstar

// The original R*-tree: Beckmann, Kriegel, Schneider and Seeger, SIGMOD 1990.
// Its ChooseSubtree (section 4.1) minimises, just above the leaves, the
// enlargement of overlap, elsewhere of area; a full node has entries
// reinserted before it splits (section 4.3).

// overlapCandidates is p of section 4.1: considering only the 32 children of
// least area enlargement loses nearly nothing.
const overlapCandidates = 32

// pickOriginal returns the entry that e, which is r in the node's units, is
// to go to; no entry covers it. leaves says that the children are leaves.
func (x *tx) pickOriginal(n node, e *entry, boxes []Rect, r Rect, leaves bool) int {
	cands := x.pick.cands[:0]
	for i, b := range boxes {
		c := candidate{size: unit.area(b), girth: unit.margin(b), slot: i}
		u := b.Union(r)
		c.area, c.margin = unit.area(u)-c.size, unit.margin(u)-c.girth
		cands = append(cands, c)
	}
	if leaves {
		return x.leastOverlap(n, e, cands, r)
	}
	best := &cands[0]
	for i := 1; i < len(cands); i++ {
		if x.better(n, e, &cands[i], best) {
			best = &cands[i]
		}
	}
	return best.slot
}

// leastOverlap picks by overlap enlargement among the candidates of least
// area enlargement. A sum is abandoned when it exceeds the best one; none is
// negative, so after a zero only ties matter.
func (x *tx) leastOverlap(n node, e *entry, cands []candidate, r Rect) int {
	for i := 1; i < len(cands); i++ { // overlap is 0 so far: by area
		for j := i; j > 0 && cands[j].compare(&cands[j-1]) < 0; j-- {
			cands[j], cands[j-1] = cands[j-1], cands[j]
		}
	}
	cands = cands[:min(len(cands), overlapCandidates)]
	boxes := x.pick.boxes[:n.count()]
	best := &cands[0]
	best.addOverlap(boxes, r, -1)
	for i := 1; i < len(cands); i++ {
		c := &cands[i]
		if best.overlap == 0 && c.compare(best) > 0 {
			break // in order of area: no later one is better
		}
		c.addOverlap(boxes, r, best.overlap)
		if x.better(n, e, c, best) {
			best = c
		}
	}
	return best.slot
}

// addOverlap computes c.overlap, giving up beyond limit (-1: none).
func (c *candidate) addOverlap(boxes []Rect, r Rect, limit float64) {
	was := boxes[c.slot]
	grown := was.Union(r)
	for j, s := range boxes {
		if j == c.slot || !grown.Intersects(s) {
			continue
		}
		c.overlap += max(0, unit.overlap(grown, s)-unit.overlap(was, s))
		if limit >= 0 && c.overlap > limit {
			return
		}
	}
}
