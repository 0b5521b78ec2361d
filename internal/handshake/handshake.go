// Package handshake has handshakes of TLS take turns with other work that takes long.
//
// A handshake computes for 0.3 to 1 ms, as long as a search of thousands of features,
// and whoever reaches the port has one with each connection. Thousands at a time would
// leave all others, those of rings, too, a place at the end of a long queue for
// processors. So a handshake has a turn, as a step of a long request has, and sources
// take turns:
//
//	client                server
//	hello         --->    waits for its turn, computes
//	              <---    its hello, certificate, signature
//	                      waits for the client: the turn is over
//
// A client that is asked for another hello (RFC 8446 section 4.1.4) gives up its turn
// and waits for the next one. What is left when the server has signed is little.
package handshake

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/turns"
)

// Conn is a connection below TLS whose handshake takes turns. It calls Begin before
// each Read and Write of its socket, After behind each Read, and Begin when it is
// closed.
type Conn interface {
	net.Conn
	// Turn is the same for as long as the connection is open.
	Turn() *Turn
	// Source is whose turn it is.
	Source() string
}

// Turn is the turn of one handshake. The zero value is that of a connection without
// TLS, and costs it next to nothing. Begin is for any goroutine, After for the one
// that reads.
type Turn struct {
	has  atomic.Pointer[turns.Pacer] // while the handshake computes
	wait func() error                // for it; nil: no handshake
}

// InTurns is a copy of a configuration by which handshakes take turns, if their
// connections are Conns. One that gets no turn for so long fails.
func InTurns(t *tls.Config, of turns.Stepper, patience time.Duration) *tls.Config {
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
		c, ok := h.Conn.(Conn)
		if !ok {
			return own, nil
		}
		turn, ctx := c.Turn(), h.Context()
		turn.wait = func() error { return turn.take(ctx, of, patience, c.Source()) }
		// Sessions are by the keys of t, whose copy this is.
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

// take returns when the handshake has its turn. A deadline of the connection would end
// reads and writes alone.
func (n *Turn) take(ctx context.Context, of turns.Stepper, patience time.Duration, source string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p := &turns.Pacer{Of: of, Ctx: ctx, Source: source}
	if err := p.Pause(); err != nil {
		return err
	}
	n.has.Store(p)
	return nil
}

// Begin ends the turn, if there is one: the connection is about to wait for its peer,
// or is closed.
func (n *Turn) Begin() {
	if n.has.Load() == nil { // as nearly always
		return
	}
	if p := n.has.Swap(nil); p != nil {
		p.End()
	}
}

// After waits for the next turn, if something was read that a handshake computes with.
// What was read is of no use after an error.
func (n *Turn) After(bytes int) error {
	if n.wait == nil || bytes == 0 {
		return nil
	}
	return n.wait()
}
