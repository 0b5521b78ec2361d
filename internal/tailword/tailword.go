// Package tailword encodes the tail of a ring that a peer writes by RDMA, as one
// word that the reader looks at. The writer posts it after the bytes that it
// announces. Package rdma promises that a load that sees the word sees these
// bytes ("Order" there).
//
// The word, little-endian:
//
//	bits 0-31    the tail, in units of 8 bytes since the start, modulo 2^32
//	bits 32-63   their complement
//
// Where software copies the word byte by byte, or a socket delivers it in two
// parts, the two halves come from different moments until the whole word has
// arrived. As long as the bytes come in ascending or descending order, the
// halves are complements only if the word is an old or a new one: bytes up to
// some point are new, the others old, and if that point lies in the lower half,
// the upper one is old, so the lower one must be equal to the old, too; the
// same holds for the upper. The reader looks at such a word again when it changes.
//
// Zeroed memory is not a word.
package tailword

import "encoding/binary"

// Bytes is the size of a word. UnitBytes is the unit of tails.
const (
	Bytes     = 8
	UnitBytes = 8
)

// Put writes the word of a tail in bytes, a multiple of UnitBytes, to b.
func Put(b []byte, tail uint64) { binary.LittleEndian.PutUint64(b, Of(tail)) }

// Of is the word of a tail.
func Of(tail uint64) uint64 {
	units := uint32(tail / UnitBytes)
	return uint64(units) | uint64(^units)<<32
}

// Units decodes a word that was loaded in the processor's byte order. Not ok:
// it is not complete.
func Units(loaded uint64) (units uint32, ok bool) {
	var b [Bytes]byte
	binary.NativeEndian.PutUint64(b[:], loaded)
	w := binary.LittleEndian.Uint64(b[:])
	return uint32(w), uint32(w>>32) == ^uint32(w)
}
