package rstar

import (
	"math"
	"unsafe"
)

// node is the words of one node (layout.go): either the slab's own for
// reading, or the writer's private copy for changing. Only the writer uses
// these methods, or a reader on a private copy; so plain loads and stores
// suffice.
type node []uint64

// entry is one entry of a node taken out of it. lo and hi bound the ids
// of its subtree; for an object both are its id.
type entry struct {
	rect   Rect
	ref    uint64
	lo, hi uint64
}

// emptyRect is the MBR of nothing.
var emptyRect = Rect{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}

func (n node) level() int    { l, _, _ := unpackMeta(n[laneMeta]); return l }
func (n node) count() int    { _, c, _ := unpackMeta(n[laneMeta]); return c }
func (n node) chunk() uint32 { return uint32(n[laneMeta] >> 32) }
func (n node) minID() uint64 { return n[laneMinID] }
func (n node) maxID() uint64 { return n[laneMaxID] }

// inner reports whether the entries are children. A freed chunk has the form
// of a leaf.
func (n node) inner() bool { return isInner(n.level()) }

func isInner(level int) bool { return level != 0 && level != freeLevel }

// groups is k of the node's size.
func (n node) groups() int { return (len(n) - lanes) / groupWords }

// room is the number of entries that the format has room for. Writers put no more than
// Tree.fan into a node.
func (n node) room() int { return fanoutOf(len(n), n.inner()) }

// fanoutOf returns how many entries a node of that number of words has room for.
func fanoutOf(words int, inner bool) int {
	k := (words - lanes) / groupWords
	if inner {
		return k * innerGroup
	}
	return k * leafGroup
}

func (n node) frame() frame {
	return frame{
		math.Float64frombits(n[laneFrameX]), math.Float64frombits(n[laneFrameY]),
		math.Float64frombits(n[laneFrameScale]),
	}
}

func (n node) setFrame(f frame) {
	n[laneFrameX], n[laneFrameY] = math.Float64bits(f.hx), math.Float64bits(f.hy)
	n[laneFrameScale] = math.Float64bits(f.s)
}

// half returns the node as half words: offsets and references of children.
func (n node) half() []uint32 {
	// SAFETY: a word is two half words, the low one first (checkEndian).
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(n))), 2*len(n))
}

// rect returns entry i's rectangle; that of a child is its box, decoded.
func (n node) rect(i int) Rect {
	if n.inner() {
		return n.frame().decode(n.box(i))
	}
	f := n.leafFrame()
	return f.decode(n.halves(i))
}

func (n node) ref(i int) uint64 {
	if n.inner() {
		return uint64(n.half()[int(innerSlot[i])+fieldRef])
	}
	return n[int(idSlot[i])+n.groups()*lanes]
}

// box returns child i's box in units of the frame.
func (n node) box(i int) box32 {
	s := n.half()[innerSlot[i]:]
	s = s[:fieldRef+1]
	return box32{
		math.Float32frombits(s[0]), math.Float32frombits(s[fieldMinY]),
		math.Float32frombits(s[fieldMaxX]), math.Float32frombits(s[fieldMaxY]),
	}
}

func (n node) setBox(i int, b box32) {
	s := n.half()[innerSlot[i]:]
	s = s[:fieldRef+1]
	s[0], s[fieldMinY] = math.Float32bits(b.minX), math.Float32bits(b.minY)
	s[fieldMaxX], s[fieldMaxY] = math.Float32bits(b.maxX), math.Float32bits(b.maxY)
}

// setRect sets entry i's rectangle, which must be within the frame's reach;
// the box of a child is rounded outwards.
func (n node) setRect(i int, r Rect) {
	if n.inner() {
		b, _ := n.frame().encode(r)
		n.setBox(i, b)
		return
	}
	f := n.leafFrame()
	n.setHalves(i, f.encode(r))
}

func (n node) setRef(i int, ref uint64) {
	if n.inner() {
		n.half()[int(innerSlot[i])+fieldRef] = uint32(ref)
		return
	}
	n[int(idSlot[i])+n.groups()*lanes] = ref
}

// reaches reports whether the frame has room for r.
func (n node) reaches(r Rect) bool {
	if n.inner() {
		_, ok := n.frame().encode(r)
		return ok
	}
	f := n.leafFrame()
	return f.reaches(r)
}

func (n node) setCount(c int) { n[laneMeta] = packMeta(n.level(), c, n.chunk()) }

// widen makes the id bounds cover lo..hi.
func (n node) widen(lo, hi uint64) {
	n[laneMinID], n[laneMaxID] = min(n[laneMinID], lo), max(n[laneMaxID], hi)
}

// covers reports whether the id bounds cover lo..hi.
func (n node) covers(lo, hi uint64) bool {
	return n[laneMinID] <= lo && hi <= n[laneMaxID]
}

// made returns the center of the node at its creation, NaN where it is not known.
func (n node) made() (x, y float64) {
	if n.inner() {
		return n.frame().center()
	}
	return n.leafFrame().made()
}

// reset makes n an empty node with the frame for a node of MBR r.
func (n node) reset(level int, chunk uint32, r Rect) {
	stamp := n[laneStamp]
	clear(n)
	n[laneMeta], n[laneStamp] = packMeta(level, 0, chunk), stamp
	n[laneMinID], n[laneMaxID] = math.MaxUint64, 0
	if !isInner(level) {
		n.setLeafFrame(leafFrameFor(r))
		return
	}
	n.setFrame(frameFor(r))
	for i := range n.room() {
		n.empty(i)
	}
}

// empty makes entry i an unused one.
func (n node) empty(i int) {
	if n.inner() {
		n.setBox(i, emptyBox32)
	} else {
		n.setHalves(i, halves{})
	}
	n.setRef(i, 0)
}

// copyEntry makes entry i equal to entry j of from, a node of the same level
// and frame.
func (n node) copyEntry(i int, from node, j int) {
	if n.inner() {
		n.setBox(i, from.box(j))
	} else {
		n.setHalves(i, from.halves(j))
	}
	n.setRef(i, from.ref(j))
}

// append adds e; there must be room.
func (n node) append(e *entry) {
	c := n.count()
	n.setRect(c, e.rect)
	n.setRef(c, e.ref)
	n.setCount(c + 1)
	n.widen(e.lo, e.hi)
}

// remove removes entry i; the last entry takes its place. The id bounds stay.
func (n node) remove(i int) {
	last := n.count() - 1
	n.copyEntry(i, n, last)
	n.empty(last)
	n.setCount(last)
}

// fill replaces all entries by es, in a frame that suits them.
func (n node) fill(es []entry) {
	n.reset(n.level(), n.chunk(), mbrOf(es))
	if n.inner() {
		for i := range es {
			n.append(&es[i])
		}
		return
	}
	leafPut(n, es)
	for i := range es {
		n.widen(es[i].ref, es[i].ref)
	}
	n.setCount(len(es))
}

// leafPutPlain puts es into a leaf, from object 0 on.
func leafPutPlain(n node, es []entry) {
	f := n.leafFrame()
	for i := range es {
		n.setHalves(i, f.encode(es[i].rect))
		n.setRef(i, es[i].ref)
	}
}

// mbrPlain returns the MBR of entries.
func mbrPlain(es []entry) Rect {
	r := emptyRect
	for i := range es {
		r = r.Union(es[i].rect)
	}
	return r
}
