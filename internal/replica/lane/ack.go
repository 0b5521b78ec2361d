package lane

import (
	"encoding/binary"
	"fmt"
	"time"
)

// The acknowledgement line, a cache line in the primary's memory that the
// secondary overwrites with its latest state:
//
//	offset width
//	0      8     session, from 1
//	8      8     term of the secondary; 0: nothing is acknowledged yet
//	16     8     received revision
//	24     8     durable revision
//	32     8     applied revision
//	40     8     bytes of the ring that are free again, since the lane began
//	48     8     echo of the latest frame's time
//	56     4     0
//	60     4     CRC-32C of bytes 0 to 59
//
// It is cumulative: a later one says all that an earlier one of the same session
// did. A line need not arrive whole (rdma.Info.TornLines), hence the check sum.
const (
	AckBytes = 64

	offAckTerm     = 8
	offAckReceived = 16
	offAckDurable  = 24
	offAckApplied  = 32
	offAckConsumed = 40
	offAckEcho     = 48
	offAckReserved = 56
	offAckSum      = 60
)

// Ack is the state of a secondary. With Term 0 only Consumed counts.
type Ack struct {
	Session  uint64
	Term     uint64
	Received uint64
	Durable  uint64
	Applied  uint64
	Consumed uint64
	Echo     time.Duration // by the primary's clock; it may be negative
}

// Put encodes a into the first AckBytes of b.
func (a *Ack) Put(b []byte) {
	b = b[:AckBytes]
	le := binary.LittleEndian
	le.PutUint64(b, a.Session)
	le.PutUint64(b[offAckTerm:], a.Term)
	le.PutUint64(b[offAckReceived:], a.Received)
	le.PutUint64(b[offAckDurable:], a.Durable)
	le.PutUint64(b[offAckApplied:], a.Applied)
	le.PutUint64(b[offAckConsumed:], a.Consumed)
	le.PutUint64(b[offAckEcho:], uint64(a.Echo))
	le.PutUint32(b[offAckReserved:], 0)
	le.PutUint32(b[offAckSum:], SumOf(b[:offAckSum]))
}

// DecodeAck decodes a line from the first AckBytes of b, a private copy. The
// caller compares it with the line before (After), and with the frames that it sent.
func DecodeAck(b []byte) (a Ack, err error) {
	if len(b) < AckBytes {
		return a, fmt.Errorf("%w acknowledgement: %d bytes, want %d", ErrInvalid, len(b), AckBytes)
	}
	b = b[:AckBytes]
	le := binary.LittleEndian
	if [AckBytes]byte(b) == [AckBytes]byte{} {
		return a, ErrNone
	}
	if want, is := le.Uint32(b[offAckSum:]), SumOf(b[:offAckSum]); want != is {
		return a, fmt.Errorf("%w: acknowledgement, %#08x, computed %#08x", ErrSum, want, is)
	}
	a = Ack{
		Session:  le.Uint64(b),
		Term:     le.Uint64(b[offAckTerm:]),
		Received: le.Uint64(b[offAckReceived:]),
		Durable:  le.Uint64(b[offAckDurable:]),
		Applied:  le.Uint64(b[offAckApplied:]),
		Consumed: le.Uint64(b[offAckConsumed:]),
		Echo:     time.Duration(le.Uint64(b[offAckEcho:])),
	}
	var what string
	switch reserved := le.Uint32(b[offAckReserved:]); {
	case a.Term == 0 && a != (Ack{Consumed: a.Consumed}):
		what = "term 0, terms begin with 1"
	case a.Term != 0 && a.Session == 0:
		what = "session 0, sessions begin with 1"
	case a.Durable > a.Received || a.Applied > a.Received:
		what = fmt.Sprintf("revision %d durable and %d applied, of %d received", a.Durable, a.Applied, a.Received)
	case a.Consumed%align != 0:
		what = fmt.Sprintf("%d bytes consumed, not a multiple of %d", a.Consumed, align)
	case reserved != 0:
		what = fmt.Sprintf("reserved bytes %#x, want 0", reserved)
	default:
		return a, nil
	}
	return Ack{}, fmt.Errorf("%w acknowledgement: %s", ErrInvalid, what)
}

// After reports whether a can follow the line before: nothing goes back, but in
// another session.
func (a *Ack) After(before *Ack) bool {
	if a.Consumed < before.Consumed || a.Term < before.Term || a.Session < before.Session {
		return false
	}
	return a.Session > before.Session || a.Term > before.Term ||
		a.Received >= before.Received && a.Durable >= before.Durable && a.Applied >= before.Applied && a.Echo >= before.Echo
}
