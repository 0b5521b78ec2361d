package api

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/catfish-index/catfish/internal/budget"
)

// callBytes is what a call takes of the budget from its beginning: a stream
// of gRPC's with its goroutine, contexts and timer, and one batch of an answer.
// 10,000 idle streams were measured to hold 13 KB each.
const callBytes = 16 << 10

// gate admits calls.
type gate struct {
	answers *budget.Budget // bytes of calls and of their answers
	idle    time.Duration  // how long a call may wait for its peer
}

// call is what one call holds of the server: bytes in the budget of its
// source, and time in which it waits for its peer. The methods are safe for
// concurrent use.
type call struct {
	gate    *gate
	account *budget.Account
	timer   *time.Timer // runs while the call waits for its peer
	answer  int64       // bytes of the account; the handler's own

	mu   sync.Mutex
	stop context.CancelCauseFunc
	why  error // why the server ended the call, if it did
}

type callKey struct{}

// callOf returns the call that ctx belongs to. Without one, as in a test that
// calls a handler directly, it returns a call without bounds.
func callOf(ctx context.Context) *call {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c
	}
	return &call{}
}

// sourceOf names the source of a call, whose calls share a budget.
func sourceOf(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return budget.SourceOf(p.Addr)
	}
	return "unknown"
}

// tap admits a call as soon as its headers are there: before an interceptor
// could, when the message may still be on its way. It must not block.
func (g *gate) tap(ctx context.Context, _ *tap.Info) (context.Context, error) {
	c := &call{gate: g}
	ctx, c.stop = context.WithCancelCause(ctx)
	c.account = g.answers.Open(sourceOf(ctx), func(err error) {
		c.end(overBudget(g.answers, ReasonBusy, busyRetry, err))
	})
	if err := c.account.Take(callBytes); err != nil {
		c.account.Close()
		c.stop(err)
		return nil, statusOf("", overBudget(g.answers, ReasonBusy, busyRetry, err))
	}
	// Until the handler begins, the message is awaited.
	c.timer = time.AfterFunc(g.idle, func() { c.end(&idleError{g.idle}) })
	context.AfterFunc(ctx, func() {
		c.timer.Stop()
		c.account.Close()
	})
	return context.WithValue(ctx, callKey{}, c), nil
}

// end ends the call, and tells why. The first reason counts.
func (c *call) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = why
	}
	c.stop(c.why)
}

// ended returns why the server ended the call, or nil.
func (c *call) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// begin returns the context of the handler. From now on end cancels that
// one and no longer the stream, which would get gRPC's status CANCELED
// before the handler can return a better one.
func (c *call) begin(ctx context.Context) (context.Context, error) {
	if c.timer != nil {
		c.timer.Stop()
	}
	ctx, stop := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why != nil {
		stop(c.why)
		return nil, c.why
	}
	c.stop = stop
	return ctx, nil
}

// hold says that the answer of the call of ctx takes n bytes at present. The
// error says why the call must end. Only the call's handler calls it.
func hold(ctx context.Context, n int64) error {
	c := callOf(ctx)
	more := n - c.answer
	c.answer = n
	if more <= 0 {
		c.account.Give(-more)
		return nil
	}
	err := c.account.Take(more)
	if err == nil {
		return nil
	}
	// The account also ends with the stream, or when it is cut.
	if why := context.Cause(ctx); why != nil {
		return why
	}
	return overBudget(c.gate.answers, ReasonBusy, busyRetry, err)
}

// unary is the interceptor of calls with one message each way.
func (g *gate) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo,
	next grpc.UnaryHandler,
) (any, error) {
	ctx, err := callOf(ctx).begin(ctx)
	if err != nil {
		return nil, statusOf("", err)
	}
	return next(ctx, req)
}

// stream is the interceptor of all other calls.
func (g *gate) stream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo,
	next grpc.StreamHandler,
) error {
	c := callOf(ss.Context())
	ctx, err := c.begin(ss.Context())
	if err == nil {
		err = next(srv, &callStream{ServerStream: ss, ctx: ctx, call: c})
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
}

func (s *callStream) Context() context.Context { return s.ctx }

func (s *callStream) RecvMsg(m any) error {
	return s.wait(s.ServerStream.RecvMsg, m)
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
	if t := s.call.timer; t != nil {
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

// idleError is about a peer that made no progress.
type idleError struct{ limit time.Duration }

func (e *idleError) Error() string {
	return fmt.Sprintf("the client neither sent nor took a message for %v", e.limit)
}

// overBudget is the status of a call that a budget has no room for.
func overBudget(b *budget.Budget, reason string, retry time.Duration, err error) error {
	what := "this call was refused"
	if errors.Is(err, budget.ErrCut) {
		what = "this call was ended"
	}
	return &limitError{
		reason: reason, limit: b.Use().Share, retryAfter: retry,
		text: fmt.Sprintf("%s: %v; repeat later", what, err),
	}
}
