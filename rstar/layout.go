package rstar

import (
	"fmt"
	"unsafe"
)

// The slab, as local and remote readers see it. All words are 64 bits,
// little-endian; a line is 64 bytes, eight words called lanes. Every line
// begins with its version, so that whoever reads line by line can tell
// which state each line belongs to (publish.go).
//
//	slab     | chunk 0: header | chunk 1: node | chunk 2: node | ...
//	           a chunk is NodeBytes = 64*(1+5k) bytes, k in 2..12
//
//	header   lane 0    1           2             3         4       5-7
//	line 0  | 2       | magic     | layout u32  | chunk   | boot  | 0 |
//	        |         |           | bytes  u32  | capacity| id    |   |
//	line 1  | version | root u32  | object      | move    | chunks| 0 |
//	        |         | height u32| count       | counter | used  |   |
//	the rest of chunk 0 is unused; line 0 never changes
//
//	node     lane 0    1           2       3       4       5-7
//	line 0  | version | level u16 | stamp | min id| max id| frame |
//	        |         | count u16 |       |       |       | x y s |
//	        |         | chunk u32 |       |       |       |       |
//	then k groups of five lines. A leaf's group has seven entries:
//	line +0 | version | min x of e0 ... e6 |  float64
//	line +1 | version | min y of e0 ... e6 |  float64
//	line +2 | version | max x of e0 ... e6 |  float64
//	line +3 | version | max y of e0 ... e6 |  float64
//	line +4 | version | ref   of e0 ... e6 |  object id, u64
//	An internal node's group has fourteen, two to a lane:
//	line +0 | version | min x of e0 e1 | ... | e12 e13 |  float32
//	line +1 | version | min y of e0 e1 | ... | e12 e13 |  float32
//	line +2 | version | max x of e0 e1 | ... | e12 e13 |  float32
//	line +3 | version | max y of e0 e1 | ... | e12 e13 |  float32
//	line +4 | version | ref   of e0 e1 | ... | e12 e13 |  child chunk, u32
//
// The first field of a packed lane takes the low bits. Entries are dense:
// those from count on hold the empty box (minima +Inf, maxima -Inf) and
// reference 0, and lane 0 is masked away in a scan.
//
// The boxes of an internal node are in units of its frame (frame.go):
// float32 offsets from a point near the node's center, rounded outwards.
// So they cover their child a little generously; answers are exact by the
// leaves. A leaf has a frame, too, whose point is the center that its
// box had when it was made; the split looks at that (split.go).
//
// Min id and max id bound the object ids of the subtree, not always
// tightly. They belong to the writer, which tells equal rectangles apart
// by them (choose.go). Readers must ignore them: they change in place,
// without a new version.

const (
	// LineBytes is the size of a cache line on x86-64 and of the unit
	// that RDMA reads and CPU stores exchange atomically.
	LineBytes = 64
	// LayoutVersion is the layout drawn above. Version 1 had float64
	// boxes in internal nodes, too, and no frame.
	LayoutVersion uint32 = 2
	// HeaderBytes is the part of chunk 0 that ParseHeader wants.
	HeaderBytes = 2 * LineBytes
	// DefaultNodeBytes is k = 6: 42 objects or 84 children
	// (docs/decisions/node-size.md).
	DefaultNodeBytes = LineBytes * (1 + linesPerGroup*6)
	// DefaultSlabBytes is address space; memory is used when touched.
	// At 2 KB for some 35 entries it holds about 18 million objects.
	DefaultSlabBytes int64 = 1 << 30

	magic = uint64('C') | 'F'<<8 | 'R'<<16 | 'S'<<24 | 'T'<<32 |
		'A'<<40 | 'R'<<48 | '\n'<<56

	lanes          = LineBytes / 8
	linesPerGroup  = 5
	leafGroup      = lanes - 1       // entries of a leaf's group
	innerGroup     = 2 * (lanes - 1) // entries of an internal node's
	minGroups      = 2               // 14 objects: 20 % are 2, splits still mean something
	maxGroups      = 12              // 61 lines: a set of lines fits in one uint64
	maxLeafFanout  = maxGroups * leafGroup
	maxFanout      = maxGroups * innerGroup
	groupWords     = linesPerGroup * lanes
	fieldMinY      = 1 * lanes // offsets from an entry's min x: in a leaf
	fieldMaxX      = 2 * lanes // words, in an internal node twice as many
	fieldMaxY      = 3 * lanes // half words
	fieldRef       = 4 * lanes
	laneMeta       = 1
	laneStamp      = 2
	laneMinID      = 3
	laneMaxID      = 4
	laneFrameX     = 5
	laneFrameY     = 6
	laneFrameScale = 7
	freeLevel      = 0xFFFF // level of a freed chunk: no search expects it
	headerDynamic  = lanes  // first word of header line 1
	minSlabChunks  = 256    // room for the reserve of tx.go at every fanout
	maxSlabChunks  = 1<<32 - 1
	initialVersion = 2
)

// maxHeight bounds the levels of any tree: with a minimum fill of 5 (20 %
// of the smallest internal fan-out, 28) a tree of 2^32 chunks has at most
// 15 levels.
const maxHeight = 16

// nodeGroups returns k for a node size, or 0 if no layout has that size.
func nodeGroups(bytes int) int {
	for k := minGroups; k <= maxGroups; k++ {
		if bytes == LineBytes*(1+linesPerGroup*k) {
			return k
		}
	}
	return 0
}

// leafSlot[i] is the index of entry i's min x in a leaf, in words;
// innerSlot[i] that in an internal node, in half words.
var leafSlot, innerSlot = func() (leaf [maxLeafFanout]uint16, inner [maxFanout]uint16) {
	for i := range leaf {
		leaf[i] = uint16(lanes + i/leafGroup*groupWords + 1 + i%leafGroup)
	}
	for i := range inner {
		inner[i] = uint16(2*(lanes+i/innerGroup*groupWords) + 2 + i%innerGroup)
	}
	return leaf, inner
}()

// slotLine returns the line of entry i's min x; the other fields are on
// the four after it.
func slotLine(level, i int) int {
	if level == 0 {
		return int(leafSlot[i]) / lanes
	}
	return int(innerSlot[i]) / (2 * lanes)
}

func packMeta(level, count int, chunk uint32) uint64 {
	return uint64(level)&0xFFFF | uint64(count)&0xFFFF<<16 | uint64(chunk)<<32
}

func unpackMeta(m uint64) (level, count int, chunk uint32) {
	return int(m & 0xFFFF), int(m >> 16 & 0xFFFF), uint32(m >> 32)
}

// checkEndian fails where the machine's words are not the layout's.
func checkEndian() error {
	one := uint64(1)
	if *(*byte)(unsafe.Pointer(&one)) != 1 {
		return fmt.Errorf("%w: the layout is little-endian, this machine is not",
			ErrLayout)
	}
	return nil
}
