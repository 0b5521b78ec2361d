package rstar

import (
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// Scans of a node in place. A writer may change it meanwhile: the caller
// checks the version afterwards (publish.go) and throws away what was
// found if it changed. So it is enough that the loads happen between the
// two looks at the version, which x86 and sync/atomic guarantee, and that
// none faults.
//
// Whether an entry intersects a query is nearly a coin toss for the
// processor, and a mispredicted branch costs as much as four entries. So
// all entries of a node are compared without branches into masks, and
// only hits are branched on:
//
//	lane        7 6 5 4 3 2 1 0
//	masks[g]    h h h h h h h 0     bit w: entry 7*g + w-1 intersects
//
// Lane 0 is the line's version and never counts. Two paths: maskAVX2
// (scan_amd64.s) and maskPlain; the same tests run over both.

// group is the words of five lines, seven entries.
type group [groupWords]uint64

// masks has a byte for each group of a node.
type masks [maxGroups]uint8

// scan compares the first count entries of the node at n, at most its
// fan-out, with q, and returns how many groups it filled in.
func (m *masks) scan(n *uint64, count int, q *Rect) (groups int) {
	if count <= 0 {
		return 0
	}
	groups = (count + groupEntries - 1) / groupEntries
	if useAVX2 {
		maskAVX2(n, groups, q, m)
	} else {
		maskPlain(n, groups, q, m)
	}
	// Unused entries are empty boxes and miss by themselves, unless a
	// hostile server wrote them.
	m[groups-1] &= 1<<(count-(groups-1)*groupEntries+1) - 1
	return groups
}

// maskPlain is the reference path.
func maskPlain(n *uint64, groups int, q *Rect, m *masks) {
	for i := range groups {
		g := groupAt(n, i)
		bits := uint8(0)
		for w := 1; w < lanes; w++ {
			bits |= (le(g.load(w), q.MaxX) & le(q.MinX, g.load(w+fieldMaxX)) &
				le(g.load(w+fieldMinY), q.MaxY) & le(q.MinY, g.load(w+fieldMaxY))) << w
		}
		m[i] = bits
	}
}

// le is 1 if a <= b, else 0; it compiles to a comparison and a set.
func le(a, b float64) uint8 {
	if a <= b {
		return 1
	}
	return 0
}

// groupAt returns the g-th group of the node at n.
func groupAt(n *uint64, g int) *group {
	// SAFETY: callers pass groups that the node has.
	return (*group)(unsafe.Add(unsafe.Pointer(n), (lanes+g*groupWords)*8))
}

// load returns a word of the group.
func (g *group) load(w int) float64 {
	return math.Float64frombits(atomic.LoadUint64(&g[w]))
}

// leafHits appends the objects among the first count entries that
// intersect q.
func (n node) leafHits(dst []Item, count int, q *Rect) []Item {
	var m masks
	for i := range m.scan(&n[0], count, q) {
		for b := m[i]; b != 0; b &= b - 1 {
			g, w := groupAt(&n[0], i), bits.TrailingZeros8(b)&(lanes-1)
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
	var m masks
	for i := range m.scan(&n[0], count, q) {
		for b := m[i]; b != 0; b &= b - 1 {
			g, w := groupAt(&n[0], i), bits.TrailingZeros8(b)&(lanes-1)
			dst = append(dst, ref{uint32(atomic.LoadUint64(&g[w+fieldRef])), level})
		}
	}
	return dst
}

// countHits counts the entries that intersect q.
func (n node) countHits(count int, q *Rect) (hits int) {
	var m masks
	for i := range m.scan(&n[0], count, q) {
		hits += bits.OnesCount8(m[i])
	}
	return hits
}

// copyTo copies all words of n.
func (n node) copyTo(dst node) {
	for i := range dst {
		dst[i] = atomic.LoadUint64(&n[i])
	}
}
