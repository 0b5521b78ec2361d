package limits

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// HandshakeConn is a connection below TLS whose handshake uses scheduling slots. It
// calls Begin before each Read and Write of its socket, After after each Read,
// and Begin when it is closed.
type HandshakeConn interface {
	net.Conn
	// HandshakeSlot returns the same HandshakeSlot while the connection is open.
	HandshakeSlot() *HandshakeSlot
	// Source names the source that the slot counts for.
	Source() string
}

// HandshakeSlot is the scheduling slot of one handshake. The zero value is for a
// connection without TLS, and costs it next to nothing. Begin is for any
// goroutine, After for the one that reads.
type HandshakeSlot struct {
	has  atomic.Pointer[Pacer] // while the handshake computes
	wait func() error          // waits for the slot; nil: no handshake
}

// Start makes the handshake use scheduling slots until Finish, and waits for the first. It
// fails if there is none within patience. Package tlsslots calls it.
func (n *HandshakeSlot) Start(ctx context.Context, of Stepper, patience time.Duration, source string) error {
	n.wait = func() error { return n.take(ctx, of, patience, source) }
	return n.wait()
}

// Finish ends the slot, and the use of slots.
func (n *HandshakeSlot) Finish() {
	n.Begin()
	n.wait = nil
}

// take returns when the handshake has its slot. A deadline of the connection
// would end only reads and writes.
func (n *HandshakeSlot) take(ctx context.Context, of Stepper, patience time.Duration, source string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p := &Pacer{Of: of, Ctx: ctx, Source: source}
	if err := p.Pause(); err != nil {
		return err
	}
	n.has.Store(p)
	return nil
}

// Begin ends the slot, if there is one: the connection is about to wait for its
// peer, or is closed.
func (n *HandshakeSlot) Begin() {
	if n.has.Load() == nil { // as nearly always
		return
	}
	if p := n.has.Swap(nil); p != nil {
		p.End()
	}
}

// After waits for the next slot, if bytes were read that a handshake computes
// with. After an error these bytes are of no use.
func (n *HandshakeSlot) After(bytes int) error {
	if n.wait == nil || bytes == 0 {
		return nil
	}
	return n.wait()
}
