//go:build !race

package api

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"

	"github.com/catfish-index/catfish/internal/limits"
)

// inContext is a stream with a context.
type inContext struct {
	readyStream
	ctx context.Context
}

func (s inContext) Context() context.Context { return s.ctx }

// maxCallAllocations is what a call may allocate in addition to gRPC and its handler:
// contexts, a timer, an account, the name of its source. Four are the test's own.
const maxCallAllocations = 28

func TestCallAllocations(t *testing.T) {
	g := &gate{answers: limits.NewBudget(ofCalls, 1<<20, 1<<20), idle: DefaultIdleTimeout, stopping: t.Context()}
	from := peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 1}})
	info := &tap.Info{}
	one := &grpc.StreamServerInfo{IsServerStream: true}
	handler := func(_ any, ss grpc.ServerStream) error { return ss.RecvMsg(nil) }
	n := testing.AllocsPerRun(1000, func() {
		stream, end := context.WithCancel(from)
		defer end()
		ctx, err := g.tap(stream, info)
		if err == nil {
			ctx = grpc.NewContextWithServerTransportStream(ctx, endedBy{})
			err = g.stream(nil, inContext{ctx: ctx}, one, handler)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if n > maxCallAllocations {
		t.Errorf("%v allocations, want at most %d", n, maxCallAllocations)
	}
	if u := g.answers.Use(); u.Used != 0 {
		t.Errorf("%+v", u)
	}
}
