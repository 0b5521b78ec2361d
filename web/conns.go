package web

import (
	"net"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
)

// boundedListener accepts connections as far as their sources may have more.
// A connection over the budget is closed.
type boundedListener struct {
	net.Listener
	open *limits.Budget
	idle time.Duration // how long a write may make no progress
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &boundedConn{
			Conn: inner, idle: l.idle, source: limits.SourceOf(inner.RemoteAddr()), loopback: isLoopback(inner.LocalAddr()),
		}
		if inner.LocalAddr().Network() == "unix" {
			c.source = "unix"
		}
		// Closing a socket does not wait. Its reader then gives back the account.
		c.account = l.open.Open(c.source, func(error) { inner.Close() })
		if c.account.Take(1) == nil {
			return c, nil
		}
		c.Close()
	}
}

// boundedConn counts in the budget of its source until it is closed.
type boundedConn struct {
	net.Conn
	account  *limits.Account
	idle     time.Duration
	source   string // of its requests
	loopback bool   // it came in at a loopback address
	once     sync.Once

	gathering bool // of the goroutine that writes
	gathered  []byte

	turn limits.HandshakeSlot
}

// HandshakeSlot is that of its TLS handshake.
func (c *boundedConn) HandshakeSlot() *limits.HandshakeSlot { return &c.turn }

// Source is that of its requests.
func (c *boundedConn) Source() string { return c.source }

func (c *boundedConn) Read(p []byte) (n int, err error) {
	c.turn.Begin()
	n, err = c.Conn.Read(p)
	if err := c.turn.After(n); err != nil {
		return 0, err
	}
	return n, err
}

// Write ends the connection of a peer that takes nothing from its socket. What is
// written at once is at most a chunk (body.go), or a frame of HTTP/2.
func (c *boundedConn) Write(p []byte) (int, error) {
	c.turn.Begin() // The peer may have no room.
	if c.gathering {
		c.gathered = append(c.gathered, p...)
		return len(p), nil
	}
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// gather has the next writes wait for release, which writes them at once: net/http
// divides an answer of more than 4 KiB, and each part wakes the client. It is for the
// goroutine of a request of HTTP/1 without TLS, which is the only one to write then.
func (c *boundedConn) gather(buffer []byte) { c.gathering, c.gathered = true, buffer[:0] }

// release returns the buffer of gather.
func (c *boundedConn) release() (buffer []byte, err error) {
	buffer = c.gathered
	c.gathering, c.gathered = false, nil
	_, err = c.Write(buffer)
	return buffer, err
}

// SetWriteDeadline and SetDeadline leave deadlines of writes to Write.
func (c *boundedConn) SetWriteDeadline(time.Time) error { return nil }
func (c *boundedConn) SetDeadline(t time.Time) error    { return c.Conn.SetReadDeadline(t) }

func (c *boundedConn) Close() error {
	c.turn.Begin()
	c.once.Do(c.account.Close)
	return c.Conn.Close()
}
