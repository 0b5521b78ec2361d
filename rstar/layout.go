package rstar

import (
	"fmt"
	"unsafe"
)

// The slab, as local and remote readers see it. All words are 64 bits, little-endian; a
// line is 64 bytes, eight words called lanes. Every line begins with its version, so
// that a reader of single lines sees to which state each line belongs (publish.go).
//
//	slab     | chunk 0: header | chunk 1: node | chunk 2: node | ...
//	           a chunk is NodeBytes = 64*(1+5k) bytes, k in 2..12
//
//	header   lane 0    1           2             3         4       5        6-7
//	line 0  | 2       | magic     | layout u32  | chunk   | boot  | object | 0 |
//	        |         |           | bytes  u32  | capacity| id    | count  |   |
//	line 1  | version | root u32  | 0           | move    | chunks| 0      | 0 |
//	        |         | height u32|             | counter | used  |        |   |
// the rest of chunk 0 is unused. In line 0 nothing changes but the object
// count, which is updated in place after each write. It is not in line 1,
// which every search reads: line 1 changes only with moves, and so stays in
// the caches of searching cores.
//
//	node     lane 0    1           2       3       4       5-7
//	line 0  | version | level u16 | stamp | min id| max id| frame |
//	        |         | count u16 |       |       |       | x y s |
//	        |         | chunk u32 |       |       |       |       |
// An internal node continues with k groups of five lines. A group has
// fourteen children, two to a lane:
//	line +0 | version | min x of e0 e1 | ... | e12 e13 |  float32
//	line +1 | version | min y of e0 e1 | ... | e12 e13 |  float32
//	line +2 | version | max x of e0 e1 | ... | e12 e13 |  float32
//	line +3 | version | max y of e0 e1 | ... | e12 e13 |  float32
//	line +4 | version | ref   of e0 e1 | ... | e12 e13 |  child chunk, u32
//
// A leaf continues with k lines of high bits, each for a group of seven
// objects, then four lines of low bits and ids for each group:
//	high    | version | e0 | e1 | ... | e6 |  of one: 4 x u16,
//	                                          min x, min y, ~max x, ~max y
//	line +0 | version | low bits of e0 | low bits of e1 | id of e0 |
//	line +1 | version | low bits of e2 | low bits of e3 | id of e2 |
//	line +2 | version | low bits of e4 | low bits of e5 | id of e4 |
//	line +3 | version | low bits of e6 | id of e1, e3, e5, e6      |
//	        low bits: 4 x 48, min x, min y, max x, max y; ids: u64
//
// The first field of a packed lane takes the low bits. Entries are dense:
// those from count on are unused. In an internal node they hold the empty box
// (minima +Inf, maxima -Inf) and reference 0; in a leaf, zeros. Scans mask
// lane 0 out.
//
// The boxes of an internal node are in units of its frame (frame.go): float32
// offsets from a point near the node's center, rounded outwards. So they
// cover their child with a little to spare; the leaves make answers exact.
// There the high and low bits together are a float64, bit by bit (leaf.go):
// most searches end at the high bits, and touch a quarter of a leaf.
//
// Min id and max id bound the object ids of the subtree, not always tightly.
// They belong to the writer, which uses them to distinguish equal rectangles
// (choose.go). Readers must ignore them: they change in place, without a new
// version.

