//go:build ofi

package ofi

import (
	"net"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
)

// TestSilentDialers: connections that do not greet exclude no dialer,
// whatever their number.
func TestSilentDialers(t *testing.T) {
	open := func() *device {
		d, err := openForTest(TCP)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		return d.(*device)
	}
	s, c := open(), open()
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for range maxGreeters + 10 {
		conn, err := net.Dial("tcp", l.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	var cqs []rdma.CompletionQueue
	for _, d := range []*device{c, s} {
		cq, err := d.CreateCQ(1)
		if err != nil {
			t.Fatal(err)
		}
		cqs = append(cqs, cq)
	}
	accepted := make(chan error, 1)
	go func() {
		req, err := l.Accept(t.Context())
		if err == nil {
			_, err = req.Accept(rdma.QPConfig{SendCQ: cqs[1], RecvCQ: cqs[1]}, nil)
		}
		accepted <- err
	}()
	if _, err := c.Dial(t.Context(), l.Addr(), rdma.QPConfig{SendCQ: cqs[0], RecvCQ: cqs[0]}, nil); err != nil {
		t.Fatal(err)
	}
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
}
