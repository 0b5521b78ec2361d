package rstar

import (
	"math"
	"math/bits"
	"unsafe"
)

// page is a private copy of a node with the distances of its entries. Most of these are
// too far to be of interest, so they are not put into the queue one by one: the page is
// queued in place of those that are left. As it is a copy, later changes to the node do
// not matter.
type page struct {
	n     node
	level int32
	count int
	frame frameDistance // of an internal node
	d     distances
	left  masks // entries that have not been taken yet
}

// newPage returns the place of a free page.
func (s *nearScratch) newPage(t *Tree) uint64 {
	if last := len(s.free) - 1; last >= 0 {
		i := s.free[last]
		s.free = s.free[:last]
		return i
	}
	p := &page{n: make(node, t.nodeWords)}
	s.pages = append(s.pages, p)
	s.inPages += int(unsafe.Sizeof(*p)) + 8*len(p.n)
	return uint64(len(s.pages) - 1)
}

func (p *page) copyFrom(n *uint64, level int32, count int) {
	p.level, p.count = level, count
	if level > 0 {
		copyLines(&p.n[0], n, 1+p.groups()*linesPerGroup)
		return
	}
	k := p.n.groups()
	copyLines(&p.n[0], n, 1+p.groups())
	if count == 0 {
		return
	}
	copyLines(lowLine(&p.n[0], k), lowLine(n, k), p.groups()*lowLines)
}

// groups is the number of groups that the entries fill.
func (p *page) groups() int {
	if p.level == 0 {
		return (p.count + leafGroup - 1) / leafGroup
	}
	return (p.count + innerGroup - 1) / innerGroup
}

// measure computes the distances from (x, y) of a node that is not empty.
func (p *page) measure(x, y float64) {
	p.left = masks{}
	if p.level > 0 {
		p.frame = newFrameDistance(p.n.frame(), x, y)
		innerDist(&p.n[0], p.groups(), &p.frame.p, &p.d)
		for i, c := 0, p.count; c > 0; i, c = i+1, c-innerGroup {
			p.left[i>>2] |= (1<<min(c, innerGroup) - 1) << 2 << (i & 3 * 16)
		}
		return
	}
	p.left = firstObjects(p.count)
	leafDist(&p.n[0], p.n.groups(), p.count, &[2]float64{x, y}, &p.d)
	for i := range p.count {
		d := &p.d.leaf[i/leafGroup*lanes+i%leafGroup+1]
		if !(*d > minPlainDistance && *d < maxPlainDistance) {
			*d = p.n.rect(i).Distance(x, y)
		}
	}
}

// take pushes the entries within the horizon, and returns a key not above the
// distances of those that are left, if any are.
func (p *page) take(t *Tree, s *nearScratch) (rest float64, any bool) {
	if p.level > 0 {
		return p.takeChildren(t, s)
	}
	var hits masks
	rest = leafNear(&p.d, p.groups(), &p.left, &hits, s.queue.near)
	s.makeRoom(hits.count())
	at := len(s.objects)
	for i, b := range hits[:2] {
		p.left[i] &^= b
		any = any || p.left[i] != 0
		for ; b != 0; b &= b - 1 {
			bit := i*64 + bits.TrailingZeros64(b)
			s.queue.push(cand{p.d.leaf[bit], isObject | uint64(at)})
			at++
		}
	}
	s.objects = hits.appendItems(s.objects, &p.n[0], p.n.groups(), &everywhere)
	return rest, any
}

func (p *page) takeChildren(t *Tree, s *nearScratch) (rest float64, any bool) {
	// In units, and a little more: what is beyond has a key beyond near.
	limit := (s.queue.near/p.frame.unit + p.frame.slack) * (1 + 0x1p-19)
	least, any := p.takeUpTo(t, s, float32(limit))
	rest = p.frame.key(least)
	if any && !(rest > s.queue.near) { // where keys vanish
		_, any = p.takeUpTo(t, s, float32(math.Inf(1)))
	}
	return rest, any
}

// takeUpTo pushes the children up to a distance in units and returns the
// distance of the nearest one left, if any are.
func (p *page) takeUpTo(t *Tree, s *nearScratch, limit float32) (least float32, any bool) {
	var hits masks
	least = innerNear(&p.d, p.groups(), &p.left, &hits, limit)
	for i, b := range hits {
		p.left[i] &^= b
		any = any || p.left[i] != 0
		for ; b != 0; b &= b - 1 {
			bit := i*64 + bits.TrailingZeros64(b)
			g, w := groupAt(&p.n[0], bit/(2*lanes)), bit%(2*lanes)
			if s.past.d > minPlainDistance &&
				s.past.holds(p.n.rect(bit/(2*lanes)*innerGroup+w-2)) {
				continue
			}
			r := ref{g.half(w + fieldRef), p.level - 1}
			t.prefetch(r.chunk, t.nodeLines)
			s.queue.push(nodeCand(p.frame.key(p.d.inner[bit]), r))
		}
	}
	return least, any
}

// firstWanted is the number of objects that the first horizon is to hold: most callers
// want about ten, and extending the horizon later costs more than finding some objects
// too many.
const firstWanted = 16

// horizon is the distance within which about firstWanted objects lie, if the
// density is the same everywhere as below this node, which is a leaf or a
// parent of leaves; 0 if it cannot be estimated.
func (p *page) horizon() float64 {
	r, objects := p.n.mbr(), float64(p.count)
	if p.level > 0 {
		objects *= float64(fanoutOf(len(p.n), false)) * usualFill
	}
	w, h := r.MaxX-r.MinX, r.MaxY-r.MinY
	// Roots first: the area may be beyond float64.
	d := math.Sqrt(w) * math.Sqrt(h) * math.Sqrt(firstWanted/(math.Pi*objects))
	if !(d < math.MaxFloat64) {
		return 0
	}
	return d
}

// usualFill is ln 2, the mean fill of nodes that are split in halves.
const usualFill = math.Ln2