const (
	// LineBytes is the size of a cache line on x86-64 and of the unit
	// that RDMA reads and CPU stores exchange atomically.
	LineBytes = 64
	// LayoutVersion is the layout drawn above. Version 1 had float64
	// boxes in internal nodes, too, and no frame; version 2 had whole
	// float64 in leaves.
	LayoutVersion uint32 = 3
	// HeaderBytes is the part of chunk 0 that ParseHeader needs.
	HeaderBytes = 2 * LineBytes
	// DefaultNodeBytes is k = 6: 42 objects or 84 children
	// (docs/decisions/node-size.md).
	DefaultNodeBytes = LineBytes * (1 + linesPerGroup*6)
	// DefaultSlabBytes is address space; memory is allocated when touched. At
	// 2 KB for some 35 entries it holds about 18 million objects.
	DefaultSlabBytes int64 = 1 << 30

	magic = uint64('C') | 'F'<<8 | 'R'<<16 | 'S'<<24 | 'T'<<32 |
		'A'<<40 | 'R'<<48 | '\n'<<56

	lanes          = LineBytes / 8
	linesPerGroup  = 5
	leafGroup      = lanes - 1       // entries of a leaf's group
	innerGroup     = 2 * (lanes - 1) // entries of an internal node's
	minGroups      = 2               // 14 objects: 20 % are 2, so splits still have a choice
	maxGroups      = 12              // 61 lines: a set of lines fits in one uint64
	maxLeafFanout  = maxGroups * leafGroup
	maxFanout      = maxGroups * innerGroup
	groupWords     = linesPerGroup * lanes
	lowLines       = 4             // of a leaf's group
	fieldMinY      = 2 * 1 * lanes // offsets from a child's min x, in half
	fieldMaxX      = 2 * 2 * lanes // words
	fieldMaxY      = 2 * 3 * lanes
	fieldRef       = 2 * 4 * lanes
	laneMeta       = 1
	laneStamp      = 2
	laneMinID      = 3
	laneMaxID      = 4
	laneFrameX     = 5
	laneFrameY     = 6
	laneFrameScale = 7
	freeLevel      = 0xFFFF // level of a freed chunk: no search expects it
	headerCount    = 5
	headerDynamic  = lanes // first word of header line 1
	minSlabChunks  = 256   // room for the reserve of tx.go at every fanout
	maxSlabChunks  = 1<<32 - 1
	initialVersion = 2
)

// maxHeight bounds the levels of any tree: with a minimum fill of 5 (20 %
// of 28, the smallest internal fan-out, or 40 % of 14 with OriginalDoubles)
// a tree of 2^32 chunks has at most 15 levels.
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

// innerSlot[i] is the index of child i's min x, in half words. Object i's
// high bits are the word highSlot[i]; its low bits are three words from
// lowSlot[i], its id is at idSlot[i], both counted from where a leaf's lines
// of high bits end.
var innerSlot, highSlot, lowSlot, idSlot = func() (inner [maxFanout]uint16, high, low, id [maxLeafFanout]uint16) {
	for i := range inner {
		inner[i] = uint16(2*(lanes+i/innerGroup*groupWords) + 2 + i%innerGroup)
	}
	for i := range high {
		g, e := i/leafGroup, i%leafGroup
		group := lanes + g*lowLines*lanes // after the header's line
		high[i] = uint16(lanes + g*lanes + 1 + e)
		low[i] = uint16(group + e/2*lanes + 1 + e%2*3)
		if e%2 == 0 {
			id[i] = uint16(group + e/2*lanes + 7)
		} else {
			id[i] = uint16(group + 3*lanes + 4 + e/2)
		}
	}
	return inner, high, low, id
}()

// childLines is the set of lines that hold child i's box, without its
// reference.
func childLines(i int) uint64 {
	return (1<<(linesPerGroup-1) - 1) << (int(innerSlot[i]) / (2 * lanes))
}

// objectLines is the set of lines that hold object i of a leaf of k groups.
func objectLines(i, k int) uint64 {
	return 1<<(highSlot[i]/lanes) | (1<<(lowSlot[i]/lanes)|1<<(idSlot[i]/lanes))<<k
}

func packMeta(level, count int, chunk uint32) uint64 {
	return uint64(level)&0xFFFF | uint64(count)&0xFFFF<<16 | uint64(chunk)<<32
}

func unpackMeta(m uint64) (level, count int, chunk uint32) {
	return int(m & 0xFFFF), int(m >> 16 & 0xFFFF), uint32(m >> 32)
}

// checkEndian fails where the machine's byte order is not the layout's.
func checkEndian() error {
	one := uint64(1)
	if *(*byte)(unsafe.Pointer(&one)) != 1 {
		return fmt.Errorf("%w: the layout is little-endian, this machine is not",
			ErrLayout)
	}
	return nil
}
