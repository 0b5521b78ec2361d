package web

import (
	"net"
	"sync"
	"time"

	"github.com/catfish-index/catfish/rdma/budget"
)

// boundedListener accepts connections as far as their sources may have more.
// A connection over the budget is closed.
type boundedListener struct {
	net.Listener
	open *budget.Budget
	idle time.Duration // how long a write may make no progress
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &boundedConn{Conn: inner, idle: l.idle}
		// Closing a socket does not wait. Its reader then gives back the account.
		c.account = l.open.Open(budget.SourceOf(inner.RemoteAddr()), func(error) { inner.Close() })
		if c.account.Take(1) == nil {
			return c, nil
		}
		c.Close()
	}
}

// boundedConn counts in the budget of its source until it is closed.
type boundedConn struct {
	net.Conn
	account *budget.Account
	idle    time.Duration
	once    sync.Once
}

// Write ends the connection of a peer that takes nothing from its socket. What is
// written at once is at most a chunk (body.go), or a frame of HTTP/2.
func (c *boundedConn) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// SetWriteDeadline and SetDeadline leave deadlines of writes to Write.
func (c *boundedConn) SetWriteDeadline(time.Time) error { return nil }
func (c *boundedConn) SetDeadline(t time.Time) error    { return c.Conn.SetReadDeadline(t) }

func (c *boundedConn) Close() error {
	c.once.Do(c.account.Close)
	return c.Conn.Close()
}
