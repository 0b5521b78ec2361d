package client

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
)

// Lanes
//
// Requests about a shard go to the worker that owns it (recordshards.go). A worker serves
// the connections that it accepted, so a session has a lane to each owner:
//
//	session    |  caller, to any worker: dialed at first, for all but shards
//	           |  lane to worker 0: dialed when there is a request for it
//	           |  lane to worker 1: likewise
//
// The goroutines of a client share its lanes. Messages that belong to one connection, such
// as the parts of a Put, stay together, since the lane to a worker does not change while
// the session lasts. If a lane breaks, so does the session; all are made again. If a
// lane cannot be made, the caller takes its requests, and the log says so: a worker that
// does not own the shard carries them out (ShardStats.Strayed).
//
// Where a transport has one worker, this worker owns all shards, and the caller is enough.
// Else a server has one connection per client and owner, and one more per client. This
// limits HydraDB's scaling over shards (5 of them with 50 clients): more connections than
// the card's cache holds.

// lane is a connection to a worker.
type lane struct {
	ready chan struct{} // closed when the rest is set
	by    caller
	own   bool  // by is not the session's caller
	err   error // the session has ended
}

// laneInterval between heartbeats of a lane, which no policy reads: the longest.
const laneInterval = 10 * time.Second

// callOf is call about a collection. If it is about a shard, the lane to its owner is used.
func (s *session) callOf(ctx context.Context, o *openSlab, kind fastmsg.Kind, payload, dst []byte) ([]byte, error) {
	if o == nil || o.part == nil || o.part.owner < 0 {
		return s.call(ctx, kind, payload, dst)
	}
	l := s.lanes[o.part.owner].Load()
	if l == nil {
		l = s.openLane(o.part.owner)
		select {
		case <-l.ready:
		case <-ctx.Done():
			return dst, fmt.Errorf("%w: %w", model.ErrNotSent, ctx.Err())
		}
		if l.err != nil {
			return dst, l.err
		}
	}
	return s.callBy(ctx, l.by, kind, payload, dst)
}

// openLane returns the lane to a worker, which may not be ready yet.
func (s *session) openLane(worker int) *lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.opening[worker]
	if l != nil {
		return l
	}
	l = &lane{ready: make(chan struct{})}
	if s.ended {
		l.err = laneEnded()
		close(l.ready)
		return l
	}
	if s.opening == nil {
		s.opening = map[int]*lane{}
	}
	s.opening[worker] = l
	s.background.Go(func() { s.keepLane(l, worker) })
	return l
}

func laneEnded() error { return fmt.Errorf("%w: the connection ended", model.ErrNotSent) }

// keepLane dials a lane, and ends the session when the lane breaks.
func (s *session) keepLane(l *lane, worker int) {
	by, err := s.dialLane(worker)
	s.mu.Lock()
	switch {
	case s.ended:
		l.err = laneEnded()
	case err != nil:
		l.by = s.caller
	default:
		l.by, l.own = by, true
	}
	if l.err == nil {
		s.lanes[worker].Store(l)
	}
	close(l.ready)
	s.mu.Unlock()
	switch {
	case l.own:
		<-by.Done()
		s.caller.Close()
	case by != nil:
		by.Close()
	}
}

// closeLanes is for a session that has ended.
func (s *session) closeLanes() {
	for i := range s.lanes {
		if l := s.lanes[i].Load(); l != nil && l.own {
			l.by.Close()
		}
	}
}

// dialWorker dials a lane of a session over rings.
func (c *connection) dialWorker(s *session, worker int) (caller, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.opts.DialTimeout)
	defer cancel()
	hello := wire.AskWorker(wire.AppendClientHello(nil, s.hello.BootID, laneInterval, c.scheme.Poll), worker)
	fc, err := c.dialRing(ctx, s, hello)
	if err != nil {
		c.log.Warn("no connection to a shard's owner; another worker carries its requests out",
			"server", s.server, "worker", worker, "err", err)
		return nil, err
	}
	return fc, nil
}

// dialRing dials the session's server, with a hello.
func (c *connection) dialRing(ctx context.Context, s *session, hello []byte) (*fastmsg.Caller, error) {
	fc, err := fastmsg.Dial(ctx, s.dev, s.addr, fastmsg.CallerConfig{
		RingBytes: c.opts.RingBytes, Hello: wire.AddTicket(hello, s.hello.Ticket), InMemory: c.scheme.InMemory, Placed: c.scheme.Placed,
		Fetch: c.scheme.Fetch, FetchCounts: &c.counters.fetched,
		FetchBytes: c.opts.FetchBytes, FetchRetries: c.opts.FetchRetries, FetchAlways: c.opts.FetchAlways,
	})
	if err != nil {
		return nil, err
	}
	if b := fc.Hello(); len(b) < 8 || binary.LittleEndian.Uint64(b) != s.hello.BootID {
		fc.Close()
		return nil, fmt.Errorf("%w at %s: another server answers on %s", model.ErrNoServer, s.server, s.addr)
	}
	return fc, nil
}
