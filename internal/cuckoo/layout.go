package cuckoo

import (
	"encoding/binary"
	"fmt"
)

// The slab, as local and remote readers see it. All words are 64 bits,
// little-endian; a line is 64 bytes, eight words called lanes, and begins with
// its version: odd while it is written (publish.go).
//
//	slab   | header | stash: 8 lines | 0 | tables of generation 1 | of 2 | ...
//	       0        64               576 4096
//
//	tables | first: bucket 0 .. n-1 | second: bucket 0 .. n-1 |   n = 2^log2
//
//	header   lane 0    1       2               3      4     5       6     7
//	       | version | magic | layout      u32 | seed | boot| tables| old | 0 |
//	       |         |       | items        u8 |      | id  |       |     |   |
//	       |         |       | stash lines  u8 |      |     |       |     |   |
//	       |         |       | log2         u8 |      |     |       |     |   |
//	       |         |       | generation   u8 |      |     |       |     |   |
// Tables and old are offsets from the slab's start. Old is 0, or the tables
// of the generation before, half as large, while items are moved from there.
//
//	bucket   lane 0    1      2      3      4      5      6            7
//	       | version | ref 0| ref 1| ref 2| ref 3| ref 4| signatures | sig. 4 u16|
//	       |         |      |      |      |      |      | 0-3  4xu16 | gen.    u8|
//	       |         |      |      |      |      |      |            | flags   u8|
//	       |         |      |      |      |      |      |            | kicked u32|
// A reference of 0 is a vacant place; its signature says nothing. A table has
// 1 to 5 items a bucket, and then uses the first places. With one item most of
// the line is unused: that is the paper's table, for comparison.
//
// Generation is that of the tables that the line belongs to, 0 in a line that
// was never written. Flags: 1, moved: what the bucket held is in the next
// generation's tables now, and the rest of the line is old, except for kicked
// and flag 2. 2, stashed: an item with this first bucket was in the stash at
// some time. Kicked is a set of signatures, of which the low 5 bits count: of
// items that went from here to their other bucket. Bits of kicked and flags
// stay as long as the line does. Lines of the stash are buckets of five items
// without flags, of generation 1 always.

const (
	// LineBytes is the size of a line: a cache line, the unit that RDMA
	// Reads and CPU stores exchange atomically.
	LineBytes = 64
	// LayoutVersion is the layout drawn above.
	LayoutVersion uint32 = 1
	// MaxItems is the number of items that fit into a bucket's line.
	MaxItems = 5
	// StashLines is the size of the stash: 512 bytes, one read. With one item a bucket
	// it takes the items that the tables refuse from a load of some 0.49 on until they
	// have grown.
	StashLines = 8
	// StashItems is the capacity of the stash.
	StashItems = StashLines * MaxItems

	magic = uint64('C') | 'F'<<8 | 'C'<<16 | 'U'<<24 | 'C'<<32 |
		'K'<<40 | 'O'<<48 | '\n'<<56

	lanes        = LineBytes / 8
	laneRef      = 1
	laneSigs     = 6
	laneMeta     = 7
	stashOffset  = LineBytes
	firstTables  = 4096 // a page; the header and the stash are on the one before
	stashGen     = 1
	metaGenShift = 16
	metaMoved    = 1 << 24
	metaStashed  = 2 << 24
	kickedShift  = 32
	maxLog2      = 30 // a vertex fits in 32 bits
	maxGen       = 255
)

// Header is a table's header line.
type Header struct {
	Seed       uint64
	BootID     uint64
	Tables     uint64 // offset of the present tables, bytes
	Old        uint64 // offset of those before, 0: not growing
	Items      uint8  // per bucket
	StashLines uint8
	Log2       uint8 // buckets in one of the two present tables: 2^Log2
	Generation uint8 // of the present tables, from 1
}

// tablesBytes is the size of a pair of tables.
func tablesBytes(log2 uint8) uint64 { return 2 << log2 * LineBytes }

func (h *Header) growing() bool { return h.Old != 0 }

// Bucket returns the offset of the line for a hash in the first (0) or second
// (1) of the present tables.
func (h *Header) Bucket(hash uint64, side uint) uint64 {
	return h.Tables + (uint64(side)<<h.Log2+bucketOf(hash, side, uint(h.Log2)))*LineBytes
}

// OldBucket is Bucket in the tables of the generation before. The table must
// be growing.
func (h *Header) OldBucket(hash uint64, side uint) uint64 {
	l := uint(h.Log2) - 1
	return h.Old + (uint64(side)<<l+bucketOf(hash, side, l))*LineBytes
}

// Stash returns the place of the stash, in bytes.
func (h *Header) Stash() (offset uint64, bytes int) {
	return stashOffset, int(h.StashLines) * LineBytes
}

// line packs the header but for the version.
func (h *Header) line() (l Line) {
	l[1] = magic
	l[2] = uint64(LayoutVersion) | uint64(h.Items)<<32 | uint64(h.StashLines)<<40 |
		uint64(h.Log2)<<48 | uint64(h.Generation)<<56
	l[3], l[4], l[5], l[6] = h.Seed, h.BootID, h.Tables, h.Old
	return l
}

