package api

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"

	"github.com/catfish-index/catfish/catfish/access"
	"github.com/catfish-index/catfish/rdma/budget"
)

// callBytes is what a call takes of the budget from its beginning: a stream
// of gRPC's with its goroutine, contexts and timer, and one batch of an answer.
// 10,000 idle streams were measured to hold 13 KB each.
const callBytes = 16 << 10

// slowRequest is when a request counts as slow that has not arrived. Before
// that, what has come of it is at most what the network carries in this time.
// From then on it takes the largest message of its budget.
const slowRequest = time.Second

// gate admits calls.
type gate struct {
	answers      *budget.Budget // bytes of calls and of their answers
	messageBytes int64          // the largest request
	idle         time.Duration  // how long a call may wait for its peer
	backend      Backend        // whose memory answers take
	keys         *access.Keys   // nil: calls need no key
}

// call is what one call holds of the server: bytes in the budget of its
// source, and time in which it waits for its peer. The methods are safe for
// concurrent use.
type call struct {
	gate      *gate
	account   *budget.Account
	timer     *time.Timer // runs while the call waits for its peer
	lateTimer *time.Timer // runs until the request is there
	answer    int64       // bytes of the account; the handler's own
	caller    caller      // who calls; constant

	mu      sync.Mutex
	stop    context.CancelCauseFunc
	why     error // why the server ended the call, if it did
	arrived bool  // its request is there
	slow    bool  // it takes messageBytes, because that is not so
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
	c.timer = time.AfterFunc(g.idle, func() { c.end(&idleError{g.idle}) })
	c.lateTimer = time.AfterFunc(slowRequest, c.late)
	context.AfterFunc(ctx, func() {
		c.timer.Stop()
		c.lateTimer.Stop()
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

// late takes room for the largest request, because this one is slow.
func (c *call) late() {
	if c.hasArrived() {
		return
	}
	if err := c.account.Take(c.gate.messageBytes); err != nil {
		c.end(overBudget(c.gate.answers, ReasonBusy, busyRetry, err))
		return
	}
	c.mu.Lock()
	c.slow = true
	arrived := c.arrived
	c.mu.Unlock()
	if arrived {
		c.account.Give(c.gate.messageBytes)
	}
}

func (c *call) hasArrived() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.arrived
}

// arrive says that the request is there, or that the handler itself counts
// what arrives.
func (c *call) arrive() {
	c.mu.Lock()
	c.arrived = true
	slow := c.slow
	c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.lateTimer.Stop()
	}
	if slow {
		c.account.Give(c.gate.messageBytes)
	}
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
	if n > fullAnswer && c.gate != nil {
		if err := room(c.gate.backend); err != nil {
			return err
		}
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
