package client

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/boottime"
	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/wire"
)

// Leases of members
//
// Memory of a member that stands still, or is cut off, can be read by RDMA after another
// member has become the primary and acknowledged other values. So what was read one-sidedly
// from a member of a group counts only if afterwards the member's lease holds:
//
//	term := begin     the lease's term
//	offload           reads; the last one's completion was polled
//	holds(term)       the lease covers now
//	  |  the latest copy         an absolute time: an old copy does no harm
//	  |  the last heartbeat      it is in this process's memory
//	  |  a message (KindLease)   three a second, if heartbeats are rare
//	  '- no: what was read is forgotten, and the search goes by message; the server looks
//	     at its lease itself
//
// Now is a bound of the server's clock (replica.Clock), from the best answer so far: an old
// one bounds it less well, until it covers nothing and another is asked for.
//
// If several groups have the store, a lease is given by a map, and what was read by another one
// does not count: the server may no longer have it. Heartbeats do not name the map.
//
// A session with a server in no group has no memberLease, and reads no clock.

// memberLease is what a session knows of its member's lease. A nil one holds for ever.
type memberLease struct {
	now    func() time.Duration
	ask    func(context.Context) (wire.Standing, error)
	beat   func() (numbers [2]uint64, ok bool) // of the last heartbeat
	inSync bool                                // a secondary's lease counts, too
	epoch  func() uint64                       // of the present map of groups, nil: there is none
	said   atomic.Uint64                       // the epoch by which the latest lease was given

	asking chan struct{} // has an element while a goroutine asks
	latest atomic.Pointer[replica.Lease]
	clock  atomic.Pointer[replica.Clock]
}

// newMemberLease is for a session, nil if its server is in no group.
func newMemberLease(s *session, inSync bool) *memberLease {
	if s.hello.Group == nil {
		return nil
	}
	l := &memberLease{
		now: boottime.Now, ask: s.standing, beat: s.mailboxes[ofBoxes].numbers, inSync: inSync, asking: make(chan struct{}, 1),
	}
	if s.epochs != nil {
		l.epoch = func() uint64 { return s.epochs.of.view.Load().epoch }
		l.beat = func() (_ [2]uint64, ok bool) { return } // Heartbeats do not name the epoch.
	}
	return l
}

// standing asks the member for its lease.
func (s *session) standing(ctx context.Context) (wire.Standing, error) {
	if !s.knows(wire.KindLease) {
		return wire.Standing{}, nil // All goes by message.
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // A member that stands still never answers, and another one is the primary.
		select {
		case <-s.left:
			cancel()
		case <-ctx.Done():
		}
	}()
	var said []byte
	if s.inSync {
		said = []byte{wire.ReadInSync}
	}
	b, err := s.call(ctx, wire.KindLease, said, nil)
	if err != nil {
		return wire.Standing{}, err
	}
	return wire.GetStanding(b)
}

// begin notes the term in which a read begins, 0: the member may not be read.
func (l *memberLease) begin(ctx context.Context) (term uint64, err error) {
	if l == nil {
		return 0, nil
	}
	p := l.latest.Load()
	if p == nil {
		if _, err := l.renew(ctx, 0); err != nil {
			return 0, err
		}
		if p = l.latest.Load(); p == nil {
			return 0, nil
		}
	}
	return p.Term, nil
}

// holds reports whether what was read since begin counts.
func (l *memberLease) holds(ctx context.Context, term uint64) (bool, error) {
	switch {
	case l == nil || l.covers(term):
		return true, nil
	case term == 0:
		return false, nil
	}
	if n, ok := l.beat(); ok {
		if l.learn(wire.LeaseOf(n[0], n[1])); l.covers(term) {
			return true, nil
		}
	}
	return l.renew(ctx, term)
}

func (l *memberLease) covers(term uint64) bool {
	p, c := l.latest.Load(), l.clock.Load()
	return p != nil && c != nil && p.Covers(term, c.Bound(l.now())) && (l.epoch == nil || l.epoch() == l.said.Load())
}

// renew asks the member, and reports whether its lease covers a term now. One goroutine asks
// for all.
func (l *memberLease) renew(ctx context.Context, term uint64) (bool, error) {
	select {
	case l.asking <- struct{}{}:
		defer func() { <-l.asking }()
	case <-ctx.Done():
		return false, fmt.Errorf("%w: %w", model.ErrNotSent, ctx.Err())
	}
	if l.covers(term) {
		return true, nil
	}
	_, err := l.renewed(ctx)
	return l.covers(term), err
}

// renewed asks the member.
func (l *memberLease) renewed(ctx context.Context) (wire.Standing, error) {
	sent := l.now()
	is, err := l.ask(ctx)
	if err != nil || is.Lease.Term == 0 {
		return is, err
	}
	c := &replica.Clock{Sent: sent, Server: is.Now}
	for old := l.clock.Load(); old == nil || c.Bound(sent) < old.Bound(sent); old = l.clock.Load() {
		if l.clock.CompareAndSwap(old, c) {
			break
		}
	}
	l.learn(is.Lease)
	for said := l.said.Load(); said < is.Epoch && !l.said.CompareAndSwap(said, is.Epoch); {
		said = l.said.Load()
	}
	return is, nil
}

// learn keeps a lease if it is later than the latest one.
func (l *memberLease) learn(is replica.Lease) {
	secondary := is.Term&replica.OfSecondary != 0
	if is.Term == 0 || secondary && !l.inSync {
		return
	}
	for {
		old := l.latest.Load()
		if old != nil {
			was, now := old.Term&^replica.OfSecondary, is.Term&^replica.OfSecondary
			if now < was || old.Term == is.Term && is.Until <= old.Until {
				return
			}
		}
		if l.latest.CompareAndSwap(old, &is) {
			return
		}
	}
}
