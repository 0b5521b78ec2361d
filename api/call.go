package api

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/limits"
)

// callBytes is what a call takes of the budget from its beginning: a gRPC
// stream with its goroutine, contexts and timer, and one batch of an answer.
// 10,000 idle streams were measured to hold 13 KB each.
const callBytes = 16 << 10

// gate admits calls.
type gate struct {
	answers      *limits.Budget // bytes of calls and of their answers
	messageBytes int64          // the largest request
	idle         time.Duration  // how long a call may wait for its peer
	memory       limits.Memory  // nil: never full
	keys         *access.Keys   // nil: calls need no key
	features     *features      // nil: not served
	// stopping ends with the server.
	stopping context.Context //nolint:containedctx // of the server, not of a call
}

// call is what one call holds of the server: bytes in the budget of its source,
// and time in which it waits for its peer. The methods are safe for concurrent
// use.
type call struct {
	gate     *gate
	account  *limits.Account
	late     *time.Timer // runs until the request arrives, or is slow
	stayOpen func() bool // makes the end of the stream leave the account open; false: too late
	answer   int64       // bytes of the account; only the handler uses it
	search   int64       // other bytes, of a search in progress
	caller   caller      // owner of the call's key; constant
	context  callContext // of the stream; constant

	mu      sync.Mutex
	stop    context.CancelCauseFunc
	why     error        // why the server ended the call, if it did
	arrived bool         // its request has arrived
	slow    bool         // it takes messageBytes, because the request has not arrived
	idle    *time.Timer  // runs while the call waits for its peer; nil: it never waited
	waiting statusWriter // stream from which the handler awaits the request
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
		return limits.SourceOf(p.Addr)
	}
	return "unknown"
}

// tap admits a call when its headers arrive. An interceptor runs later; the
// message may still be on its way. It must not block.
func (g *gate) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	c := &call{gate: g, caller: identify(g.keys, info.FullMethodName, info.Header)}
	ctx, c.stop = context.WithCancelCause(ctx)
	c.account = g.answers.Open(sourceOf(ctx), func(err error) {
		c.end(overBudget(g.answers, ReasonBusy, busyRetry, err))
	})
	if err := c.account.Take(callBytes); err != nil {
		c.account.Close()
		c.stop(err)
		return nil, statusOf("", overBudget(g.answers, ReasonBusy, busyRetry, err))
	}
	c.late = time.AfterFunc(min(slowRequest, g.idle), c.isLate)
	c.stayOpen = context.AfterFunc(ctx, c.close)
	c.context = callContext{ctx, c}
	return &c.context, nil
}

// callContext is the context of a call.
type callContext struct {
	context.Context
	call *call
}

func (c *callContext) Value(key any) any {
	if key == (callKey{}) {
		return c.call
	}
	return c.Context.Value(key)
}

// close gives back what the call holds, when its stream ends.
func (c *call) close() {
	c.arrive() // Nothing waits for its request any more.
	c.account.Close()
}

// leave is close when the handler ends, which is a little earlier.
func (c *call) leave() {
	if c.stayOpen != nil && c.stayOpen() {
		c.close()
	}
}

// end ends the call with a reason. The first reason counts.
func (c *call) end(why error) {
	c.mu.Lock()
	if c.why == nil {
		c.why = why
	}
	why = c.why
	c.stop(why)
	waiting := c.waiting
	c.mu.Unlock()
	if waiting != nil {
		st, _ := status.FromError(statusOf("", why))
		_ = waiting.WriteStatus(st) // Otherwise the stream has ended.
	}
}

// ended returns why the server ended the call, or nil.
func (c *call) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// begin returns the context of the handler. From now on end cancels that
// context and no longer the stream, which would get gRPC's status CANCELED
// before the handler can return a better one.
func (c *call) begin(ctx context.Context) (context.Context, error) {
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

// hold records that the answer of the call of ctx takes n bytes at present. The
// error says why the call must end. Only the call's handler calls it.
func hold(ctx context.Context, n int64) error {
	c := callOf(ctx)
	return c.hold(ctx, &c.answer, n)
}

// searching returns a store.Query's Hold. The bytes that the search of the call
// of ctx keeps count in addition to its answer.
func searching(ctx context.Context) func(bytes int64) error {
	return func(bytes int64) error {
		c := callOf(ctx)
		return c.hold(ctx, &c.search, bytes)
	}
}

// hold sets part, a component of what the call holds, to n bytes.
func (c *call) hold(ctx context.Context, part *int64, n int64) error {
	var memory limits.Memory
	if c.gate != nil {
		memory = c.gate.memory
	}
	err := limits.Hold(c.account, memory, part, n)
	if !errors.Is(err, limits.ErrExceeded) {
		return err
	}
	// The account also ends with the stream, or when it is cut.
	if why := context.Cause(ctx); why != nil {
		return why
	}
	return overBudget(c.gate.answers, ReasonBusy, busyRetry, err)
}

// overBudget is the status of a call for which a budget has no room.
func overBudget(b *limits.Budget, reason string, retry time.Duration, err error) error {
	what := "this call was refused"
	if errors.Is(err, limits.ErrCut) {
		what = "this call was ended"
	}
	return &limitError{
		reason: reason, limit: b.Use().Share, retryAfter: retry,
		text: fmt.Sprintf("%s: %v; repeat later", what, err),
	}
}
