package record

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
)

// The slab, as local and remote readers see it. Numbers are little-endian; a
// line is 64 bytes. Spans of 256 KiB are divided into places of one size
// each (class.go); the first span holds the header only.
//
//	header  0        8            16      24
//	       | magic  | layout u32 | slab  | boot |
//	       |        | 0      u32 | bytes |      |
//
//	record  0          8       16         20      24         32
//	       | guardian | lease | check sum| value | revision | expiry, key, value
//	       |          |       |      u32 | bytes |          | if any
//	                                     '------- in the check sum ----------'
//
//	guardian  bits  0-19   20      21-22   23       24-31   32-47   48-63
//	               | gen. | alive | kind  | expires| 0     | bytes | flags |
//	               |      |       |       |        |       | of key|       |
//
// The expiry, 8 bytes, is present if the guardian says so: few records have one.
//
// The guardian changes once, when the record dies. The lease word belongs to
// the writer (lease.go); readers ignore it. All else is immutable until the
// place is used again. The check sum (CRC-32C) begins with a mixture of the
// heap's boot number, the reference and the guardian without "alive", so
// these are in it, too. A key of 16 bytes and a value of 32 are two lines,
// with a value of 16 one.
//
// A value may be in several places: because the record would exceed 64 KiB, or because
// no free place is as large as that. Then there is a head (kind 1), which has, in the
// value's stead, from the first multiple of 8 after the key on, a number of blocks,
// u64, and as many references to them:
//
//	block   0          8       16         20      24
//	       | guardian | head  | check sum| bytes | bytes of the value
//	       | kind 2   |       |          | of it |
//
// All blocks but the last are full to the end of their last line, so that references
// determine which part of the value is in which block. The word "head" is the reference
// of the head, for the writer.
//
// A list in the head instead of links from block to block: all blocks are read in one
// round trip, whatever the length, and no loop can trap a reader. There are no places
// larger than 64 KiB: that is the most that a reference reads, all spans are alike, and
// a long record needs no contiguous memory.

const (
	// LineBytes is the unit that RDMA reads and CPU stores exchange whole.
	LineBytes = 64
	// LayoutVersion is the layout drawn above. In version 1 all records had an
	// expiry.
	LayoutVersion uint32 = 2
	// HeaderBytes is the part of the slab that ParseHeader needs.
	HeaderBytes = LineBytes
	// MaxBlockBytes is the most that one reference reads.
	MaxBlockBytes = (lenMask + 1) * LineBytes
	// MaxKeyBytes is a page: more than the 512 bytes of a feature's id, and
	// little enough for a head to have room for the references of a value
	// of MaxValueBytes.
	MaxKeyBytes = 4096
	// MaxValueBytes is 4098 blocks, if they are of the largest size.
	MaxValueBytes = 1 << 28

	magic = uint64('C') | 'F'<<8 | 'R'<<16 | 'E'<<24 | 'C'<<32 |
		'O'<<40 | 'R'<<48 | '\n'<<56

	offLease    = 8
	offSum      = 16
	offLen      = 20 // first byte in the check sum
	offRevision = 24
	headBytes   = 32 // without an expiry
	offExpiry   = headBytes
	expiryBytes = 8
	offData     = 24 // of a block
	blockBytes  = MaxBlockBytes - offData
	refBytes    = 8
	countBytes  = 8

	aliveBit   = 1 << genBits
	kindShift  = genBits + 1
	kindMask   = 3
	expiresBit = 1 << (kindShift + 2)
	guardZeros = (1<<32 - 1) &^ (2*expiresBit - 1)
	keyShift   = 32
	flagShift  = 48
)

// Kinds of places.
const (
	plainKind = iota
	longKind
	blockKind
)

// A guard is a guardian word.
type guard uint64

func makeGuard(gen uint32, kind, keyBytes int, flags uint16) guard {
	return guard(gen) | guard(kind)<<kindShift | guard(keyBytes)<<keyShift | guard(flags)<<flagShift
}

