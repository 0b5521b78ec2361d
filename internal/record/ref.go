package record

import "fmt"

// Ref says where a record is, how many bytes of it one read fetches, and which use of
// that place is meant. It is never 0.
//
//	bits   63 ............. 30 | 29 ..... 20 | 19 ........ 0
//	      | place: number of   | lines - 1   | generation   |
//	      | its first line, 34 |          10 |           20 |
//
// 34 bits of lines are 1 TiB. 10 bits of length are 64 KiB, so that any
// record up to that is one read; of a longer one it is the head (layout.go).
//
// Each time a place is used its record has another generation, never 0, of a
// counter that the places of a span share (span.go). The counter comes round
// after 2^20 - 1 records in one span. A span has at most 4096 places, and a
// place is used again no sooner than the base grace (1 s) after the death of
// its last record. So that takes at least 255 s, four times the longest lease
// and more: a client that keeps to its lease meets no generation twice. One that does
// not still needs a record with the same key, generation and first line, and a check
// sum that fits, which is computed with the reference in it: it is then the record of
// that very place, generation and key, alive and whole. That is the newest value of the
// key, under a reference that was given out for an older one.
type Ref uint64

const (
	genBits  = 20
	lenBits  = 10
	genMask  = 1<<genBits - 1
	lenMask  = 1<<lenBits - 1
	maxPlace = 1<<(64-genBits-lenBits) - 1
)

// MaxSlabBytes is the largest slab that references can address.
const MaxSlabBytes = (maxPlace + 1) * LineBytes

func makeRef(place uint64, lines int, gen uint32) Ref {
	return Ref(place<<(genBits+lenBits) | uint64(lines-1)<<genBits | uint64(gen))
}

// place is the number of the first line.
func (r Ref) place() uint64 { return uint64(r) >> (genBits + lenBits) }

// RefAt is the reference with this Offset, Bytes and Generation.
func RefAt(offset uint64, bytes int, generation uint32) Ref {
	return makeRef(offset/LineBytes, bytes/LineBytes, generation)
}

// Generation says which use of the place is meant.
func (r Ref) Generation() uint32 { return r.generation() }

func (r Ref) generation() uint32 { return uint32(r & genMask) }

func (r Ref) lines() int { return int(r>>genBits&lenMask) + 1 }

// Offset is where the record begins in the slab, in bytes.
func (r Ref) Offset() uint64 { return r.place() * LineBytes }

// Bytes is the number of bytes to read there: LineBytes to MaxBlockBytes.
func (r Ref) Bytes() int { return r.lines() * LineBytes }

func (r Ref) String() string {
	return fmt.Sprintf("line %d+%d generation %d", r.place(), r.lines(), r.generation())
}

// Space is a reader's knowledge of a heap: enough to check where a reference leads.
type Space struct {
	// Bytes is the part of the slab, from its front, that the reader can reach. For the
	// heap's own readers that is all of it; for a remote one it is the part that the
	// server had registered when it sent the size (Options.Grow). Nothing but Check
	// depends on it: a record has the same bytes, check sum included, for all.
	Bytes uint64
	// Boot is a number that no other heap has had, of this server or
	// another one, now or before. Check sums are computed with it.
	Boot uint64
}

// Check reports whether the place that ref names lies within the slab, as far as it is
// known. A reference reaches no further than MaxSlabBytes; so a place up to
// there, beyond the known part, may exist by now, and is ErrGrown.
func (s Space) Check(ref Ref) error {
	switch {
	case ref.generation() == 0 || ref.place() < spanLines:
		return fmt.Errorf("%w: %v", ErrRef, ref)
	case ref.place()+uint64(ref.lines()) > s.Bytes/LineBytes:
		return fmt.Errorf("%w: %v, known are %d lines", ErrGrown, ref, s.Bytes/LineBytes)
	}
	return nil
}
