//go:build !unix

package direct

import "net"

// Writer needs non-blocking sockets, which this platform does not have.
type Writer struct{}

// New returns nil.
func New(net.Conn) *Writer { return nil }

// Try sends nothing.
func (*Writer) Try([]byte) (int, error) { return 0, net.ErrClosed }
