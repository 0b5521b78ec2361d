package rstar

import "math"

// node is the words of one node (layout.go): the slab's own for reading,
// or the writer's private copy for changing. Only the writer uses it, or
// a reader on a private copy; so plain loads and stores do.
type node []uint64

// entry is one entry of a node taken out of it. lo and hi bound the ids
// of its subtree; for an object both are its id.
type entry struct {
	rect   Rect
	ref    uint64
	lo, hi uint64
}

// emptyRect is the MBR of nothing, and what unused entries hold.
var emptyRect = Rect{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}

func (n node) level() int    { l, _, _ := unpackMeta(n[laneMeta]); return l }
func (n node) count() int    { _, c, _ := unpackMeta(n[laneMeta]); return c }
func (n node) chunk() uint32 { return uint32(n[laneMeta] >> 32) }
func (n node) minID() uint64 { return n[laneMinID] }
func (n node) maxID() uint64 { return n[laneMaxID] }

func (n node) rect(i int) Rect {
	s := n[slotWord[i]:]
	s = s[:fieldRef+1]
	return Rect{
		math.Float64frombits(s[0]), math.Float64frombits(s[fieldMinY]),
		math.Float64frombits(s[fieldMaxX]), math.Float64frombits(s[fieldMaxY]),
	}
}

func (n node) ref(i int) uint64 { return n[slotWord[i]+fieldRef] }

func (n node) setRect(i int, r Rect) {
	s := n[slotWord[i]:]
	s = s[:fieldRef+1]
	s[0], s[fieldMinY] = math.Float64bits(r.MinX), math.Float64bits(r.MinY)
	s[fieldMaxX], s[fieldMaxY] = math.Float64bits(r.MaxX), math.Float64bits(r.MaxY)
}

func (n node) setRef(i int, ref uint64) { n[slotWord[i]+fieldRef] = ref }

func (n node) setCount(c int) { n[laneMeta] = packMeta(n.level(), c, n.chunk()) }

// widen makes the id bounds cover lo..hi.
func (n node) widen(lo, hi uint64) {
	n[laneMinID], n[laneMaxID] = min(n[laneMinID], lo), max(n[laneMaxID], hi)
}

// covers reports whether the id bounds cover lo..hi.
func (n node) covers(lo, hi uint64) bool {
	return n[laneMinID] <= lo && hi <= n[laneMaxID]
}

// reset makes n an empty node.
func (n node) reset(level int, chunk uint32) {
	stamp := n[laneStamp]
	clear(n)
	n[laneMeta], n[laneStamp] = packMeta(level, 0, chunk), stamp
	n[laneMinID], n[laneMaxID] = math.MaxUint64, 0
	for i := 0; i < n.fanout(); i++ {
		n.setRect(i, emptyRect)
	}
}

func (n node) fanout() int { return (len(n) - lanes) / groupWords * groupEntries }

// append adds e; there must be room.
func (n node) append(e *entry) {
	c := n.count()
	n.setRect(c, e.rect)
	n.setRef(c, e.ref)
	n.setCount(c + 1)
	n.widen(e.lo, e.hi)
}

// remove takes entry i out; the last entry takes its place. The id bounds
// stay.
func (n node) remove(i int) {
	last := n.count() - 1
	n.setRect(i, n.rect(last))
	n.setRef(i, n.ref(last))
	n.setRect(last, emptyRect)
	n.setRef(last, 0)
	n.setCount(last)
}

// fill replaces all entries by es.
func (n node) fill(es []entry) {
	n.reset(n.level(), n.chunk())
	for i := range es {
		n.append(&es[i])
	}
}

// mbr returns the MBR of the entries.
func (n node) mbr() Rect {
	r := emptyRect
	for i, c := 0, n.count(); i < c; i++ {
		r = r.Union(n.rect(i))
	}
	return r
}
