package limits

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Conn counts in a budget of its source until it is closed. Its TLS handshake uses
// scheduling slots (package tlsslots).
type Conn struct {
	net.Conn
	gate   *Gate
	source string
	slot   HandshakeSlot
	spoke  atomic.Bool // has sent a byte; set by the one goroutine that reads

	mu      sync.Mutex
	account *Account
	closed  bool
}

// HandshakeSlot is the scheduling slot of the connection's TLS handshake.
func (c *Conn) HandshakeSlot() *HandshakeSlot { return &c.slot }

// Source names the source of the connection and its requests.
func (c *Conn) Source() string { return c.source }

// count moves the connection to b.
func (c *Conn) count(b *Budget) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.account.Close()
	// Closing a socket does not block. Its reader then closes the account.
	c.account = b.Open(c.source, func(error) { c.Conn.Close() })
	return c.account.Take(1)
}

func (c *Conn) Read(p []byte) (int, error) {
	c.slot.Begin()
	n, err := c.Conn.Read(p)
	if n > 0 && !c.spoke.Load() {
		c.spoke.Store(true)
		if err := c.count(c.gate.Open); err != nil {
			c.Close()
			return 0, err
		}
	}
	if err := c.slot.After(n); err != nil {
		return 0, err
	}
	return n, err
}

// Write ends the connection of a peer that takes nothing from its socket. A caller
// writes little at a time, so that a slow peer is not taken for one.
func (c *Conn) Write(p []byte) (int, error) {
	c.slot.Begin() // The write may block on the peer.
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.gate.Idle)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// SetWriteDeadline and SetDeadline leave write deadlines to Write.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline sets the read deadline alone.
func (c *Conn) SetDeadline(t time.Time) error { return c.Conn.SetReadDeadline(t) }

// Close is net.Conn's. It closes the account.
func (c *Conn) Close() error {
	c.slot.Begin()
	c.gate.remove(c)
	c.mu.Lock()
	c.closed = true
	c.account.Close()
	c.mu.Unlock()
	return c.Conn.Close()
}
