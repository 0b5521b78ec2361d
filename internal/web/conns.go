package web

import (
	"net"

	"github.com/catfish-index/catfish/internal/limits"
)

// listener accepts connections that can gather writes.
type listener struct{ limits.Listener }

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c.(*limits.Conn)}, nil
}

// conn is a connection. One write is at most a chunk (body.go), or a frame of HTTP/2.
type conn struct {
	*limits.Conn
	gathering bool // used by the goroutine that writes
	gathered  []byte
}

func (c *conn) Write(p []byte) (int, error) {
	if c.gathering {
		c.gathered = append(c.gathered, p...)
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// gather buffers the next writes until release sends them in one write: net/http
// divides an answer of more than 4 KiB, and each part wakes the client. It is for the
// goroutine of an HTTP/1 request without TLS, which then is the only writer.
func (c *conn) gather(buffer []byte) { c.gathering, c.gathered = true, buffer[:0] }

// release sends the buffered writes and returns gather's buffer.
func (c *conn) release() (buffer []byte, err error) {
	buffer = c.gathered
	c.gathering, c.gathered = false, nil
	_, err = c.Write(buffer)
	return buffer, err
}