// ParseHeader reads a header line that was copied from a slab of which the first
// slabBytes bytes can be reached. It returns ErrTorn if the line is to be read again,
// and ErrGrown if the tables lie beyond. Any bytes are safe: a Header that is returned
// leads nowhere outside of those bytes.
func ParseHeader(b []byte, slabBytes uint64) (Header, error) {
	l, err := ParseLine(b)
	if err != nil {
		return Header{}, err
	}
	h := Header{
		Seed: l[3], BootID: l[4], Tables: l[5], Old: l[6],
		Items: uint8(l[2] >> 32), StashLines: uint8(l[2] >> 40),
		Log2: uint8(l[2] >> 48), Generation: uint8(l[2] >> 56),
	}
	switch {
	case l[1] != magic:
		return Header{}, fmt.Errorf("%w: magic %#x, want %#x", ErrLayout, l[1], magic)
	case uint32(l[2]) != LayoutVersion:
		return Header{}, fmt.Errorf("%w: version %d, want %d", ErrLayout, uint32(l[2]), LayoutVersion)
	case h.Items == 0 || h.Items > MaxItems:
		return Header{}, fmt.Errorf("%w: %d items a bucket, want 1 to %d", ErrCorrupt, h.Items, MaxItems)
	case h.StashLines != StashLines:
		return Header{}, fmt.Errorf("%w: a stash of %d lines, want %d", ErrCorrupt, h.StashLines, StashLines)
	case h.Generation == 0 || h.Log2 > maxLog2 || !placed(h.Tables, h.Log2):
		return Header{}, fmt.Errorf("%w: generation %d, 2^%d buckets at %d",
			ErrCorrupt, h.Generation, h.Log2, h.Tables)
	case h.growing() && (h.Log2 == 0 || h.Generation == 1 || !placed(h.Old, h.Log2-1)):
		return Header{}, fmt.Errorf("%w: generation %d of 2^%d buckets grows from the tables at %d",
			ErrCorrupt, h.Generation, h.Log2, h.Old)
	}
	if err := h.Within(slabBytes); err != nil {
		return Header{}, err
	}
	return h, nil
}

// placed reports whether tables of this size may begin there: only smaller ones precede
// them, which are smaller than these all together. So no header describes memory far
// beyond the tables' own size.
func placed(tables uint64, log2 uint8) bool {
	return tables%LineBytes == 0 && tables >= firstTables && tables-firstTables < tablesBytes(log2)
}

// Within returns ErrGrown unless everything to which the header leads lies in the first
// bytes of the slab.
func (h *Header) Within(bytes uint64) error {
	end := h.Tables + tablesBytes(h.Log2)
	if h.growing() {
		end = max(end, h.Old+tablesBytes(h.Log2-1))
	}
	if end > bytes {
		return fmt.Errorf("%w: generation %d ends at %d, known are %d bytes", ErrGrown, h.Generation, end, bytes)
	}
	return nil
}

// Line is a private copy of a line.
type Line [lanes]uint64

// ParseLine takes a copy of a line, all of which was read at one instant. It
// returns ErrTorn if a writer was changing it.
func ParseLine(b []byte) (l Line, err error) {
	if len(b) < LineBytes {
		return l, fmt.Errorf("%w: %d bytes of a line, want %d", ErrCorrupt, len(b), LineBytes)
	}
	for i := range l {
		l[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	if l[0]&1 != 0 {
		return l, ErrTorn
	}
	return l, nil
}

// Version is the line's version.
func (l *Line) Version() uint64 { return l[0] }

// Generation is the generation of the tables that the line belongs to.
func (l *Line) Generation() uint8 { return uint8(l[laneMeta] >> metaGenShift) }

// Moved reports whether the bucket's items are in the next generation.
func (l *Line) Moved() bool { return l[laneMeta]&metaMoved != 0 }

// Stashed reports whether an item of this first bucket was put into the stash.
func (l *Line) Stashed() bool { return l[laneMeta]&metaStashed != 0 }

// Kicked reports whether an item with the signature of this hash may have gone
// from here to its other bucket at some time.
func (l *Line) Kicked(hash uint64) bool {
	return l[laneMeta]>>kickedBit(signatureOf(hash))&1 != 0
}

func kickedBit(sig uint16) uint { return kickedShift + uint(sig&31) }

// ref and signature are of the item at place i.
func (l *Line) ref(i int) uint64 { return l[laneRef+i] }

func (l *Line) signature(i int) uint16 {
	return uint16(l[laneSigs+i/4] >> (16 * (i % 4)))
}

// set puts an item at place i; ref 0 vacates it.
func (l *Line) set(i int, sig uint16, ref uint64) {
	l[laneRef+i] = ref
	at := 16 * (i % 4)
	w := &l[laneSigs+i/4]
	*w = *w&^(0xFFFF<<at) | uint64(sig)<<at
}

// vacant returns the first vacant one of the first places, or -1.
func (l *Line) vacant(items int) int {
	for i := range items {
		if l[laneRef+i] == 0 {
			return i
		}
	}
	return -1
}

// AppendCandidates appends to dst the references of the line whose signature
// is that of the hash and which dst[from:] does not hold.
func (l *Line) AppendCandidates(dst []uint64, from int, hash uint64) []uint64 {
	sig := signatureOf(hash)
	// A lane of 16 bits is 0 where the signatures are equal; the usual test
	// for zero lanes misses none, and may take the one above a zero for
	// another, which the loop sorts out.
	const ones, tops = 0x0001000100010001, 0x8000800080008000
	x := l[laneSigs] ^ uint64(sig)*ones
	if (x-ones)&^x&tops == 0 && uint16(l[laneMeta]) != sig {
		return dst
	}
next:
	for i := range MaxItems {
		r := l.ref(i)
		if r == 0 || l.signature(i) != sig {
			continue
		}
		for _, d := range dst[from:] {
			if d == r {
				continue next
			}
		}
		dst = append(dst, r)
	}
	return dst
}
