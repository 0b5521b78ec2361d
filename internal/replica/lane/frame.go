package lane

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/catfish-index/catfish/internal/rdma"
)

// A frame, at a multiple of 8 bytes in the ring:
//
//	offset width
//	0      4     bytes of the frame, a multiple of 8
//	4      1     kind
//	5      1     flags
//	6      2     0
//	8      8     term of the sender, from 1
//	16     8     session, from 1
//	24     8     revision of the batch's first entry, or of the next one
//	32     8     committed revision
//	40     8     when it was sent, by the sender's clock
//	48     4     entries of the batch
//	52     4     bytes of payload
//	56     4     CRC-32C of the frame with 0 here; of a pad, of its header
//	60     4     0
//	64           payload, then 0 to 7 bytes 0
//
// A frame does not wrap. If it does not fit before the end of the ring it begins
// at the start, and the bytes up to the end are a pad; if they are fewer than a
// header, they are a gap, in which nothing is written.
const (
	HeaderBytes = 64

	offKind      = 4
	offFlags     = 5
	offReserved  = 6
	offTerm      = 8
	offSession   = 16
	offFirst     = 24
	offCommitted = 32
	offSent      = 40
	offEntries   = 48
	offPayload   = 52
	offSum       = 56
	offReserved2 = 60

	// align is the unit of frames, and of the tail word.
	align = 8
)

// MaxRingBytes bounds rings, and with them frames: the tail word counts 2^32
// units of 8 bytes, which are 32 rings, so a tail that ran ahead is seen.
const MaxRingBytes = 1 << 30

// MinRingBytes is a page, the unit of registered memory.
const MinRingBytes = 4096

// MaxFrame is the longest frame of a ring: so it fits, with the gap before it, wherever
// it begins.
func MaxFrame(ring int) int { return ring / 2 }

// RegionBytes is the memory of a ring: the tail word has a line of its own after it.
//
//	ring                                            tail word, a line of its own
//	+--------+-----+---------------+--------+       +--------+------------+
//	| frames | new |               | frames |       | 8 bytes|  56 unused |
//	+--------+-----+---------------+--------+       +--------+------------+
//	          1. Write: the frame                     2. Write: the new tail
func RegionBytes(ring int) uint64 { return uint64(ring) + rdma.LineBytes }

// Kind says what a frame is.
type Kind uint8

const (
	Entries Kind = 1 + iota // a batch, or a part of one
	Pad                     // nothing, up to the end of the ring
	Beacon                  // the primary lives: term, committed revision and time
	endOfKinds
)

// Flags of a frame.
type Flags uint8

const (
	// Continues: the payload follows that of the frame before.
	Continues Flags = 1 << iota
	// Ends: the payload is the end of the batch's.
	Ends
	// Start: the first frame of a session, which a batch may have in its first part.
	Start
	// Ask: the sender wants an acknowledgement. Only base lines that do not get one
	// of each frame anyway set it.
	Ask

	allFlags = Continues | Ends | Start | Ask
)

// Frame is a decoded frame, or one to encode.
type Frame struct {
	Kind      Kind
	Flags     Flags
	Term      uint64
	Session   uint64
	First     uint64 // revision of the batch's first entry; of a Beacon, the next one
	Committed uint64
	Entries   uint32 // of the whole batch
	Sent      uint64
	Payload   []byte
}

// Size is how many bytes of the ring a frame with n bytes of payload takes.
func Size(n int) int { return (HeaderBytes + n + align - 1) &^ (align - 1) }

// Gap is how many bytes a writer at offset at of a ring leaves before a frame of
// that size: 0, or all up to the end of the ring. If they are HeaderBytes or more,
// the writer makes them a pad. A reader finds fewer before the end, and skips them.
func Gap(at, ring, size int) int {
	if left := ring - at; size > left {
		return left
	}
	return 0
}

// Put encodes f into the first Size(len(f.Payload)) bytes of b. Payload may
// already be in its place in b. Not for pads.
func (f *Frame) Put(b []byte) {
	size := Size(len(f.Payload))
	b = b[:size]
	copy(b[HeaderBytes:], f.Payload)
	clear(b[HeaderBytes+len(f.Payload):])
	f.putHeader(b, size)
	binary.LittleEndian.PutUint32(b[offSum:], sum(b, offSum))
}

// PutPad makes all of b a pad: at least HeaderBytes, a multiple of 8.
func PutPad(b []byte, term uint64) {
	f := Frame{Kind: Pad, Term: term}
	f.putHeader(b, len(b))
	binary.LittleEndian.PutUint32(b[offSum:], sum(b[:HeaderBytes], offSum))
}

func (f *Frame) putHeader(b []byte, size int) {
	clear(b[:HeaderBytes])
	le := binary.LittleEndian
	le.PutUint32(b, uint32(size))
	b[offKind], b[offFlags] = byte(f.Kind), byte(f.Flags)
	le.PutUint64(b[offTerm:], f.Term)
	le.PutUint64(b[offSession:], f.Session)
	le.PutUint64(b[offFirst:], f.First)
	le.PutUint64(b[offCommitted:], f.Committed)
	le.PutUint32(b[offEntries:], f.Entries)
	le.PutUint32(b[offPayload:], uint32(len(f.Payload)))
	le.PutUint64(b[offSent:], f.Sent)
}

