package soft

import (
	"fmt"
	"net"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/rdmatest"
	"go.uber.org/goleak"
)

// opaque hides that a connection is TCP, as TLS does: everything is sent by
// drain goroutines then.
type opaque struct{ net.Conn }

func (o opaque) CloseWrite() error { return o.Conn.(*net.TCPConn).CloseWrite() }

type opaqueListener struct{ net.Listener }

func (l opaqueListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return opaque{c}, nil
}

// openVariant opens a device for the conformance suite.
func openVariant(variant string) (rdma.Device, error) {
	switch variant {
	case "tcp":
		return Open(Options{})
	case "opaque":
		return Open(Options{
			Dial: opaqueDial,
			Listen: func(addr string) (net.Listener, error) {
				l, err := net.Listen("tcp", addr)
				return opaqueListener{l}, err
			},
		})
	}
	return nil, fmt.Errorf("no variant %q", variant)
}

func TestMain(m *testing.M) {
	rdmatest.Child(openVariant)
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	for _, variant := range []string{"tcp", "opaque"} {
		t.Run("stream="+variant, func(t *testing.T) {
			rdmatest.Run(t, rdmatest.Config{
				Open: func(t testing.TB) rdma.Device {
					d, err := openVariant(variant)
					if err != nil {
						t.Fatal(err)
					}
					return d
				},
				Addr:    func(testing.TB) string { return "127.0.0.1:0" },
				Variant: variant,
			})
		})
	}
}
