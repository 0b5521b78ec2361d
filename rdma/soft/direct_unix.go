//go:build unix

package soft

import (
	"errors"
	"net"
	"syscall"
)

// DirectWriter may be implemented by the connections that Options.Dial and
// Options.Listen make, if they wrap a TCP connection but send through it
// unchanged: posting then uses the same short path as without the wrapper.
type DirectWriter interface {
	DirectWriter() *net.TCPConn
}

// directWriter sends without blocking. One goroutine at a time.
type directWriter struct {
	raw syscall.RawConn
	b   []byte
	n   int
	err error
	fn  func(fd uintptr) bool // made once, so that try does not allocate
}

// newDirectWriter returns nil for a stream that does not support this: not a
// socket, or one whose Write does more than sending (TLS).
func newDirectWriter(conn net.Conn) *directWriter {
	var raw syscall.RawConn
	var err error
	switch c := conn.(type) {
	case *net.TCPConn:
		raw, err = c.SyscallConn()
	case *net.UnixConn:
		raw, err = c.SyscallConn()
	case DirectWriter:
		raw, err = c.DirectWriter().SyscallConn()
	default:
		return nil
	}
	if err != nil {
		return nil
	}
	w := &directWriter{raw: raw}
	w.fn = w.write
	return w
}

// try sends what the socket's buffer has room for, n bytes.
func (w *directWriter) try(b []byte) (n int, err error) {
	w.b, w.n, w.err = b, 0, nil
	err = w.raw.Write(w.fn)
	w.b = nil
	if err == nil {
		err = w.err
	}
	return w.n, err
}

// write always returns true: RawConn.Write must not wait and call again.
func (w *directWriter) write(fd uintptr) bool {
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
