package client

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/wire"
)

// bytesConn is a connection from which bytes are read.
type bytesConn struct {
	net.Conn
	io.Reader
}

func (c bytesConn) Read(b []byte) (int, error) { return c.Reader.Read(b) }

func (bytesConn) SetReadDeadline(time.Time) error { return nil }

// FuzzPreamble: any first bytes of a peer are a stream's kind or an error, and the
// bytes after them are not read.
func FuzzPreamble(f *testing.F) {
	for kind := range uint16(6) {
		p := wire.Preamble(wire.ProtocolVersion, kind)
		f.Add(p[:])
		f.Add(append(p[:], "more"...))
		p = wire.Preamble(wire.ProtocolVersion+1, kind)
		f.Add(p[:])
	}
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := strings.NewReader(string(b))
		kind, err := wire.ReadPreamble(bytesConn{Reader: r})
		if err != nil {
			return
		}
		if len(b)-r.Len() != wire.PreambleBytes {
			t.Fatalf("% x: took %d bytes", b, len(b)-r.Len())
		}
		want := wire.Preamble(wire.ProtocolVersion, kind)
		if kind != wire.StreamHello && string(b[:wire.PreambleBytes]) != string(want[:]) {
			t.Fatalf("% x became kind %d", b, kind)
		}
	})
}
