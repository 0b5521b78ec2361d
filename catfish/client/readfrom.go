package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/wire"
)

// Reads at secondaries (Options.ReadFrom)
//
// With readFromAny a client reads features at one in-sync secondary, which it chooses at
// random, so that clients spread over them. All else goes to the primary.
//
//	features    the secondary's session <-- present; nil: there is none, read at the primary
//	all else    the primary's session
//
// What a client has seen does not become unseen, and it sees its own writes. So a member is
// read once it shows all that the client has seen elsewhere:
//
//	n := how often something was seen elsewhere: a write, an event, a read at another member
//	ask the primary for the end of its log      no member shows more
//	ask the member until it shows as much       some ms; not within catchUpTime: not read now
//	caughtUp = n                                good until something else is seen elsewhere
//
// A read counts if the secondary was still the present one when it ended: what it showed to
// a read that ends later would not be known to the next one. Others' writes are seen at the
// secondary after the group's lease (0.4 s) at most: else its lease does not hold, its answers
// are refused (ErrNotPrimary), and another member is chosen.

// Values of Options.ReadFrom.
const (
	readFromPrimary = "primary" // all that was acknowledged before the read began is seen
	readFromAny     = "any"     // features are read at a secondary, if one is in sync
)

const (
	// catchUpTime is how long a read waits for the member to show what the client has seen:
	// some beacons. catchUpPause is between two questions.
	catchUpTime  = 100 * time.Millisecond
	catchUpPause = 2 * time.Millisecond
)

// secondaries choose where features are read. nil: at the primary.
type secondaries struct {
	c       *connection
	servers servers // for the goroutine of run
	present atomic.Pointer[session]
	asking  chan struct{} // has an element while a goroutine asks
	// atPrimary and atSecondary count what was seen there.
	atPrimary, atSecondary atomic.Uint64
}

// newSecondaries is nil without readFromAny.
func newSecondaries(c *connection) *secondaries {
	if c.opts.ReadFrom != readFromAny {
		return nil
	}
	return &secondaries{c: c, servers: c.servers, asking: make(chan struct{}, 1)}
}

// wrote is called after what showed something of the primary, or changed it.
func (x *secondaries) wrote() {
	if x != nil {
		x.atPrimary.Add(1)
	}
}

// session returns the session for the next attempt of a read.
func (x *secondaries) session(ctx context.Context, c *connection, q operation) (*session, error) {
	if x == nil || !readsFeatures(q) {
		return c.session(ctx)
	}
	if s := x.present.Load(); s.alive() && !q.common().atPrimary {
		if x.catchUp(ctx, s, &x.atPrimary) {
			return s, nil
		}
	}
	s, err := x.c.session(ctx)
	if err == nil && !x.catchUp(ctx, s, &x.atSecondary) {
		err = errBehind
	}
	return s, err
}

// readsFeatures reports whether a read is of what all members have. Of boxes and records a
// client does not know whether they are replicated.
func readsFeatures(q operation) bool {
	switch q := q.(type) {
	case *findQuery:
		return true
	case *getQuery:
		return q.of == ofFeatures
	}
	return false
}

