package heartbeat

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/lines"
)

// Mailbox reads the slot that a Sender writes. Safe for concurrent use.
type Mailbox struct {
	slot []byte
	// last is the newest sequence that Take returned. All takers write
	// it, by compare and swap: each beat is taken once.
	last atomic.Uint64
}

// tornLooks bounds the looks at a slot that is being written. The write
// of a line takes nanoseconds; a writer that was preempted within it
// takes too long to wait for.
const tornLooks = 4

// NewMailbox reads the beats at the start of page, registered memory
// that is aligned to 64 bytes (fastmsg.Caller's Mailbox). The page must
// outlive its use.
func NewMailbox(page []byte) (*Mailbox, error) {
	if len(page) < Bytes {
		return nil, fmt.Errorf("%w: mailbox of %d bytes, want at least %d",
			ErrInvalid, len(page), Bytes)
	}
	return &Mailbox{slot: page[:Bytes:Bytes]}, nil
}

// Latest returns the newest beat, taken before or not. ErrNone: there
// was none yet; ErrTorn: look again later; ErrInvalid: not a beat.
func (m *Mailbox) Latest() (Beat, error) {
	var line [Bytes]byte
	for look := 1; ; look++ {
		lines.Copy(line[:], m.slot)
		b, err := Decode(line[:])
		if look == tornLooks || !errors.Is(err, ErrTorn) {
			return b, err
		}
	}
}

// Take returns the newest beat if nobody has taken it yet.
func (m *Mailbox) Take() (b Beat, fresh bool) {
	b, err := m.Latest()
	if err != nil {
		return Beat{}, false
	}
	for {
		last := m.last.Load()
		if b.Sequence <= last {
			return Beat{}, false
		}
		if m.last.CompareAndSwap(last, b.Sequence) {
			return b, true
		}
	}
}