// Head returns the size of the frame that begins with b, of which it looks at
// HeaderBytes. most is what the tail word has announced before the ring's end.
// The check sum is not looked at: that is for Decode.
func Head(b []byte, most int) (size int, kind Kind, err error) {
	if len(b) < HeaderBytes || most < HeaderBytes {
		return 0, 0, fmt.Errorf("%w frame: %d bytes of it are announced, a header has %d", ErrInvalid, min(len(b), most), HeaderBytes)
	}
	n, kind := binary.LittleEndian.Uint32(b), Kind(b[offKind])
	switch {
	case kind == 0 || kind >= endOfKinds:
		return 0, 0, fmt.Errorf("%w frame: kind %d, known are 1 to %d", ErrInvalid, kind, endOfKinds-1)
	case n%align != 0 || n < HeaderBytes || uint64(n) > uint64(most):
		return 0, 0, fmt.Errorf("%w frame: %d bytes, allowed are multiples of %d from %d to %d",
			ErrInvalid, n, align, HeaderBytes, most)
	}
	return int(n), kind, nil
}

// Decode decodes a frame from b, a private copy of as many bytes as Head has
// said, or of a pad at least of its header. Payload is part of b. It does not
// look into the payload, and the caller compares terms and revisions with its own.
func Decode(b []byte) (f Frame, err error) {
	size, kind, err := Head(b, MaxRingBytes)
	if err != nil {
		return f, err
	}
	if kind == Pad {
		size = HeaderBytes
	}
	if len(b) < size {
		return f, fmt.Errorf("%w frame: %d bytes of %d", ErrInvalid, len(b), size)
	}
	b = b[:size]
	le := binary.LittleEndian
	if want, is := le.Uint32(b[offSum:]), sum(b, offSum); want != is {
		return f, fmt.Errorf("%w: frame of %d bytes, %#08x, computed %#08x", ErrSum, size, want, is)
	}
	f = Frame{
		Kind:      kind,
		Flags:     Flags(b[offFlags]),
		Term:      le.Uint64(b[offTerm:]),
		Session:   le.Uint64(b[offSession:]),
		First:     le.Uint64(b[offFirst:]),
		Committed: le.Uint64(b[offCommitted:]),
		Entries:   le.Uint32(b[offEntries:]),
		Sent:      le.Uint64(b[offSent:]),
	}
	n := le.Uint32(b[offPayload:])
	if uint64(n) > uint64(size-HeaderBytes) || Size(int(n)) != size {
		return Frame{}, fmt.Errorf("%w frame: payload of %d bytes in a frame of %d", ErrInvalid, n, size)
	}
	f.Payload = b[HeaderBytes : HeaderBytes+n : HeaderBytes+n]
	if err := f.validate(b[HeaderBytes+n:], le.Uint16(b[offReserved:]), le.Uint32(b[offReserved2:])); err != nil {
		return Frame{}, err
	}
	return f, nil
}

// validate checks what a check sum does not: that the sender is correct.
func (f *Frame) validate(fill []byte, reserved uint16, reserved2 uint32) error {
	for _, b := range fill {
		if b != 0 {
			return fmt.Errorf("%w frame: byte %#x after the payload, want 0", ErrInvalid, b)
		}
	}
	batch := f.Kind == Entries
	var what string
	switch {
	case reserved != 0 || reserved2 != 0:
		what = fmt.Sprintf("reserved bytes %#x and %#x, want 0", reserved, reserved2)
	case f.Term == 0:
		what = "term 0, terms begin with 1"
	case f.Session == 0 && f.Kind != Pad:
		what = "session 0, sessions begin with 1"
	case f.Flags&^allFlags != 0 || f.Flags&(Continues|Ends) != 0 && !batch || f.Flags&Start != 0 && f.Flags&Continues != 0:
		what = fmt.Sprintf("flags %#x of kind %d", f.Flags, f.Kind)
	case batch && (f.First == 0 || f.Entries == 0 || uint64(f.Entries)-1 > math.MaxUint64-f.First):
		what = fmt.Sprintf("%d entries from revision %d on", f.Entries, f.First)
	case f.Kind == Entries && len(f.Payload) == 0:
		what = "a part of a batch without bytes"
	case !batch && (f.Entries != 0 || len(f.Payload) != 0):
		what = fmt.Sprintf("%d entries and %d bytes of payload, of kind %d", f.Entries, len(f.Payload), f.Kind)
	case f.Kind == Pad && (f.First|f.Committed|f.Sent) != 0:
		what = "a pad with content"
	default:
		return nil
	}
	return fmt.Errorf("%w frame: %s", ErrInvalid, what)
}
