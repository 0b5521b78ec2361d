package rstar

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// How a reader of this process reads the slab (publish.go).

// nodeAt returns the first word of a chunk, which must exist.
func (t *Tree) nodeAt(chunk uint32) *uint64 {
	// SAFETY: callers have compared chunk with t.chunks; the slab stays
	// mapped while a searcher is inside (enter).
	return (*uint64)(unsafe.Add(t.base, uintptr(chunk)*uintptr(t.opts.NodeBytes)))
}

// firstLines is the number of lines of a node that a search needs at once: for a leaf
// the first lines, up to the end of the high bits.
func (t *Tree) firstLines(level int32) int {
	if level == 0 {
		return 1 + t.groups
	}
	return t.nodeLines
}

// headerLine is the header line of a node.
func headerLine(n *uint64) *[lanes]uint64 { return (*[lanes]uint64)(unsafe.Pointer(n)) }

// readHeader returns the root, its level and the move counter, as of one
// instant.
func (t *Tree) readHeader() (root ref, moves uint64) {
	// SAFETY: chunk 0 is longer than two lines.
	h := headerLine((*uint64)(unsafe.Add(t.base, headerDynamic*8)))
	for {
		v := atomic.LoadUint64(&h[0])
		rh := atomic.LoadUint64(&h[1])
		moves = atomic.LoadUint64(&h[3])
		if v&1 == 0 && atomic.LoadUint64(&h[0]) == v {
			return ref{uint32(rh), int32(rh>>32) - 1}, moves
		}
		runtime.Gosched()
	}
}

// verdict is the result of checking a node's header line.
type verdict int

const (
	nodeOK verdict = iota
	nodeBusy
	nodeMoved
)

// peek reads a node's header line: its version and its number of entries, and
// whether everything is as expected.
func peek(n *uint64, r ref, moves uint64) (version uint64, count int, ok bool) {
	h := headerLine(n)
	version = atomic.LoadUint64(&h[0])
	meta, stamp := atomic.LoadUint64(&h[laneMeta]), atomic.LoadUint64(&h[laneStamp])
	ok = version&1 == 0 && (stamp <= moves || mutant == laterStamps) &&
		meta&^(0xFFFF<<16) == uint64(r.chunk)<<32|uint64(uint16(r.level))
	return version, int(meta >> 16 & 0xFFFF), ok
}

// open is peek with the reason. Anything unexpected under an even version
// means that the search followed a stale reference.
func (t *Tree) open(n *uint64, r ref, moves uint64) (version uint64, count int, v verdict) {
	version, count, ok := peek(n, r, moves)
	switch {
	case ok:
		return version, min(count, t.fan(int(r.level))), nodeOK
	case atomic.LoadUint64(&headerLine(n)[laneStamp]) > moves && mutant != laterStamps:
		return version, 0, nodeMoved
	case version&1 != 0 || !unchanged(n, version):
		return version, 0, nodeBusy
	}
	return version, 0, nodeMoved
}

// unchanged reports whether the node still has version v: then all bytes read since
// open belong together.
func unchanged(n *uint64, v uint64) bool { return atomic.LoadUint64(n) == v }

// copyLinesPlain copies lines that a writer may be changing; the caller
// checks the version afterwards.
func copyLinesPlain(dst, src *uint64, lines int) {
	// SAFETY: callers pass memory of that number of lines.
	d, s := unsafe.Slice(dst, lines*lanes), unsafe.Slice(src, lines*lanes)
	for i := range d {
		d[i] = atomic.LoadUint64(&s[i])
	}
}