// catchUp reports whether a member shows what was seen elsewhere.
func (x *secondaries) catchUp(ctx context.Context, s *session, elsewhere *atomic.Uint64) bool {
	if elsewhere.Load() == s.caughtUp.Load() {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	select { // One goroutine asks for all.
	case x.asking <- struct{}{}:
		defer func() { <-x.asking }()
	case <-ctx.Done():
		return false
	}
	n := elsewhere.Load()
	if n == s.caughtUp.Load() {
		return true
	}
	p, err := x.c.session(ctx)
	if err != nil {
		return false
	}
	is, err := p.lease.renewed(ctx)
	if err != nil || is.Lease.Term&replica.OfSecondary != 0 || !is.Lease.Covers(is.Lease.Term, is.Now) {
		return false // It is not the primary.
	}
	end := is.End
	if s != p {
		is, err = s.lease.renewed(ctx)
	}
	for err == nil && is.Revision < end {
		select {
		case <-time.After(catchUpPause):
			is, err = s.lease.renewed(ctx)
		case <-ctx.Done():
			return false
		}
	}
	if err != nil {
		return false
	}
	s.caughtUp.Store(n)
	return true
}

// counts reports whether a read that has ended over a session counts.
func (x *secondaries) counts(s *session, q operation) bool {
	switch {
	case x == nil || !readsFeatures(q):
		return true
	case !s.inSync:
		x.atPrimary.Add(1)
		return true
	}
	x.atSecondary.Add(1)
	return x.present.Load() == s
}

// failed is called when a read over a session has failed: it is made again at the primary. If
// it is the member's fault, another one is looked for.
func (x *secondaries) failed(s *session, q operation, err error) {
	q.common().atPrimary = true
	if errors.Is(err, model.ErrNotPrimary) || lost(err) || x.c.closing(err) {
		x.leave(s)
	}
}

// leave makes reads take another session.
func (x *secondaries) leave(s *session) {
	if x.present.CompareAndSwap(s, nil) {
		x.atPrimary.Add(1) // The next secondary must show what this one has shown.
		s.leave()
	}
}

// run keeps a session with a secondary, until the client is closed.
func (x *secondaries) run() {
	c := x.c
	var pauses pauses
	for c.ctx.Err() == nil {
		s, err := x.connect()
		if err != nil {
			c.log.Debug("no secondary to read from", "addr", c.addr, "err", err)
			if !pauses.wait(c.ctx) {
				return
			}
			continue
		}
		pauses.next = 0
		x.atPrimary.Add(1)
		x.present.Store(s)
		c.log.Info("reading at a secondary", "server", s.server)
		x.watch(s)
		x.leave(s)
		c.wg.Go(func() {
			c.linger(s)
			s.close()
			s.drained()
		})
		if !pauses.wait(c.ctx) {
			return
		}
	}
}

// watch returns when a session is to be left: its secondary stands still, is cut off, or has
// become the primary.
func (x *secondaries) watch(s *session) {
	t := time.NewTicker(checkInterval)
	defer t.Stop()
	for {
		select {
		case <-s.caller.Done():
			return
		case <-s.left:
			return
		case <-x.c.ctx.Done():
			return
		case <-t.C:
		}
		ctx, cancel := context.WithTimeout(x.c.ctx, checkInterval)
		is, err := s.lease.renewed(ctx)
		cancel()
		if err != nil || is.Lease.Term&replica.OfSecondary == 0 || !is.Lease.Covers(is.Lease.Term, is.Now) {
			return
		}
	}
}

var (
	errNoSecondary = errors.New("no secondary is in sync")
	errBehind      = fmt.Errorf("%w, or it does not show yet what was read at a secondary", model.ErrNotPrimary)
)

// connect makes a session with a secondary.
func (x *secondaries) connect() (*session, error) {
	ctx, cancel := context.WithTimeout(x.c.ctx, x.c.opts.DialTimeout)
	defer cancel()
	all, _, err := x.servers.ask(ctx)
	var term uint64
	for i := range all {
		if g := all[i].hello.Group; g != nil {
			x.servers.learn(&all[i])
			term = max(term, g.Term)
		}
	}
	var found []helloAnswer
	for i := range all {
		if g := all[i].hello.Group; g != nil && g.Role == wire.RoleSecondary && g.Term == term {
			found = append(found, all[i])
		}
	}
	if len(found) == 0 {
		return nil, errors.Join(errNoSecondary, err)
	}
	s, err := x.c.connectTo(ctx, found[rand.IntN(len(found))])
	if err != nil {
		return nil, err
	}
	s.inSync, s.lease.inSync = true, true
	// It must answer reads before any are sent, and be one that may be read.
	is, err := s.lease.renewed(ctx)
	if err == nil && is.Lease.Term&replica.OfSecondary == 0 {
		err = errNoSecondary
	}
	if err != nil {
		s.close()
		s.drained()
		return nil, err
	}
	return s, nil
}
