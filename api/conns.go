package api

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
)

// boundedListener accepts connections up to the budgets of their sources. It
// closes a connection over the budget.
type boundedListener struct {
	net.Listener
	gate *connGate
}

// connGate is shared by the listeners of a server.
type connGate struct {
	silent *limits.Budget // connections that have not sent a byte
	open   *limits.Budget // all others
	idle   time.Duration  // how long a write may make no progress

	mu    sync.Mutex
	conns map[*boundedConn]struct{}
	ended bool
}

// add records an accepted connection. False: the server is ending.
func (g *connGate) add(c *boundedConn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return false
	}
	if g.conns == nil {
		g.conns = make(map[*boundedConn]struct{})
	}
	g.conns[c] = struct{}{}
	return true
}

func (g *connGate) remove(c *boundedConn) {
	g.mu.Lock()
	delete(g.conns, c)
	g.mu.Unlock()
}

// end stops accepting, and closes the connections that have not sent a byte, or
// all. gRPC waits for connections in their handshake before it ends, and closes
// only those that completed it.
func (g *connGate) end(all bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	for c := range g.conns {
		if all || !c.spoke.Load() {
			c.Conn.Close() // Its reader then closes c.
		}
	}
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &boundedConn{Conn: inner, gate: l.gate, source: limits.SourceOf(inner.RemoteAddr())}
		if l.gate.add(c) && c.count(l.gate.silent) == nil {
			return c, nil
		}
		c.Close()
	}
}

// boundedConn counts in the budget of its source until it is closed.
type boundedConn struct {
	net.Conn
	gate   *connGate
	source string
	turn   limits.HandshakeSlot
	spoke  atomic.Bool // has sent a byte; set by the one goroutine that reads

	mu      sync.Mutex
	account *limits.Account
	closed  bool
}

// Turn returns the scheduling slot of its TLS handshake.
func (c *boundedConn) HandshakeSlot() *limits.HandshakeSlot { return &c.turn }

// Source returns its host.
func (c *boundedConn) Source() string { return c.source }

// count moves the connection to b.
func (c *boundedConn) count(b *limits.Budget) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.account.Close()
	// Closing a socket does not wait. Its reader then gives back the account.
	c.account = b.Open(c.source, func(error) { c.Conn.Close() })
	return c.account.Take(1)
}

func (c *boundedConn) Read(p []byte) (int, error) {
	c.turn.Begin()
	n, err := c.Conn.Read(p)
	if n > 0 && !c.spoke.Load() {
		c.spoke.Store(true)
		if err := c.count(c.gate.open); err != nil {
			c.Close()
			return 0, err
		}
	}
	if err := c.turn.After(n); err != nil {
		return 0, err
	}
	return n, err
}

// Write ends the connection of a peer that takes nothing from its socket. A
// write is at most 32 KB, which gRPC gathers.
func (c *boundedConn) Write(p []byte) (int, error) {
	c.turn.Begin() // The peer may have no room.
	if err := c.SetWriteDeadline(time.Now().Add(c.gate.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *boundedConn) Close() error {
	c.turn.Begin()
	c.gate.remove(c)
	c.mu.Lock()
	c.closed = true
	c.account.Close()
	c.mu.Unlock()
	return c.Conn.Close()
}
