package rstar

import (
	"fmt"
	"unsafe"
)

// The first lines of leaves: where few objects of a leaf are likely to be
// found, a remote reader may read only the header line and the high bits,
// which usually rule out all of its objects (docs/decisions/leaf-heads.md).

// firstLinesBelow is the expected number of hits in a leaf below which only
// its first lines are read at first. They are 448 of 1984 bytes, and if they
// do not rule everything out it takes another round trip: for one such leaf
// in eight.
const firstLinesBelow = 1.0 / 8

// HeadsFirst reports whether only the first lines of a leaf with the given
// MBR are to be read in a search of q, because hardly an object is expected
// there.
func HeadsFirst(leaf, q Rect, nodeBytes int) bool {
	const full = 7.0 / 5 / LineBytes // objects per byte
	return covered(leaf.MinX, leaf.MaxX, q.MinX, q.MaxX)*covered(leaf.MinY, leaf.MaxY, q.MinY, q.MaxY)*
		full*float64(nodeBytes) < firstLinesBelow
}

// covered is the share of [a, b] that lies in [c, d].
func covered(a, b, c, d float64) float64 {
	if a == b {
		return 1
	}
	return (min(b, d) - max(a, c)) / (b - a)
}

// HeadBytes is the size of a leaf's first lines, which Misses needs, for
// nodes of nodeBytes.
func HeadBytes(nodeBytes int) int { return LineBytes * (1 + nodeGroups(nodeBytes)) }

// Misses reports whether no object of a leaf intersects q. b is a private copy of the
// first HeadBytes of the leaf, each line read atomically; moves and errors are as with
// ViewNode. If it returns false, the caller must read the whole leaf. (Lines of one
// even version belong to one state, whether they are all of the node's lines or not.)
func Misses(b []byte, nodeBytes int, chunk uint32, moves uint64, q Rect) (bool, error) {
	k := nodeGroups(nodeBytes)
	if k == 0 || len(b) != HeadBytes(nodeBytes) {
		return false, fmt.Errorf("%w: chunk %d: %d bytes of a node of %d", ErrCorrupt, chunk, len(b), nodeBytes)
	}
	_, count, err := checkNode(b, fanoutOf(nodeBytes/8, false), chunk, 0, moves)
	if err != nil {
		return false, err
	}
	first := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(first)%unsafe.Alignof(uint64(0)) != 0 || bigEndian {
		return false, nil
	}
	// SAFETY: as in AppendHits; a scan loads nothing beyond the first lines.
	var m masks
	m.scanLeaf((*uint64)(first), count, &q)
	return m == masks{}, nil
}
