package client

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	records "github.com/catfish-index/catfish/internal/kv/remote"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rstar/remote"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/offload"
)

// Reads
//
// A read of any kind goes the same way:
//
//	run     gets a session, and repeats on the next one if that breaks
//	once    opens the collection, and checks the request
//	byPath  asks the policy: offload, and message for what that left, or message
//
// A query type has its own once, offload and message.

// maxLost is how many connections one query may lose. A server that
// restarts costs one or two; after maxLost the query itself ends the
// connections, or the server is no Catfish server.
const maxLost = 8

// read is the part that all reads have. They are pooled.
type read struct {
	open     *openSlab   // the collection, once it is open
	explain  *explaining // nil: no caller asked for one
	req, ans []byte
	out      Outcome // of the present attempt
	askOnly  bool    // the server answers it, whatever the policy chooses
	// atPrimary: a secondary has failed to carry it out.
	atPrimary bool
}

func (a *read) common() *read { return a }

// release ends a read. Large buffers are not kept.
func (a *read) release() {
	a.open, a.explain, a.atPrimary = nil, nil, false
	if cap(a.ans) > wire.KeepBytes {
		a.ans = nil
	}
}

// operation is a read: it has no effects, and may be repeated.
type operation interface {
	common() *read
	// once carries out the read over one session.
	once(ctx context.Context, c *Client, s *session) error
	// again forgets the results of an attempt that failed.
	again()
}

// search is an operation whose path the policy chooses.
type search interface {
	operation
	policy.Search
	// offload reads the server's memory. left is how many searches still have no
	// answer; an error, such as errAsk, says why, if there is one reason for all.
	offload(ctx context.Context, c *Client, s *session) (left int, err error)
	// message asks for what has no answer, and returns how many searches that were.
	message(ctx context.Context, c *Client, s *session) (asked int, err error)
	// size of a search that has ended: how many searches it made together, and their
	// results.
	size() (searches, results int)
}

// errAsk: what a search needs takes too many reads, or could not be read. The server
// answers it.
var errAsk = errors.New("catfish: ask the server")

// run carries out a read, and again on a new connection when a connection breaks.
func (c *Client) run(ctx context.Context, q operation) error {
	a := q.common()
	var refusals refusals
	forgot, broken := 0, 0
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("catfish: %w", err)
		}
		s, err := c.conn.others.session(ctx, c.conn, q)
		if err == nil {
			err = q.once(ctx, c, s)
		}
		switch {
		case s == nil:
			return err
		case err == nil && c.conn.others.counts(s, q):
			return nil
		case err == nil || s.inSync && ctx.Err() == nil:
			c.conn.others.failed(s, q, err)
			q.again()
			continue
		}
		if errors.Is(err, model.ErrUnknownCollection) && forgot < maxLost && a.open != nil {
			forgot++
			s.forget(a.open)
			q.again()
			continue
		}
		if refusals.again(ctx, c.conn, err) {
			q.again()
			continue
		}
		if !lost(err) {
			return err
		}
		if cause := ctx.Err(); cause != nil {
			if !errors.Is(err, cause) {
				err = fmt.Errorf("catfish: %w: %w", cause, err)
			}
			return err
		}
		if broken++; broken == maxLost {
			return fmt.Errorf("catfish: gave up after losing %d connections: %w", broken, err)
		}
		q.again()
		c.conn.counters.retried.Add(1)
		if a.explain != nil {
			a.explain.Retried++
		}
		// The ring's poller notices a dead peer as the read channels do; until
		// then asking again is useless.
		select {
		case <-s.left:
		case <-s.caller.Done():
		case <-ctx.Done():
		case <-time.After(rdma.PeerTimeout):
			s.retire()
			s.caller.Close()
		}
	}
}

// lost reports whether err means that the session failed, not the request.
func lost(err error) bool {
	if errors.Is(err, fastmsg.ErrTooLarge) {
		return false // the next answer would be the same
	}
	return errors.Is(err, offload.ErrChannel) || errors.Is(err, offload.ErrStopped) || errors.Is(err, remote.ErrServerChanged) ||
		errors.Is(err, model.ErrNotSent) || errors.Is(err, model.ErrUnknownOutcome)
}

