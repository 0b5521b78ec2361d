package rstar

import (
	"cmp"
	"math"
	"slices"
)

// The four orders of a split, and the MBRs of their first and last entries.
// Half of the cost of an insertion beyond its descent is here, so both use
// SIMD where there is any: entries are ranked, not sorted, and borders are
// swept together. ranksPlain and sweepPlain are the reference.

// corners is a rectangle whose maxima are negated: MinX, MinY, -MaxX, -MaxY.
// The MBR of two is the minimum of each.
type corners [4]float64

func (c *corners) rect() Rect { return Rect{c[0], c[1], -c[2], -c[3]} }

// marginOf is margin for corners: it adds where margin subtracts, and
// negates.
func (m metric) marginOf(c *corners) float64 {
	return -((c[0]/2+c[2]/2)*m.s + (c[1]/2+c[3]/2)*m.s)
}

// sortChunk is the number of keys that a vector loop ranks at once: all of an
// overfull leaf's.
const sortChunk = 48

// sortSpace has room for the keys of the largest node, in whole chunks.
const sortSpace = (maxFanout/sortChunk + 1) * sortChunk

// sortScratch is memory to sort one set of entries in several orders.
type sortScratch struct {
	corners [maxFanout + 1]corners
	borders [maxFanout + 1]float64 // that the order is by
	world   Rect
	keys    [sortSpace]int32
	ranks   [sortSpace]int32
}

// asTheyCome is the identity order.
var asTheyCome = func() (perm [maxFanout + 1]uint8) {
	for i := range perm {
		perm[i] = uint8(i)
	}
	return perm
}()

// begin takes the entries to be sorted and returns their MBR; w is scratch.
func (s *sortScratch) begin(es []entry, w *sweep) Rect {
	for i := range es {
		r := &es[i].rect
		s.corners[i] = corners{r.MinX, r.MinY, -r.MaxX, -r.MaxY}
	}
	sweepCorners(&s.corners, &asTheyCome, len(es), &w.head, &w.tail)
	s.world = w.tail[0].rect()
	return s.world
}

// A key is a border in units of the MBR, 2^keyBits of them, with the index of
// the entry below it.
const (
	keyBits   = 23
	placeBits = 8 // 31 in all: signed words compare as well
)

// by stores in perm the order of es by one border, then the opposite one,
// then ids.
func (s *sortScratch) by(es []entry, o order, perm *[maxFanout + 1]uint8) {
	from, to := s.world.MinX, s.world.MaxX
	if o >= byMinY {
		from, to = s.world.MinY, s.world.MaxY
	}
	from /= 2
	scale := (1<<keyBits - 1) / (to/2 - from)
	if !(scale <= math.MaxFloat64) {
		scale = 0 // nearly all on a line: ties
	}
	at, sign := int(o/2), 1.0
	if o == byMaxX || o == byMaxY {
		at, sign = at+2, -1
	}
	for i := range es {
		b := s.corners[i][at] * sign
		s.borders[i] = b
		s.keys[i] = int32((b/2-from)*scale)<<placeBits | int32(i)
	}
	sortKeys(&s.keys, len(es), &s.ranks, perm)
	s.settle(es, o, perm[:len(es)])
}

// settle corrects an order that was sorted by keys so that it is exact.
func (s *sortScratch) settle(es []entry, o order, perm []uint8) {
	moves := 0
	last := math.Inf(-1)
	for i, p := range perm {
		b := s.borders[p]
		if b > last {
			last = b
			continue
		}
		j := i
		for ; j > 0 && s.compare(es, o, p, perm[j-1]) < 0; j-- {
			perm[j] = perm[j-1]
		}
		perm[j] = p
		if moves += i - j; moves > 4*len(perm) { // ties throughout
			slices.SortFunc(perm, func(a, b uint8) int { return s.compare(es, o, a, b) })
			return
		}
		last = s.borders[perm[i]]
	}
}

// compare orders two entries by their borders, then ids.
func (s *sortScratch) compare(es []entry, o order, a, b uint8) int {
	if v, w := s.borders[a], s.borders[b]; v != w {
		return sign(v < w)
	}
	p, q := &es[a], &es[b]
	if v, w := borderOf(&p.rect, o^1), borderOf(&q.rect, o^1); v != w {
		return sign(v < w)
	}
	return compareIDs(p, q)
}

// sortKeys stores in perm the indexes of the first n keys, in the order of
// the keys.
func sortKeys(keys *[sortSpace]int32, n int, ranks *[sortSpace]int32, perm *[maxFanout + 1]uint8) {
	if !vectorRanks() {
		slices.Sort(keys[:n])
		for i, k := range keys[:n] {
			perm[i] = uint8(k)
		}
		return
	}
	rankKeys(keys, n, ranks)
	for i, r := range ranks[:n] {
		perm[r] = uint8(i)
	}
}

// ranksPlain is the reference of ranking: for each key, the number of lesser ones.
func ranksPlain(keys *[sortSpace]int32, n int, ranks *[sortSpace]int32) {
	for i, k := range keys[:n] {
		ranks[i] = 0
		for _, other := range keys[:n] {
			if other < k {
				ranks[i]++
			}
		}
	}
}

// sweepPlain fills in the MBRs of the first 1, 2 ... n entries of an order
// and those of the last n, n-1 ... 1.
func sweepPlain(cs *[maxFanout + 1]corners, perm *[maxFanout + 1]uint8, n int, head, tail *[maxFanout + 1]corners) {
	first, last := cs[perm[0]], cs[perm[n-1]]
	for i := range n {
		j := n - 1 - i
		for f := range first {
			first[f], last[f] = min(first[f], cs[perm[i]][f]), min(last[f], cs[perm[j]][f])
		}
		head[i], tail[j] = first, last
	}
}

// borderOf returns the border that an order sorts by; that of o^1 is the
// opposite one.
func borderOf(r *Rect, o order) float64 {
	switch o {
	case byMinX:
		return r.MinX
	case byMaxX:
		return r.MaxX
	case byMinY:
		return r.MinY
	}
	return r.MaxY
}

// compareIDs orders entries by their least id.
func compareIDs(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.ref, b.ref))
}
