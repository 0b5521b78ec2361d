package heartbeat

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/catfish-index/catfish/internal/lines"
)

// Mailbox reads the slot that a Sender writes. Safe for concurrent use.
type Mailbox struct {
	slot []byte
	// sequence is the slot's first word, in registered memory, which the
	// peer's NIC writes.
	sequence *uint64
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
	if at := uintptr(unsafe.Pointer(unsafe.SliceData(page))); at%Bytes != 0 {
		return nil, fmt.Errorf("%w: mailbox at %#x, want a multiple of %d", ErrInvalid, at, Bytes)
	}
	// SAFETY: the page is at least Bytes long, as checked, and aligned.
	return &Mailbox{slot: page[:Bytes:Bytes], sequence: (*uint64)(unsafe.Pointer(unsafe.SliceData(page)))}, nil
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

// Pending reports whether Take may have something: one load, for who asks
// before every search.
func (m *Mailbox) Pending() bool {
	return atomic.LoadUint64(m.sequence) != m.last.Load()
}

// Take returns the newest beat if nobody has taken it yet.
//
// It costs one load when there is nothing new: clients ask before every
// search. Sequences rise from 1, so the word alone tells.
func (m *Mailbox) Take() (b Beat, fresh bool) {
	if !m.Pending() {
		return Beat{}, false
	}
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
