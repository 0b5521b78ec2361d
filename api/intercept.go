package api

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// unary is the interceptor of calls with one message each way.
func (g *gate) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo,
	next grpc.UnaryHandler,
) (any, error) {
	c := callOf(ctx)
	c.arrive()
	ctx, err := c.begin(ctx)
	if err != nil {
		return nil, statusOf("", err)
	}
	return next(ctx, req)
}

// stream is the interceptor of all other calls.
func (g *gate) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo,
	next grpc.StreamHandler,
) error {
	c := callOf(ss.Context())
	ctx, err := c.begin(ss.Context())
	if info.IsClientStream {
		c.arrive()
	}
	if err == nil {
		err = next(srv, &callStream{
			ServerStream: ss, ctx: ctx, call: c, sizes: isFeatureMethod(info.FullMethod),
		})
	}
	if _, ok := status.FromError(err); !ok {
		err = statusOf("", err)
	}
	return err
}

// callStream is a stream that waits for its peer no longer than the call may.
type callStream struct {
	grpc.ServerStream
	ctx  context.Context
	call *call
	sent bool
	// sizes: messages too large are refused with details. CatfishService, which
	// is older, does so without.
	sizes bool
}

func (s *callStream) Context() context.Context { return s.ctx }

func (s *callStream) RecvMsg(m any) error {
	err := s.wait(s.receive, m)
	if err == nil && !s.call.hasArrived() {
		s.call.arrive()
	}
	return err
}

func (s *callStream) receive(m any) error {
	if s.sizes {
		return receiveSized(s.ServerStream.RecvMsg, m)
	}
	return s.ServerStream.RecvMsg(m)
}

// SendMsg waits while the client's flow-control window is full, which the
// first message never does: gRPC buffers 64 KB of a stream.
func (s *callStream) SendMsg(m any) error {
	if !s.sent {
		s.sent = true
		return s.ServerStream.SendMsg(m)
	}
	return s.wait(s.ServerStream.SendMsg, m)
}

// wait calls f, which waits for the peer. If the server ends the call
// meanwhile it returns the reason, and f ends a little later, by itself: when
// the handler has returned. f runs in a goroutine of its own because gRPC
// offers no other way to send a status while a message waits.
func (s *callStream) wait(f func(any) error, m any) error {
	if t := s.call.timer; t != nil && s.call.hasArrived() {
		t.Reset(s.call.gate.idle)
		defer t.Stop()
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
