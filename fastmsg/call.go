package fastmsg

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// A slot holds one call in flight. The id of the call on the wire is the index
// of its slot and the slot's generation, which counts its uses. So each answer
// is recognised as the answer to this call, or to no call.
//
//	free --Call--> open --FlagEnd--> answered --Call returns--> free
//	               |  ^ \--ctx done--> abandoned --FlagEnd--> free
//	     ring full v  | room
//	              waiting --ctx done--> free
//
// A request that is waiting must not be answered: its payload still belongs
// to the caller, and Call must not return while the queue refers to it.
//
// An abandoned slot is not used again before its late answer has arrived.
type slot struct {
	// wake takes a token: the answer is complete. It is made when the slot is
	// first used: most clients use a few of their slots.
	wake chan struct{}

	mu    sync.Mutex
	state slotState
	gen   uint32
	kind  Kind // of the answer
	buf   []byte
	base  int           // len(dst): where the answer starts in buf
	began time.Duration // if answers may be fetched
	err   error         // why the answer is not usable

	// Guarded by Caller.mu.
	request Kind
	payload []byte // while it waits in Caller.queue
	end     uint64 // position of the request's end in the ring, or notInRing
}

type slotState uint8

const (
	slotFree slotState = iota
	slotOpen
	slotWaiting // in Caller.queue
	slotAnswered
	slotAbandoned
)

const notInRing = math.MaxUint64

// flushRounds bounds how often one caller posts the requests of others before
// the poller takes over.
const flushRounds = 32

// Call sends a request and waits for its answer, which it appends to dst and
// returns with its kind. If the answer comes in pieces, they are joined; the
// kind is that of the last one. The payload is not retained. dst belongs to
// the Caller until Call returns; if Call fails, it returns nil in its place.
// Any number of goroutines may call. Calls beyond MaxInFlight, and calls for
// which the server's ring has no room, wait.
//
// A failed call is a *CallError; see there, and RetrySafe.
func (c *Caller) Call(ctx context.Context, kind Kind, payload, dst []byte) ([]byte, Kind, error) {
	if kind == kindPad {
		return nil, 0, c.notSent(kind, fmt.Errorf("%w: kind 0 is reserved", ErrConfig))
	}
	if len(payload) > c.maxPayload {
		return nil, 0, c.notSent(kind, fmt.Errorf("%w: payload of %d bytes, limit %d",
			ErrTooLarge, len(payload), c.maxPayload))
	}
	i, err := c.free.take(ctx, c)
	if err != nil {
		return nil, 0, c.notSent(kind, err)
	}
	s := &c.slots[i]
	s.mu.Lock()
	if s.wake == nil {
		s.wake = make(chan struct{}, 1)
	}
	s.state, s.err, s.buf, s.base = slotOpen, nil, dst, len(dst)
	s.gen++
	if c.fetch != nil {
		s.began = c.fetch.ways.Clock()
	}
	c.lead.open.Add(1)
	id := uint64(s.gen)<<32 | uint64(i)
	s.mu.Unlock()

	c.mu.Lock()
	if c.err != nil {
		err := c.err
		c.mu.Unlock()
		c.discard(i)
		return nil, 0, c.notSent(kind, err)
	}
	s.request = kind
	if len(c.queue) == 0 && c.out.append(kind, FlagEnd, id, payload) {
		s.end = c.out.tail
	} else {
		s.end = notInRing
		if s.become(slotOpen, slotWaiting) { // else a hostile server has answered
			s.payload = payload
			c.queue = append(c.queue, i)
		}
	}
	c.flushLocked()
	stalled := c.stalled
	if stalled {
		c.cq.Wake() // the poller will try again
	}
	c.mu.Unlock()

	if stalled {
		c.resumeOwn()
	} else {
		c.tryLead(s)
	}
	select {
	case <-s.wake:
		return c.take(i)
	default:
	}
	select {
	case <-s.wake:
		return c.take(i)
	case <-ctx.Done():
		return c.abandon(i, ctx.Err())
	case <-c.done:
		return c.abandon(i, c.Err())
	}
}

// become changes the state if it is from.
func (s *slot) become(from, to slotState) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != from {
		return false
	}
	s.state = to
	return true
}

