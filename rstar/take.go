package rstar

import (
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// Whole objects of a leaf, high and low bits joined (leaf.go), for those in a mask
// (scan.go). k is the leaf's number of groups: low bits begin after k lines of high
// bits. The Plain functions are the reference for scan_amd64.s.

// everywhere intersects all rectangles.
var everywhere = Rect{math.Inf(-1), math.Inf(-1), math.Inf(1), math.Inf(1)}

// appendItems appends those objects that are in m and that intersect q.
func (m *masks) appendItems(dst []Item, n *uint64, k int, q *Rect) []Item {
	at, most := len(dst), m.count()
	switch {
	case most == 0:
		return dst
	case most > cap(dst)-at:
		return m.appendFew(dst, n, k, q)
	}
	return dst[:at+leafTake(n, k, m, q, dst[at:at+most])]
}

// appendFew is appendItems where dst might not have to grow: m contains a few
// objects that are not hits.
func (m *masks) appendFew(dst []Item, n *uint64, k int, q *Rect) []Item {
	var buf [maxLeafFanout]Item
	return append(dst, buf[:leafTake(n, k, m, q, buf[:])]...)
}

// lowLine returns the first line of low bits of the leaf at n.
func lowLine(n *uint64, k int) *uint64 {
	// SAFETY: a leaf of k groups has 5k+1 lines.
	return (*uint64)(unsafe.Add(unsafe.Pointer(n), (1+k)*LineBytes))
}

// loadObject reads object i in place.
func loadObject(n *uint64, k, i int, f *leafFrame) Item {
	// SAFETY: a leaf of k groups has that number of words.
	words := unsafe.Slice(n, lanes+k*groupWords)
	t, id := int(lowSlot[i])+k*lanes, int(idSlot[i])+k*lanes
	return Item{f.decode(halves{atomic.LoadUint64(&words[highSlot[i]]), [3]uint64{
		atomic.LoadUint64(&words[t]), atomic.LoadUint64(&words[t+1]), atomic.LoadUint64(&words[t+2]),
	}}), atomic.LoadUint64(&words[id])}
}

// each calls f for the objects in m, in order, with bit, the object's
// position in m.
func (m *masks) each(f func(i, bit int)) {
	for w, b := range m[:2] {
		for ; b != 0; b &= b - 1 {
			bit := bits.TrailingZeros64(b)
			f((w*64+bit)/8*leafGroup+bit%8-1, w*64+bit)
		}
	}
}

// leafTakePlain puts the objects that intersect q into dst, which has room for all in
// m, and returns their number.
func leafTakePlain(n *uint64, k int, m *masks, q *Rect, dst []Item) (hits int) {
	f := loadLeafFrame(n)
	m.each(func(i, _ int) {
		if it := loadObject(n, k, i, &f); it.Rect.Intersects(*q) {
			dst[hits] = it
			hits++
		}
	})
	return hits
}

// leafDistPlain stores the objects' distances from p, x and y, in d at their
// bits' positions.
func leafDistPlain(n *uint64, k int, m *masks, p *[2]float64, d *distances) {
	f := loadLeafFrame(n)
	m.each(func(i, bit int) {
		r := loadObject(n, k, i, &f).Rect
		dx := max(r.MinX-p[0], p[0]-r.MaxX, 0)
		dy := max(r.MinY-p[1], p[1]-r.MaxY, 0)
		d.leaf[bit] = math.Sqrt(float64(dx*dx) + float64(dy*dy))
	})
}

// leafBoundsPlain returns the objects' MBR.
func leafBoundsPlain(n *uint64, k int, m *masks) Rect {
	f, r := loadLeafFrame(n), emptyRect
	m.each(func(i, _ int) { r = r.Union(loadObject(n, k, i, &f).Rect) })
	return r
}
