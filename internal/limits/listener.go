package limits

import (
	"net"
	"sync"
	"time"
)

// Listener accepts connections within the budgets of their sources, and closes those
// over a budget. A source is a host, or all of a Unix socket.
type Listener struct {
	net.Listener
	*Gate
}

// Gate is shared by the listeners of a server. The fields are set before the first
// connection.
type Gate struct {
	Open   *Budget
	Silent *Budget       // connections that have not sent a byte; nil: Open has them
	Idle   time.Duration // how long a write may make no progress

	mu    sync.Mutex
	conns map[*Conn]struct{}
	ended bool
}

// Accept is net.Listener's. The connection is a *Conn.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &Conn{Conn: inner, gate: l.Gate, source: SourceOf(inner.RemoteAddr())}
		if inner.RemoteAddr().Network() == "unix" {
			c.source = "unix"
		}
		first := l.Silent
		if first == nil {
			first = l.Open
			c.spoke.Store(true)
		}
		if l.add(c) && c.count(first) == nil {
			return c, nil
		}
		c.Close()
	}
}

// add records an accepted connection. False: the server is ending.
func (g *Gate) add(c *Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return false
	}
	if g.conns == nil {
		g.conns = make(map[*Conn]struct{})
	}
	g.conns[c] = struct{}{}
	return true
}

func (g *Gate) remove(c *Conn) {
	g.mu.Lock()
	delete(g.conns, c)
	g.mu.Unlock()
}

// End makes the listeners refuse all connections, and closes the silent ones, or all.
func (g *Gate) End(all bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	for c := range g.conns {
		if all || !c.spoke.Load() {
			c.Conn.Close() // Its reader then closes c.
		}
	}
}
