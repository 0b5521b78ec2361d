package attack

import (
	"context"
	"encoding/binary"
	"math"
	"net"
	"syscall"

	"github.com/catfish-index/catfish/rstar"
)

// Requests in wire form (internal/wire/kinds.go, internal/wire/frame.go).
const (
	kindOpen    = 1
	kindSearch  = 2
	kindCount   = 3
	kindNearest = 4
	kindCreate  = 12
	kindDrop    = 13
	kindReply   = 64

	frameBytes = 16
)

var everything = rstar.Rect{MinX: -1e9, MinY: -1e9, MaxX: 1e9, MaxY: 1e9}

// searchAll returns the body of a search for all objects of the default collection.
func searchAll() []byte {
	b := binary.LittleEndian.AppendUint64(nil, 0) // collection 0, no limit
	for _, v := range []float64{everything.MinX, everything.MinY, everything.MaxX, everything.MaxY} {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// frame returns a request over a plain socket.
func frame(kind byte, id uint64, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(frameBytes+len(body)))
	b = append(b, kind, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, id)
	return append(b, body...)
}

// dialTCP opens a connection from the attacker's host number i that ends with
// ctx. Its receive buffer is small, so that unread data stays with the server.
func (e *Enemy) dialTCP(ctx context.Context, i int, addr string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: e.host(i)}, Control: smallBuffer}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		e.count("dial failed", 1)
		return nil, err
	}
	e.count("connections", 1)
	_ = c.(*net.TCPConn).SetLinger(0)
	context.AfterFunc(ctx, func() { c.Close() })
	return c, nil
}

func smallBuffer(_, _ string, c syscall.RawConn) (err error) {
	if e := c.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
	}); e != nil {
		return e
	}
	return err
}

// stream opens a connection and says its kind.
func (e *Enemy) stream(ctx context.Context, i int, kind uint16) (net.Conn, error) {
	c, err := e.dialTCP(ctx, i, e.target.Addr)
	if err != nil {
		return nil, err
	}
	if _, err := c.Write(preamble(kind)); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// host returns the address from which connection i comes.
func (e *Enemy) host(i int) net.IP {
	if e.job.SameHost {
		return net.IPv4(127, 0, 0, 1)
	}
	return net.IPv4(127, 0, 0, byte(2+i%8))
}
