package api

import (
	"context"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/store"
)

// unary is the interceptor of calls with one message each way.
func (g *gate) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo,
	next grpc.UnaryHandler,
) (any, error) {
	c := callOf(ctx)
	defer c.leave()
	c.arrive()
	ctx, err := c.begin(ctx)
	if err != nil {
		return nil, statusOf("", err)
	}
	read := g.reading(info.FullMethod)
	answer, err := next(ctx, req)
	if err == nil {
		if old := read.Err(); old != nil {
			return nil, statusOf("", old)
		}
	}
	return answer, err
}

// reading begins a call that reads. Its messages count if the server, a member of a group
// that was the primary then, still is it when they are sent. Watches tell what is committed.
func (g *gate) reading(method string) store.Reading {
	if g.features == nil || roles[method] != access.Read || endless(method) {
		return store.Reading{}
	}
	return g.features.store.Load().Reading(store.AtAny)
}

// readingHere is reading of a call that a door has found to be for the primary, and this
// member to be it.
func (g *gate) readingHere(method string) store.Reading {
	if g.features == nil || roles[method] != access.Read || endless(method) {
		return store.Reading{}
	}
	return g.features.store.Load().Reading(store.AtPrimary)
}

// stream is the interceptor of all other calls.
func (g *gate) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo,
	next grpc.StreamHandler,
) error {
	growStack()
	c := callOf(ss.Context())
	defer c.leave()
	ctx, err := c.begin(ss.Context())
	if info.IsClientStream {
		c.arrive()
	}
	if err == nil && endless(info.FullMethod) {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(g.stopping, func() { cancel(errStopping) })()
	}
	if err == nil {
		err = next(srv, &callStream{
			ServerStream: ss, ctx: ctx, call: c, read: g.reading(info.FullMethod),
		})
	}
	if _, ok := status.FromError(err); !ok {
		err = statusOf("", err)
	}
	return err
}

// endless reports whether a call has no end of its own: the watches of health and of
// features. They end when the server stops, or GracefulStop would wait for them forever.
func endless(method string) bool {
	return method == healthpb.Health_Watch_FullMethodName || method == catfishv1.FeatureService_Watch_FullMethodName
}

// callStream is a stream that waits for its peer no longer than the call may.
type callStream struct {
	grpc.ServerStream
	ctx  context.Context
	call *call
	read store.Reading
	sent bool
}

func (s *callStream) Context() context.Context { return s.ctx }

func (s *callStream) RecvMsg(m any) error {
	if s.call.hasArrived() {
		return s.wait(s.receive, m)
	}
	err := s.request(m)
	if err == nil {
		s.call.arrive()
	}
	return err
}

// request receives the request of a call that has one. It waits in this goroutine:
// another one costs 5 us, most of it for a stack that grows while the message is
// decoded. If the call ends meanwhile, call.end writes its status.
func (s *callStream) request(m any) error {
	stream, ok := grpc.ServerTransportStreamFromContext(s.ctx).(statusWriter)
	if !ok {
		return s.wait(s.receive, m)
	}
	if why := s.call.await(stream); why != nil {
		return why
	}
	err := s.receive(m)
	if why := s.call.await(nil); why != nil {
		return why
	}
	return err
}

func (s *callStream) receive(m any) error {
	return receiveSized(s.ServerStream.RecvMsg, m)
}

// SendMsg waits while the client's flow-control window is full, which the
// first message never does: gRPC buffers 64 KB of a stream.
func (s *callStream) SendMsg(m any) error {
	if err := s.read.Err(); err != nil {
		return err
	}
	if !s.sent {
		s.sent = true
		return s.ServerStream.SendMsg(m)
	}
	return s.wait(s.ServerStream.SendMsg, m)
}

// wait calls f, which waits for the peer. If the server ends the call
// meanwhile, wait returns the reason, and f ends a little later, when the
// handler has returned. f runs in its own goroutine because gRPC offers no
// other way to send a status while a message waits.
func (s *callStream) wait(f func(any) error, m any) error {
	if s.call.waitIdle() {
		defer s.call.stopTimers()
	}
	done := make(chan error, 1)
	go func() { done <- f(m) }()
	select {
	case err := <-done:
		return err
	case <-s.ctx.Done():
		if why := s.call.ended(); why != nil {
			return why
		}
		return <-done
	}
}