func (g guard) generation() uint32 { return uint32(g & genMask) }
func (g guard) alive() bool        { return g&aliveBit != 0 }
func (g guard) kind() int          { return int(g >> kindShift & kindMask) }
func (g guard) keyBytes() int      { return int(g >> keyShift & 0xFFFF) }
func (g guard) expires() bool      { return g&expiresBit != 0 }
func (g guard) flags() uint16      { return uint16(g >> flagShift) }

func linesOf(bytes int) int { return (bytes + LineBytes - 1) / LineBytes }

// keyAt and keyEnd are where the key of a record is.
func (g guard) keyAt() int {
	if g.expires() {
		return headBytes + expiryBytes
	}
	return headBytes
}

func (g guard) keyEnd() int { return g.keyAt() + g.keyBytes() }

// expiry returns the expiry of the record with the bytes b, 0: none.
func (g guard) expiry(b []byte) int64 {
	if g.expires() {
		return int64(word(b, offExpiry))
	}
	return 0
}

// keyEnd is where the key ends in the record made of r.
func (r *Record) keyEnd() int {
	if r.Expiry != 0 {
		return headBytes + expiryBytes + len(r.Key)
	}
	return headBytes + len(r.Key)
}

// PlaceBytes is the size of a record in lines, without what its place has besides, or
// the heads of its blocks.
func PlaceBytes(keyBytes, valueBytes int, expires bool) int {
	n := headBytes + keyBytes + valueBytes
	if expires {
		n += expiryBytes
	}
	return linesOf(n) * LineBytes
}

// blocksAt is where a head's references begin, after their number.
func blocksAt(keyEnd int) int { return (keyEnd+7)&^7 + countBytes }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checkSum is that of b, the bytes of a place from its guardian to the end of
// the record. What the sum begins with is hashed by the finaliser of
// SplitMix64: where only that differs, sums are equal once in 2^32.
func (s Space) checkSum(ref Ref, g guard, b []byte) uint32 {
	h := mix(s.Boot ^ mix(uint64(ref)^mix(uint64(g&^aliveBit))))
	if mutant == keyUnchecked && g.kind() == plainKind {
		sum := crc32.Update(uint32(h), castagnoli, b[offLen:g.keyAt()])
		return crc32.Update(sum, castagnoli, b[g.keyEnd():])
	}
	return crc32.Update(uint32(h), castagnoli, b[offLen:])
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

func word(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

func half(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }

// writeHeader fills the header of an empty slab.
func (s Space) writeHeader(b []byte) {
	binary.LittleEndian.PutUint64(b[8:], uint64(LayoutVersion))
	binary.LittleEndian.PutUint64(b[16:], s.Bytes)
	binary.LittleEndian.PutUint64(b[24:], s.Boot)
	binary.LittleEndian.PutUint64(b, magic)
}

// ParseHeader reads the header of a slab of which the first HeaderBytes are b. Its
// Space says that all of the slab can be reached; a client that was sent a smaller size
// sets Bytes. Any bytes are safe.
func ParseHeader(b []byte) (Space, error) {
	if len(b) < HeaderBytes {
		return Space{}, fmt.Errorf("%w: %d bytes of a header, want %d", ErrMalformed, len(b), HeaderBytes)
	}
	s := Space{Bytes: word(b, 16), Boot: word(b, 24)}
	switch {
	case word(b, 0) != magic:
		return Space{}, fmt.Errorf("%w: magic %#x, want %#x", ErrMalformed, bits.ReverseBytes64(word(b, 0)), bits.ReverseBytes64(magic))
	case word(b, 8) != uint64(LayoutVersion):
		return Space{}, fmt.Errorf("%w: layout version %d, want %d", ErrMalformed, word(b, 8), LayoutVersion)
	case s.Bytes%SpanBytes != 0 || s.Bytes < 2*SpanBytes || s.Bytes > MaxSlabBytes:
		return Space{}, fmt.Errorf("%w: slab of %d bytes, want a multiple of %d up to %d", ErrMalformed, s.Bytes, SpanBytes, uint64(MaxSlabBytes))
	}
	return s, nil
}
