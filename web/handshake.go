package web

import (
	"context"
	"crypto/tls"

	"github.com/catfish-index/catfish/internal/turns"
)

// Handshakes of TLS
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

// inTurns has the handshakes by a configuration take turns.
func inTurns(t *tls.Config, host Host) *tls.Config {
	t = t.Clone()
	of := t.GetConfigForClient
	base := t.Clone()
	t.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		own := base
		if of != nil {
			if c, err := of(h); err != nil {
				return nil, err
			} else if c != nil {
				own = c
			}
		}
		c, ok := h.Conn.(*boundedConn)
		if !ok {
			return own, nil
		}
		ctx := h.Context()
		c.waitTurn = func() error { return c.takeTurn(ctx, host) }
		// Sessions are by the keys of t, whose copy this is.
		own = own.Clone()
		verify := own.VerifyConnection
		own.VerifyConnection = func(s tls.ConnectionState) error { // The server has signed.
			c.endTurn()
			c.waitTurn = nil
			if verify != nil {
				return verify(s)
			}
			return nil
		}
		return own, c.waitTurn()
	}
	return t
}

// takeTurn returns when the handshake has its turn.
func (c *boundedConn) takeTurn(ctx context.Context, host Host) error {
	ctx, cancel := context.WithTimeout(ctx, headerTimeout) // net/http's, of which only reads and writes know
	defer cancel()
	p := &turns.Pacer{Of: host, Ctx: ctx, Source: c.source}
	if err := p.Pause(); err != nil {
		return err
	}
	c.turn.Store(p)
	return nil
}

// endTurn is called when the connection waits for its peer, or has ended.
func (c *boundedConn) endTurn() {
	if c.turn.Load() == nil { // as nearly always
		return
	}
	if p := c.turn.Swap(nil); p != nil {
		p.End()
	}
}
