package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
)

// Writes that are repeated
//
// A write to a group has a name: the client's random number, and a number that rises. If its
// answer is lost, with the connection or with the primary's term, it is sent again by the
// same name, to whichever member is the primary then. That one knows whether it was made, and
// answers as the first would have (once.go of package store). Any number of writes may be
// under way.
//
// A write is repeated for Options.DialTimeout after the first loss; then its outcome is
// unknown, as it is without a group. So it is when the answer to a repetition says nothing
// of the first attempt: only what a precondition says does.

// names gives the writes of a client their names.
func (c *connection) names(n int) uint64 { return c.numbers.Add(uint64(n)) - uint64(n) + 1 }

// saw notes a revision that the readers of the group see.
func (c *connection) saw(h *wire.Hello) {
	if h.Group == nil {
		return
	}
	for {
		old := c.seen.Load()
		if h.Group.Revision <= old || c.seen.CompareAndSwap(old, h.Group.Revision) {
			return
		}
	}
}

// attempt is a write with a name, which is sent until its answer comes. The zero value has
// none yet.
type attempt struct {
	name  wire.Name
	sent  *session // where the last answer was lost; nil: none was
	waits refusals
	tried int // of many features: those before were sent
}

// takes reports whether the session's server knows names.
func (s *session) takes(kind fastmsg.Kind) bool {
	return s.hello.Group != nil && s.knows(wire.KindNamed) && wire.MayName(kind)
}

// pack gives a request its name.
func (w *attempt) pack(c *connection, kind fastmsg.Kind, payload []byte) []byte {
	if w.name.Client = c.id; w.name.Number == 0 {
		w.name.Number = c.names(1)
	}
	if w.name.Again = w.sent != nil; !w.name.Again {
		w.name.After = c.seen.Load()
	}
	return wire.AppendNamed(make([]byte, 0, wire.NameBytes+len(payload)), &w.name, kind, payload)
}

// lost reports, after a pause, whether a write whose outcome is unknown is to be sent again.
func (w *attempt) lost(ctx context.Context, c *connection, s *session) bool {
	if ctx.Err() != nil {
		return false
	}
	w.sent = s
	return w.waits.more(ctx, c)
}

// refuses is why the write cannot be repeated on a session, nil: it can.
func (w *attempt) refuses(s *session) error {
	if w.sent == nil || w.sent == s || sameGroup(w.sent, s) {
		return nil
	}
	return fmt.Errorf("%w: the server at %s is not of the group that the write was sent to", model.ErrUnknownOutcome, s.server)
}

// outcome is the error of a write that is not sent again.
func (w *attempt) outcome(err error) error {
	if w.sent == nil || errors.Is(err, model.ErrUnknownOutcome) || judged(err) {
		return err
	}
	return fmt.Errorf("%w: an answer was lost, and then: %w", model.ErrUnknownOutcome, err)
}

// judged reports whether a precondition has refused a write.
func judged(err error) bool {
	return errors.Is(err, model.ErrExists) || errors.Is(err, model.ErrConflict) || errors.Is(err, model.ErrNotFound)
}

// refusals are how long a write waits for a primary.
type refusals struct {
	since  time.Time
	pauses pauses
}

// again reports, after a pause, whether a request that failed with err is to be made again:
// another member of the group is the primary, or soon will be, since the server is closing;
// and none has done any of it.
func (w *refusals) again(ctx context.Context, c *connection, err error) bool {
	if !errors.Is(err, model.ErrNotPrimary) && !c.closing(err) || !RetrySafe(err) {
		return false
	}
	return w.more(ctx, c)
}

// more has maintain look for the primary, and pauses until there is another session, or
// longer. It reports whether the time is not over.
func (w *refusals) more(ctx context.Context, c *connection) bool {
	now := time.Now()
	if w.since.IsZero() {
		w.since = now
	}
	if now.Sub(w.since) > c.opts.DialTimeout {
		return false
	}
	_, changed := c.sessions.watch()
	c.look()
	return w.pauses.atMost(longestSearch).waitFor(ctx, changed)
}
