package soft

import "net"

// DirectWriter may be implemented by the connections that Options.Dial and
// Options.Listen make, if they wrap a TCP connection but send through it
// unchanged: posting then uses the same short path as without the wrapper. It
// has no effect where sockets always block.
type DirectWriter interface {
	DirectWriter() *net.TCPConn
}
