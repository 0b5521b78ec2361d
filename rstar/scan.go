package rstar

import (
	"math"
	"sync/atomic"
	"unsafe"
)

// Scans of a node in place. A writer may change it meanwhile: every word
// is loaded atomically, and the caller checks the version afterwards
// (publish.go) and throws away what was found if it changed.

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

// hits reports whether the entry in lane w intersects q.
func (g *group) hits(w int, q *Rect) bool {
	return g.load(w) <= q.MaxX && g.load(w+fieldMaxX) >= q.MinX &&
		g.load(w+fieldMinY) <= q.MaxY && g.load(w+fieldMaxY) >= q.MinY
}

// leafHits appends the objects among the first count entries that
// intersect q.
func (n node) leafHits(dst []Item, count int, q Rect) []Item {
	for i := 0; count > 0; i, count = i+1, count-groupEntries {
		g := n.group(i)
		for w := 1; w <= min(count, groupEntries); w++ {
			if g.hits(w, &q) {
				dst = append(dst, Item{
					Rect{
						g.load(w), g.load(w + fieldMinY),
						g.load(w + fieldMaxX), g.load(w + fieldMaxY),
					},
					atomic.LoadUint64(&g[w+fieldRef]),
				})
			}
		}
	}
	return dst
}

// childHits appends the children that intersect q.
func (n node) childHits(dst []ref, level int32, count int, q Rect) []ref {
	for i := 0; count > 0; i, count = i+1, count-groupEntries {
		g := n.group(i)
		for w := 1; w <= min(count, groupEntries); w++ {
			if g.hits(w, &q) {
				chunk := uint32(atomic.LoadUint64(&g[w+fieldRef]))
				dst = append(dst, ref{chunk, level})
			}
		}
	}
	return dst
}

// countHits counts the entries that intersect q.
func (n node) countHits(count int, q Rect) (hits int) {
	for i := 0; count > 0; i, count = i+1, count-groupEntries {
		g := n.group(i)
		for w := 1; w <= min(count, groupEntries); w++ {
			if g.hits(w, &q) {
				hits++
			}
		}
	}
	return hits
}

// copyTo copies all words of n.
func (n node) copyTo(dst node) {
	for i := range dst {
		dst[i] = atomic.LoadUint64(&n[i])
	}
}
