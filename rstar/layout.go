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
//	line 0  | version | level u16 | stamp | min id| max id| 0 |
//	        |         | count u16 |       |       |       |   |
//	        |         | chunk u32 |       |       |       |   |
//	then k groups of five lines, each group with seven entries e0..e6:
//	line +0 | version | min x of e0 ... e6 |
//	line +1 | version | min y of e0 ... e6 |
//	line +2 | version | max x of e0 ... e6 |
//	line +3 | version | max y of e0 ... e6 |
//	line +4 | version | ref   of e0 ... e6 |  child chunk, or object id
//
// The first field of a packed lane takes the low bits. Entries are dense:
// those from count on hold the empty box (minima +Inf, maxima -Inf) and
// reference 0, so a SIMD scan needs no count, and lane 0 is masked away.
//
// Min id and max id bound the object ids of the subtree, not always
// tightly. They belong to the writer, which tells equal rectangles apart
// by them (choose.go). Readers must ignore them: they change in place,
// without a new version.

const (
	// LineBytes is the size of a cache line on x86-64 and of the unit
	// that RDMA reads and CPU stores exchange atomically.
	LineBytes = 64
	// LayoutVersion is the layout drawn above.
	LayoutVersion uint32 = 1
	// HeaderBytes is the part of chunk 0 that ParseHeader wants.
	HeaderBytes = 2 * LineBytes
	// DefaultNodeBytes is k = 6, 42 entries: the middle of the range
	// that the design leaves to measurement.
	DefaultNodeBytes = LineBytes * (1 + linesPerGroup*6)
	// DefaultSlabBytes is address space; memory is used when touched.
	// At 2 KB for some 35 entries it holds about 18 million objects.
	DefaultSlabBytes int64 = 1 << 30

	magic = uint64('C') | 'F'<<8 | 'R'<<16 | 'S'<<24 | 'T'<<32 |
		'A'<<40 | 'R'<<48 | '\n'<<56

	lanes          = LineBytes / 8
	linesPerGroup  = 5
	groupEntries   = lanes - 1
	minGroups      = 2  // 14 entries: 40 % are 5, splits still mean something
	maxGroups      = 12 // 61 lines: a set of lines fits in one uint64
	maxFanout      = maxGroups * groupEntries
	groupWords     = linesPerGroup * lanes
	fieldMinY      = 1 * lanes // offsets from an entry's min x word
	fieldMaxX      = 2 * lanes
	fieldMaxY      = 3 * lanes
	fieldRef       = 4 * lanes
	laneMeta       = 1
	laneStamp      = 2
	laneMinID      = 3
	laneMaxID      = 4
	freeLevel      = 0xFFFF // level of a freed chunk: no search expects it
	headerDynamic  = lanes  // first word of header line 1
	minSlabChunks  = 256    // room for the reserve of tx.go at every fanout
	maxSlabChunks  = 1<<32 - 1
	initialVersion = 2
)

// maxHeight bounds the levels of any tree: with a minimum fill of 5 (the
// smallest fanout, 14) a tree of 2^32 chunks has at most 15 levels.
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

// slotWord[i] is the index of entry i's min x word in a node.
var slotWord = func() (t [maxFanout]uint16) {
	for i := range t {
		g, j := i/groupEntries, i%groupEntries
		t[i] = uint16(lanes + g*groupWords + 1 + j)
	}
	return t
}()

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