// openAs opens the collection, which must be of a kind.
func (a *read) openAs(ctx context.Context, c *Client, s *session, is kind, request fastmsg.Kind) (err error) {
	a.open, err = s.openKind(ctx, c.collection, is, request)
	if err == nil {
		a.explain.step("get the connection")
	}
	return err
}

// byPath carries out a search of an open collection by the path that the policy
// chooses.
func (c *Client) byPath(ctx context.Context, s *session, q search) error {
	a := q.common()
	k := a.open.kind()
	engine := c.conn.engines[k]
	path, began := engine.Choose(&s.mailboxes[k], q)
	a.explain.chose(engine, s, q, path)
	a.out = Outcome{Path: FastMessaging}
	if path == Offload && s.canOffload() && !a.askOnly {
		c.conn.letOthersRun()
		a.out.Path = Offload // also if it ends by fast messaging
		term, err := s.lease.begin(ctx)
		if err != nil {
			return err
		}
		left, err := q.offload(ctx, c, s)
		if err = s.mayAsk(ctx, a.open, err); err != nil {
			return err
		}
		if f := c.conn.opts.hooks.AfterReads; f != nil {
			f()
		}
		if held, err := s.lease.holds(ctx, term); err != nil {
			return err
		} else if !held {
			q.again()
			left = max(left, 1)
		}
		if left == 0 {
			a.out.Searches, a.out.Results = q.size()
			engine.Done(began, a.out, Offload)
			return nil
		}
		c.conn.counters.fellBack.Add(uint64(left))
		if a.explain != nil {
			a.explain.FellBack = true
		}
	}
	asked, err := q.message(ctx, c, s)
	if err != nil {
		return err
	}
	if asked > 1 {
		c.conn.counters.together.Add(uint64(asked - 1))
	}
	a.out.Searches, a.out.Results = q.size()
	engine.Done(began, a.out, FastMessaging)
	return nil
}

// mayAsk returns nil if the server can answer a search of o that could not be
// offloaded because of err.
func (s *session) mayAsk(ctx context.Context, o *openSlab, err error) error {
	switch {
	case err == nil, errors.Is(err, errAsk), errors.Is(err, offload.ErrRestart), errors.Is(err, offload.ErrTorn), errors.Is(err, errNoChannel):
		return nil
	case errors.Is(err, remote.ErrGrown), errors.Is(err, records.ErrGrown):
		o.outgrown.Store(true) // The next search will ask the server where it is.
		return nil
	}
	return s.walkFailed(ctx, o, err)
}

// letOthersRun is called before offloading, which over shared memory keeps
// the core without a pause. Goroutines that have a request to send, or an
// answer to fetch, run first. Otherwise the server would idle if all clients of
// a core offload at once, which happens because they see the same heartbeat.
func (c *connection) letOthersRun() {
	if n := c.counters.reads.Load() / policy.YieldReads; n != c.yielded.Load() {
		c.yielded.Store(n)
		runtime.Gosched()
	}
}

// ask sends req and takes the answer into ans.
func (a *read) ask(ctx context.Context, c *Client, s *session, kind fastmsg.Kind) (err error) {
	a.ans, err = s.callOf(ctx, a.open, kind, a.req, a.ans[:0])
	c.conn.counters.addMessage(len(a.req), len(a.ans))
	a.explain.asked(len(a.req), len(a.ans))
	a.out.Trips++
	a.out.Bytes += len(a.req) + len(a.ans) + 2*wire.FrameBytes
	return err
}

// count counts the reads of a walk.
func (a *read) count(c *Client, st *offload.Stats) {
	c.conn.counters.addOffload(st)
	a.explain.read(st)
	a.out.Reads += int(st.Reads)
	a.out.Trips += int(st.RoundTrips)
	a.out.Bytes += int(st.Bytes)
}
