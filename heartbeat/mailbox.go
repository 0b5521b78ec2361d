package heartbeat

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/catfish-index/catfish/internal/lines"
)

// Mailbox reads the slot that a Sender writes to. Safe for concurrent use.
type Mailbox struct {
	slot []byte
	// sequence is the first word of the slot: registered memory, which the
	// server's NIC writes to.
	sequence *uint64
	// last is the newest sequence that Take returned. Every Take updates it,
	// by compare and swap, so that each heartbeat is taken once.
	last atomic.Uint64
}

// tornLooks bounds the attempts to read a slot that is being written. Writing
// a cache line takes nanoseconds, unless the writer is preempted; that would
// take too long to wait for.
const tornLooks = 4

// NewMailbox returns a Mailbox for heartbeats at the start of page:
// registered memory, aligned to 64 bytes (Mailbox of fastmsg.Caller). The
// page must outlive the Mailbox.
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

// Latest returns the newest heartbeat, whether it was taken or not. ErrNone:
// there was none yet; ErrTorn: try again later; ErrInvalid: the slot holds
// something else.
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

// Pending reports whether Take may return a heartbeat. It is one load, cheap
// enough to call before every search.
func (m *Mailbox) Pending() bool {
	return atomic.LoadUint64(m.sequence) != m.last.Load()
}

// Take returns the newest heartbeat if it was not taken yet.
//
// If there is none, which the sequence alone shows, Take costs one load:
// clients call it before every search.
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
