package rstar

import (
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// Scans of a node in place. A writer may change it meanwhile: every word
// is loaded atomically, and the caller checks the version afterwards
// (publish.go) and throws away what was found if it changed.
//
// Whether an entry intersects a query is nearly a coin toss for the
// processor, and a mispredicted branch costs as much as four entries. So
// the seven entries of a group are compared without branches into a mask,
// lane by lane, and only hits are branched on. Unused entries are empty
// boxes and miss by themselves, so that no count is needed; lane 0, the
// version, is never looked at.

// group is the words of five lines, seven entries.
type group [groupWords]uint64

// group returns the g-th group of n.
func (n node) group(g int) *group {
	o := lanes + g*groupWords
	// SAFETY: the slice expression checks that the group lies inside n.
	return (*group)(unsafe.Pointer(unsafe.SliceData(n[o : o+groupWords])))
}

// load returns a word of the group.
func (g *group) load(w int) float64 {
	return math.Float64frombits(atomic.LoadUint64(&g[w]))
}

// le is 1 if a <= b, else 0; it compiles to a comparison and a set.
func le(a, b float64) uint32 {
	if a <= b {
		return 1
	}
	return 0
}

// hit is 1 if the entry in lane w intersects q, else 0.
func (g *group) hit(w int, q *Rect) uint32 {
	return le(g.load(w), q.MaxX) & le(q.MinX, g.load(w+fieldMaxX)) &
		le(g.load(w+fieldMinY), q.MaxY) & le(q.MinY, g.load(w+fieldMaxY))
}

// mask has bit w set for each lane w, 1 to 7, whose entry intersects q.
func (g *group) mask(q *Rect) uint32 {
	return g.hit(1, q)<<1 | g.hit(2, q)<<2 | g.hit(3, q)<<3 | g.hit(4, q)<<4 |
		g.hit(5, q)<<5 | g.hit(6, q)<<6 | g.hit(7, q)<<7
}

// groupsOf is how many groups count entries take.
func groupsOf(count int) int { return (count + groupEntries - 1) / groupEntries }

// leafHits appends the objects among the first count entries that
// intersect q.
func (n node) leafHits(dst []Item, count int, q *Rect) []Item {
	for i := range groupsOf(count) {
		g := n.group(i)
		for m := g.mask(q); m != 0; m &= m - 1 {
			w := bits.TrailingZeros32(m) & (lanes - 1)
			dst = append(dst, Item{
				Rect{
					g.load(w), g.load(w + fieldMinY),
					g.load(w + fieldMaxX), g.load(w + fieldMaxY),
				},
				atomic.LoadUint64(&g[w+fieldRef]),
			})
		}
	}
	return dst
}

// childHits appends the children that intersect q.
func (n node) childHits(dst []ref, level int32, count int, q *Rect) []ref {
	for i := range groupsOf(count) {
		g := n.group(i)
		for m := g.mask(q); m != 0; m &= m - 1 {
			w := bits.TrailingZeros32(m) & (lanes - 1)
			dst = append(dst, ref{uint32(atomic.LoadUint64(&g[w+fieldRef])), level})
		}
	}
	return dst
}

// countHits counts the entries that intersect q.
func (n node) countHits(count int, q *Rect) (hits int) {
	for i := range groupsOf(count) {
		hits += bits.OnesCount32(n.group(i).mask(q))
	}
	return hits
}

// copyTo copies all words of n.
func (n node) copyTo(dst node) {
	for i := range dst {
		dst[i] = atomic.LoadUint64(&n[i])
	}
}
