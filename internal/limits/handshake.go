package limits

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"
)

// TLS handshakes share scheduling slots with other long work.
//
// A handshake computes for 0.3 to 1 ms, as long as a search of thousands of
// features, and each client that reaches the port causes one per connection.
// Thousands at a time would put all other work, also that of rings, at the end
// of a long queue for processors. So a handshake needs a scheduling slot, as a
// step of a long request does, and sources alternate:
//
//	client                server
//	hello         --->    waits for its slot, computes
//	              <---    its hello, certificate, signature
//	                      waits for the client: the slot ends
//
// A client that is asked for another hello (RFC 8446 section 4.1.4) gives up its slot
// and waits for the next one. After the server's signature little work is left.

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

// HandshakesInSlots is a copy of a configuration by which handshakes use scheduling slots, if
// their connections are Conns. One that gets no slot within patience fails.
func HandshakesInSlots(t *tls.Config, of Stepper, patience time.Duration) *tls.Config {
	t = t.Clone()
	chosen := t.GetConfigForClient
	base := t.Clone()
	t.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		own := base
		if chosen != nil {
			if c, err := chosen(h); err != nil {
				return nil, err
			} else if c != nil {
				own = c
			}
		}
		c, ok := h.Conn.(HandshakeConn)
		if !ok {
			return own, nil
		}
		turn, ctx := c.HandshakeSlot(), h.Context()
		turn.wait = func() error { return turn.take(ctx, of, patience, c.Source()) }
		// Sessions use the keys of t, whose copy this is.
		own = own.Clone()
		verify := own.VerifyConnection
		own.VerifyConnection = func(s tls.ConnectionState) error { // The server has signed.
			turn.Begin()
			turn.wait = nil
			if verify != nil {
				return verify(s)
			}
			return nil
		}
		return own, turn.wait()
	}
	return t
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
