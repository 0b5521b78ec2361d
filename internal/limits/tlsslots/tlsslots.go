// Package tlsslots makes TLS handshakes share scheduling slots with other long work. It
// is apart from package limits so that a client of rings does not link TLS.
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
package tlsslots

import (
	"crypto/tls"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
)

// Config is a copy of a configuration by which handshakes use scheduling slots, if
// their connections are limits.HandshakeConns. One that gets no slot within patience
// fails.
func Config(t *tls.Config, of limits.Stepper, patience time.Duration) *tls.Config {
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
		c, ok := h.Conn.(limits.HandshakeConn)
		if !ok {
			return own, nil
		}
		slot := c.HandshakeSlot()
		// Sessions use the keys of t, whose copy this is.
		own = own.Clone()
		verify := own.VerifyConnection
		own.VerifyConnection = func(s tls.ConnectionState) error { // The server has signed.
			slot.Finish()
			if verify != nil {
				return verify(s)
			}
			return nil
		}
		return own, slot.Start(h.Context(), of, patience, c.Source())
	}
	return t
}
