//go:build unix

// Package direct sends through sockets without waiting: only the bytes that
// fit at once.
package direct

import (
	"errors"
	"net"
	"syscall"
)

// Writer sends without blocking. It belongs to one goroutine at a time.
type Writer struct {
	raw syscall.RawConn
	b   []byte
	n   int
	err error
	fn  func(fd uintptr) bool // made once, so that Try does not allocate
}

// New returns nil for a stream that does not support this: not a socket, or one
// whose Write does more than sending (TLS). A connection that wraps a TCP
// connection but sends through it unchanged may have a method DirectWriter that
// returns it.
func New(conn net.Conn) *Writer {
	var raw syscall.RawConn
	var err error
	switch c := conn.(type) {
	case *net.TCPConn:
		raw, err = c.SyscallConn()
	case *net.UnixConn:
		raw, err = c.SyscallConn()
	case interface{ DirectWriter() *net.TCPConn }:
		raw, err = c.DirectWriter().SyscallConn()
	default:
		return nil
	}
	if err != nil {
		return nil
	}
	w := &Writer{raw: raw}
	w.fn = w.write
	return w
}

// Try sends the n bytes that fit into the socket's buffer. It obeys the write
// deadline.
func (w *Writer) Try(b []byte) (n int, err error) {
	w.b, w.n, w.err = b, 0, nil
	err = w.raw.Write(w.fn)
	w.b = nil
	if err == nil {
		err = w.err
	}
	return w.n, err
}

// write always returns true: RawConn.Write must not wait and call again.
func (w *Writer) write(fd uintptr) bool {
	for w.n < len(w.b) {
		n, err := syscall.Write(int(fd), w.b[w.n:])
		if n > 0 {
			w.n += n
		}
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return true
		case err != nil:
			w.err = err
			return true
		}
	}
	return true
}
