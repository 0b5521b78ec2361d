// Package readtest serves memory to the read channels of tests: over shared memory,
// over soft if CATFISH_READTEST_OVER says so, and in builds with the tag ofi over
// libfabric, by the provider that CATFISH_OFI_PROVIDER names, tcp by default.
package readtest

import (
	"context"
	"errors"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/offload"
)

// Server is a region of memory that read channels reach.
type Server struct {
	tb     testing.TB
	region rdma.Region
	ln     rdma.Listener
	cq     rdma.CompletionQueue
	client rdma.Device // of all channels
}

// Serve registers zeroed memory. The test's end closes everything.
func Serve(tb testing.TB, bytes int) *Server {
	tb.Helper()
	s := &Server{tb: tb}
	dev := s.open()
	var err error
	if s.region, err = dev.Register(bytes, rdma.RemoteRead); err != nil {
		tb.Fatal(err)
	}
	if s.ln, err = dev.Listen(address(tb)); err != nil {
		tb.Fatal(err)
	}
	if s.cq, err = dev.CreateCQ(8); err != nil {
		tb.Fatal(err)
	}
	s.client = s.open()
	return s
}

func (s *Server) open() rdma.Device {
	s.tb.Helper()
	d, err := openDevice()
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { d.Close() })
	return d
}

// Copies is how many reads a channel makes of each block: two where a read may
// return a line half changed (rdma.Info.TornLines).
func (s *Server) Copies() uint64 {
	if s.client.Info().TornLines {
		return 2
	}
	return 1
}

// Bytes is the memory.
func (s *Server) Bytes() []byte { return s.region.Bytes() }

// Remote is where channels read it.
func (s *Server) Remote() rdma.Remote { return s.region.Remote() }

// Dial opens a read channel. It is for the test's goroutine.
func (s *Server) Dial(blockBytes, window int) *offload.Channel {
	s.tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	accepted := make(chan error, 1)
	go func() {
		req, err := s.ln.Accept(ctx)
		if err == nil {
			_, err = req.Accept(rdma.QPConfig{SendCQ: s.cq, RecvCQ: s.cq}, nil)
		}
		accepted <- err
	}()
	ch, err := offload.Dial(ctx, s.client, s.ln.Addr(), offload.ChannelConfig{BlockBytes: blockBytes, Window: window})
	if err != nil {
		cancel()
	}
	if err := errors.Join(err, <-accepted); err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { ch.Close() })
	return ch
}
