package fastmsg

import "encoding/binary"

// Kind is the kind of a message. 0 is reserved for padding; the meaning of
// the others is up to the owner of the connection.
type Kind uint8

// Flags give the position of a message within its answer. Exactly one is set.
type Flags uint8

const (
	FlagContinue Flags = 1 << iota // more messages with this ID follow
	FlagEnd                        // the last, or only, message of this ID
)

// Message is a message that was received. Payload is a private copy, valid
// until the call that it was passed to returns.
type Message struct {
	Kind    Kind
	Flags   Flags
	ID      uint64
	Payload []byte
}

// A message in a ring, little-endian, 8-byte aligned, never wrapped:
//
//	offset width
//	0      4     size: whole bytes including header and fill, multiple of 8
//	4      1     kind (0: padding to the ring's end)
//	5      1     flags
//	6      1     fill: bytes of zero after the payload, 0 to 7
//	7      1     reserved, 0
//	8      8     id (absent in padding of 8 bytes)
//	16     ...   payload, then fill
//
// The first 8 bytes describe the message completely and are read in one load.
// If the peer changes them later, that has no effect.
const (
	// HeaderBytes is what each message takes beside its payload.
	HeaderBytes = 16
	headerBytes = HeaderBytes
	unitBytes   = 8
	kindPad     = Kind(0)
)

// messageBytes is the size of a message in a ring if its payload has n bytes.
func messageBytes(n int) int { return headerBytes + (n+unitBytes-1)&^(unitBytes-1) }

// header is the first word of a message, decoded.
type header struct {
	size  uint32
	kind  Kind
	flags Flags
	fill  uint8
	rsvd  uint8
}

func decodeHeader(w uint64) header {
	return header{
		size:  uint32(w),
		kind:  Kind(w >> 32),
		flags: Flags(w >> 40),
		fill:  uint8(w >> 48),
		rsvd:  uint8(w >> 56),
	}
}

func (h header) word() uint64 {
	return uint64(h.size) | uint64(h.kind)<<32 | uint64(h.flags)<<40 |
		uint64(h.fill)<<48 | uint64(h.rsvd)<<56
}

// putMessage encodes a message into dst, which has its exact size.
func putMessage(dst []byte, kind Kind, flags Flags, id uint64, payload []byte) {
	fill := len(dst) - headerBytes - len(payload)
	h := header{size: uint32(len(dst)), kind: kind, flags: flags, fill: uint8(fill)}
	binary.LittleEndian.PutUint64(dst, h.word())
	binary.LittleEndian.PutUint64(dst[8:], id)
	n := copy(dst[headerBytes:], payload)
	clear(dst[headerBytes+n:])
}
