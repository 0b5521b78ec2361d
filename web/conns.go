package web

import (
	"net"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
)

// boundedListener accepts connections within the budget of their source, and closes
// those over the budget.
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
		// Closing a socket does not block. Its reader then releases the account.
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
	source   string // the source of its requests
	loopback bool   // accepted at a loopback address
	once     sync.Once

	gathering bool // used by the goroutine that writes
	gathered  []byte

	turn limits.HandshakeSlot
}

// HandshakeSlot is the scheduling slot of the connection's TLS handshake.
func (c *boundedConn) HandshakeSlot() *limits.HandshakeSlot { return &c.turn }

// Source is the source of the connection's requests.
func (c *boundedConn) Source() string { return c.source }

func (c *boundedConn) Read(p []byte) (n int, err error) {
	c.turn.Begin()
	n, err = c.Conn.Read(p)
	if err := c.turn.After(n); err != nil {
		return 0, err
	}
	return n, err
}

// Write closes the connection of a peer that takes nothing from its socket. One write
// is at most a chunk (body.go), or a frame of HTTP/2.
func (c *boundedConn) Write(p []byte) (int, error) {
	c.turn.Begin() // The write may block on the peer.
	if c.gathering {
		c.gathered = append(c.gathered, p...)
		return len(p), nil
	}
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// gather buffers the next writes until release sends them in one write: net/http
// divides an answer of more than 4 KiB, and each part wakes the client. It is for the
// goroutine of an HTTP/1 request without TLS, which then is the only writer.
func (c *boundedConn) gather(buffer []byte) { c.gathering, c.gathered = true, buffer[:0] }

// release sends the buffered writes and returns gather's buffer.
func (c *boundedConn) release() (buffer []byte, err error) {
	buffer = c.gathered
	c.gathering, c.gathered = false, nil
	_, err = c.Write(buffer)
	return buffer, err
}

// SetWriteDeadline and SetDeadline leave write deadlines to Write.
func (c *boundedConn) SetWriteDeadline(time.Time) error { return nil }
func (c *boundedConn) SetDeadline(t time.Time) error    { return c.Conn.SetReadDeadline(t) }

func (c *boundedConn) Close() error {
	c.turn.Begin()
	c.once.Do(c.account.Close)
	return c.Conn.Close()
}
