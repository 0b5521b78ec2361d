package rstar

// ChooseSubtree, section 4.1 of the paper, extended where that leaves
// ties: by margins (boxes without area, such as points on a line, would
// all tie) and last by ids. Equal rectangles are told apart by id like
// keys of a B-tree: of equally good children the one whose id bounds
// contain, or come nearest to, the new id is chosen, and splits sort ties
// by id. So among any number of objects on one point a delete finds its
// leaf by the id bounds.

// overlapCandidates is p of the paper's section 4.1: looking at the 32
// children of least area enlargement loses nearly nothing.
const overlapCandidates = 32

// pickScratch is memory for pick.
type pickScratch struct {
	rects [maxFanout]Rect
	cands [maxFanout]candidate
}

// candidate is a child and what it would cost to choose it, most
// important first.
type candidate struct {
	overlap float64 // enlargement of its overlap with its siblings
	area    float64 // enlargement
	margin  float64 // enlargement
	size    float64 // area before
	girth   float64 // margin before
	slot    int
}

// compare orders candidates by cost; 0 is a tie that ids must break.
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

// choose appends to p the way from the root to the node at level that
// shall take e.
func (x *tx) choose(p *path, e *entry, level int) {
	p.n = 0
	p.push(x.root, -1)
	chunk := x.root
	for l := x.height - 1; l > level; l-- {
		n := x.node(chunk)
		slot := x.pickChild(n, e, l == 1)
		chunk = uint32(n.ref(slot))
		p.push(chunk, slot)
	}
}

// pickChild returns the entry of n that e shall go to. leaves says that
// the children are leaves, where overlap counts.
func (x *tx) pickChild(n node, e *entry, leaves bool) int {
	count := n.count()
	rects := x.pick.rects[:count]
	world, contained := e.rect, false
	for i := range rects {
		rects[i] = n.rect(i)
		world = world.Union(rects[i])
		contained = contained || rects[i].Contains(e.rect)
	}
	m := metricFor(world)
	cands := x.pick.cands[:0]
	for i, r := range rects {
		c := candidate{size: m.area(r), girth: m.margin(r), slot: i}
		if !r.Contains(e.rect) {
			if contained {
				continue // others need no enlargement at all
			}
			u := r.Union(e.rect)
			c.area, c.margin = m.area(u)-c.size, m.margin(u)-c.girth
		}
		cands = append(cands, c)
	}
	if leaves && !contained {
		return x.leastOverlap(m, n, e, cands)
	}
	best := &cands[0]
	for i := 1; i < len(cands); i++ {
		best = x.better(n, e, best, &cands[i])
	}
	return best.slot
}

// better returns the cheaper of two candidates, by ids if they tie.
func (x *tx) better(n node, e *entry, a, b *candidate) *candidate {
	c := b.compare(a)
	if c == 0 {
		da := x.idDistance(uint32(n.ref(a.slot)), e.lo)
		db := x.idDistance(uint32(n.ref(b.slot)), e.lo)
		c = sign(db < da)
	}
	if c < 0 {
		return b
	}
	return a
}

// leastOverlap picks by overlap enlargement among the candidates of least
// area enlargement. None contains e. A sum is left off when it exceeds
// the best one; none is negative, so after a zero only ties matter.
func (x *tx) leastOverlap(m metric, n node, e *entry, cands []candidate) int {
	for i := 1; i < len(cands); i++ { // overlap is 0 so far: by area
		for j := i; j > 0 && cands[j].compare(&cands[j-1]) < 0; j-- {
			cands[j], cands[j-1] = cands[j-1], cands[j]
		}
	}
	cands = cands[:min(len(cands), overlapCandidates)]
	rects := x.pick.rects[:n.count()]
	best := &cands[0]
	m.addOverlap(best, rects, e.rect, -1)
	for i := 1; i < len(cands); i++ {
		c := &cands[i]
		if best.overlap == 0 && c.compare(best) > 0 {
			break // in order of area: no later one is better
		}
		m.addOverlap(c, rects, e.rect, best.overlap)
		best = x.better(n, e, best, c)
	}
	return best.slot
}

// addOverlap computes c.overlap, giving up beyond limit (-1: none).
func (m metric) addOverlap(c *candidate, rects []Rect, r Rect, limit float64) {
	was := rects[c.slot]
	grown := was.Union(r)
	for j, s := range rects {
		if j == c.slot || !grown.Intersects(s) {
			continue
		}
		c.overlap += max(0, m.overlap(grown, s)-m.overlap(was, s))
		if limit >= 0 && c.overlap > limit {
			return
		}
	}
}
