//go:build !unix

package soft

import "net"

// DirectWriter has no effect on this platform.
type DirectWriter interface {
	DirectWriter() *net.TCPConn
}

// directWriter needs non-blocking sockets.
type directWriter struct{}

func newDirectWriter(net.Conn) *directWriter { return nil }

func (*directWriter) try([]byte) (int, error) { return 0, net.ErrClosed }
