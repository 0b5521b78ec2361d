package api

import (
	"context"
	"errors"
	"testing"
	"unsafe"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
)

// TestTransportIsStatusWriter: if gRPC's transport no longer implements
// statusWriter, each request costs a goroutine.
func TestTransportIsStatusWriter(t *testing.T) {
	is := make(chan bool, 1)
	c := startBufconn(t, trees{"default": treeOf(t)}.alone(), WithGRPC(grpc.ChainStreamInterceptor(
		func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			_, ok := grpc.ServerTransportStreamFromContext(ss.Context()).(statusWriter)
			is <- ok
			return next(srv, ss)
		})))
	if _, err := c.search(testContext(t), &catfishv1.SearchRequest{Query: pbRect(world)}); err != nil || !<-is {
		t.Errorf("the transport takes no status (%v)", err)
	}
}

// silentStream is a stream whose request never comes.
type silentStream struct {
	grpc.ServerStream
	asked chan struct{} // closed when the handler waits for the request
	over  chan struct{} // closed when the stream ends
}

func (s silentStream) RecvMsg(any) error {
	close(s.asked)
	<-s.over
	return context.Canceled
}

// endedBy is a transport that records its status.
type endedBy struct {
	grpc.ServerTransportStream
	stream silentStream
	st     chan *status.Status
}

func (t endedBy) WriteStatus(s *status.Status) error {
	t.st <- s
	close(t.stream.over)
	return nil
}

// TestCallEndsWhileAwaitingRequest: a call that ends while it waits for its request
// reports why, by its transport or, if that takes no status, by its handler.
func TestCallEndsWhileAwaitingRequest(t *testing.T) {
	for name, plain := range map[string]bool{"transport": false, "handler": true} {
		t.Run(name, func(t *testing.T) {
			stream := silentStream{asked: make(chan struct{}), over: make(chan struct{})}
			transport := endedBy{stream: stream, st: make(chan *status.Status, 1)}
			ctx := grpc.NewContextWithServerTransportStream(t.Context(), transport)
			if plain {
				ctx = grpc.NewContextWithServerTransportStream(t.Context(), transport.ServerTransportStream)
			}
			c := &call{gate: &gate{}}
			ctx, err := c.begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			s := &callStream{ServerStream: stream, ctx: ctx, call: c}
			go func() { ended <- s.RecvMsg(&catfishv1.SearchRequest{}) }()
			<-stream.asked
			why := errors.New("because")
			c.end(why)
			if err := await(t, "the end of the call", ended); !errors.Is(err, why) {
				t.Errorf("RecvMsg: %v", err)
			}
			if plain {
				close(stream.over)
				return
			}
			if st := <-transport.st; st.Code() != status.Code(statusOf("", why)) {
				t.Errorf("status %v", st)
			}
			// The call has ended, and does not wait again.
			if err := s.RecvMsg(&catfishv1.SearchRequest{}); !errors.Is(err, why) {
				t.Errorf("a second one: %v", err)
			}
		})
	}
}

// use takes a good part of a call's stack.
//
//go:noinline
func use(at *byte) byte {
	var room [callStack * 3 / 8]byte
	room[uintptr(unsafe.Pointer(at))%uintptr(len(room))]++
	return room[0]
}

// moved reports whether use moves the stack of its goroutine.
//
//go:noinline
func moved(grow bool) bool {
	if grow {
		growStack()
	}
	var here byte
	before := uintptr(unsafe.Pointer(&here))
	use(&here)
	return uintptr(unsafe.Pointer(&here)) != before
}

// TestStackGrowsOnce: after growStack the stack does not move. A garbage
// collection may shrink it in between, so some tries may fail. The runtime may
// have begun with a large stack, which does not move without growStack either.
func TestStackGrowsOnce(t *testing.T) {
	const tries = 100
	stayed := 0
	for range tries {
		done := make(chan bool)
		go func() { done <- moved(true) }()
		if !<-done {
			stayed++
		}
	}
	if stayed < tries/2 {
		t.Errorf("the stack stayed in %d of %d goroutines", stayed, tries)
	}
}