// discard frees a slot whose request was not sent. A hostile server may have
// answered it nevertheless: the next call must not get that token.
func (c *Caller) discard(i uint32) {
	s := &c.slots[i]
	s.mu.Lock()
	answered := s.state == slotAnswered
	s.state, s.buf = slotFree, nil
	s.mu.Unlock()
	if answered {
		<-s.wake
	} else {
		c.lead.open.Add(-1)
	}
	c.free.put(i)
}

// take returns the answer and frees the slot.
func (c *Caller) take(i uint32) ([]byte, Kind, error) {
	s := &c.slots[i]
	s.mu.Lock()
	buf, kind, err := s.buf, s.kind, s.err
	s.state, s.buf = slotFree, nil
	s.mu.Unlock()
	if err != nil {
		err = &CallError{c.Peer(), s.request, ErrUnknownOutcome, err}
		c.free.put(i)
		return nil, 0, err
	}
	c.free.put(i)
	return buf, kind, nil
}

// abandon gives up a call, unless its answer is complete.
func (c *Caller) abandon(i uint32, cause error) ([]byte, Kind, error) {
	s := &c.slots[i]
	c.mu.Lock()
	kind := s.request
	if s.end == notInRing {
		c.unqueue(i)
		lost := c.err != nil
		c.mu.Unlock()
		c.discard(i)
		if !lost {
			cause = fmt.Errorf("%w: %w", ErrRingFull, cause)
		}
		return nil, 0, c.notSent(kind, cause)
	}
	// A request in the mirror will be posted, unless the connection is lost.
	// out.posted includes the bytes that are just being posted.
	sent := c.err == nil || s.end <= c.out.posted
	c.mu.Unlock()

	s.mu.Lock()
	if s.state == slotAnswered {
		s.mu.Unlock()
		<-s.wake
		return c.take(i)
	}
	s.state, s.buf = slotAbandoned, nil
	if c.fetch != nil {
		c.fetch.given.Add(1) // before open: the answer to come is fetched
	}
	c.lead.open.Add(-1)
	s.mu.Unlock()
	if !sent {
		return nil, 0, c.notSent(kind, cause)
	}
	return nil, 0, &CallError{c.Peer(), kind, ErrUnknownOutcome, cause}
}

func (c *Caller) notSent(kind Kind, cause error) error {
	return &CallError{c.Peer(), kind, ErrNotSent, cause}
}

// unqueue removes a call that waits for room.
func (c *Caller) unqueue(i uint32) {
	for at, j := range c.queue {
		if i == j {
			c.queue = append(c.queue[:at], c.queue[at+1:]...)
			break
		}
	}
	c.slots[i].payload = nil
}

// admitLocked moves waiting calls into the ring while they fit, in the
// order in which they came.
func (c *Caller) admitLocked() {
	n := 0
	for _, i := range c.queue {
		s := &c.slots[i]
		// gen changes only while the slot is not in the queue.
		id := uint64(s.gen)<<32 | uint64(i)
		if !c.out.append(s.request, FlagEnd, id, s.payload) {
			break
		}
		s.end, s.payload = c.out.tail, nil
		s.become(slotWaiting, slotOpen) // before the flush: no answer is earlier
		n++
	}
	if n > 0 {
		c.queue = c.queue[:copy(c.queue, c.queue[n:])]
	}
}

// flushLocked posts what the ring holds. One goroutine at a time does so,
// without mu. Others only append their requests, which it posts in its next
// round (flat combining). If the last poll answered several calls, more
// requests are about to come; then it first lets their callers run, so that
// one event announces all of them.
func (c *Caller) flushLocked() {
	if c.flushing || c.out.unposted() == 0 {
		return
	}
	c.flushing = true
	if c.lastAnswered.Load() > 1 {
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	for round := 0; c.err == nil; round++ {
		if round == flushRounds {
			c.stalled = true
			break
		}
		posted := c.out.posted
		n := c.out.prepare(&c.wrs)
		if n == 0 {
			break
		}
		if c.fetch != nil && c.fetch.hungry.Load() {
			c.wrs[n-1].Unsignaled = false // its completion wakes the goroutine that fetches
		}
		c.mu.Unlock()
		taken, err := c.qp.Post(c.wrs[:n])
		c.mu.Lock()
		if taken < n {
			c.out.abort(posted, taken)
			if !errors.Is(err, rdma.ErrQueueFull) {
				c.failLocked(err)
			}
			c.stalled = true
			break
		}
	}
	c.flushing = false
	c.idle.Broadcast()
}
