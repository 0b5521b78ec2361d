package rings

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/lines"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/replica/lane"
	"github.com/catfish-index/catfish/internal/tailword"
)

// Sender is the primary's side of a lane. One goroutine calls Send, another one Acks; any may
// call Stop.
//
//	mirror                                               words
//	+----------+-------------------------+----------+    +---+---+-----+
//	| free     | posted, not consumed    | free     |    | tail words  |
//	+----------+-------------------------+----------+    +---+---+-----+
//	           consumed                  tail
type Sender struct {
	dev    rdma.Device
	post   poster
	events events
	mirror rdma.Region
	line   rdma.Region // the follower writes it
	ring   rdma.Remote // of the follower
	size   int
	end    context.CancelFunc
	tail   uint64 // of all that was posted, pads and gaps too
	wrs    [3]rdma.WorkRequest

	mu       sync.Mutex
	room     sync.Cond
	consumed uint64
	stopped  bool

	sent           atomic.Uint64 // tail, for Acks
	last           atomic.Uint64 // the greatest revision in a frame
	before         lane.Ack
	looked, copied [lane.AckBytes]byte // the line, as it was taken, and as it is
}

const wordsBytes = slots * tailword.Bytes

// partBytes bounds a part of a long batch. It is below what a server lets wait in the sockets
// of software queue pairs.
const partBytes = 256 << 10

// Accept takes a follower's request, whose hello was checked. The device is the request's.
func Accept(dev rdma.Device, req rdma.ConnRequest, h lane.Hello) (_ *Sender, err error) {
	ctx, end := context.WithCancel(context.Background())
	s := &Sender{dev: dev, ring: h.Ring, size: int(h.RingBytes), end: end}
	s.room.L = &s.mu
	defer func() {
		if err != nil { // Then the caller does not use what is returned.
			s.Close()
		}
	}()
	var made [2]rdma.CompletionQueue
	for i := range made {
		if made[i], err = dev.CreateCQ(recvDepth); err != nil {
			return nil, errors.Join(err, req.Reject(err.Error()))
		}
	}
	s.events.cq = made[0]
	s.post = poster{cq: made[1], ctx: ctx}
	if s.mirror, err = dev.Register(s.size+wordsBytes, 0); err == nil {
		s.line, err = dev.Register(rdma.LineBytes, rdma.RemoteWrite)
	}
	if err != nil {
		return nil, errors.Join(err, req.Reject(err.Error()))
	}
	w := lane.Welcome{Ack: s.line.Remote()}
	s.post.qp, err = req.Accept(rdma.QPConfig{SendCQ: s.post.cq, RecvCQ: s.events.cq, SendDepth: sendDepth, RecvDepth: recvDepth}, w.Encode())
	if err != nil {
		return nil, err
	}
	return s, s.announce(0) // The follower waits for it: its ring can be written.
}

// RingBytes is the size of the follower's ring.
func (s *Sender) RingBytes() int { return s.size }

// Send sends a frame, in parts if it is long, and waits while the ring is full. f.Flags has
// Start and Ask alone.
func (s *Sender) Send(f lane.Frame) error {
	if f.Kind != lane.Entries {
		return s.put(&f)
	}
	start, payload := f.Flags, f.Payload
	for flags, part := range lane.Divide(payload, min(partBytes, lane.MaxFrame(s.size)/2-lane.HeaderBytes)) {
		f.Payload, f.Flags = part, flags
		if flags&lane.Continues == 0 {
			f.Flags |= start
		}
		if err := s.put(&f); err != nil {
			return err
		}
	}
	return nil
}

// Written waits until the Write of each frame has completed, which is all that HydraDB's logging
// waits for: the follower's processor has seen none of them yet. The protocol has no use for it.
// The first call has all later frames signaled.
func (s *Sender) Written() error {
	for s.post.posted > s.post.done && s.post.all {
		if err := s.post.wait(); err != nil {
			return s.why(err)
		}
	}
	s.post.all = true
	return nil
}

// put posts a frame, after a pad if it does not fit before the end of the ring.
func (s *Sender) put(f *lane.Frame) error {
	size := lane.Size(len(f.Payload))
	at := int(s.tail % uint64(s.size))
	gap := lane.Gap(at, s.size, size)
	if err := s.wait(gap + size); err != nil {
		return err
	}
	mem, n := s.mirror.Bytes(), 0
	if gap >= lane.HeaderBytes {
		lane.PutPad(mem[at:at+gap], f.Term)
		s.wrs[n] = s.write(at, lane.HeaderBytes) // The rest of a pad says nothing.
		n++
	}
	if gap > 0 {
		at = 0
	}
	f.Put(mem[at : at+size])
	s.wrs[n] = s.write(at, size)
	s.tail += uint64(gap + size)
	s.last.Store(max(s.last.Load(), f.First+uint64(f.Entries)-1))
	return s.announce(n + 1)
}

// announce posts the first n requests, and the tail.
func (s *Sender) announce(n int) error {
	slot, err := s.post.slot()
	if err != nil {
		return s.why(err)
	}
	s.sent.Store(s.tail)
	word := s.size + slot*tailword.Bytes
	tailword.Put(s.mirror.Bytes()[word:], s.tail)
	s.wrs[n] = rdma.WorkRequest{
		Op: rdma.OpWriteImm, Local: rdma.Buffer{Region: s.mirror, Offset: word, Len: tailword.Bytes},
		Remote: s.ring.At(uint64(s.size)),
	}
	return s.why(s.post.post(s.wrs[:n+1]))
}

func (s *Sender) write(at, n int) rdma.WorkRequest {
	return rdma.WorkRequest{
		Op: rdma.OpWrite, Unsignaled: true,
		Local: rdma.Buffer{Region: s.mirror, Offset: at, Len: n}, Remote: s.ring.At(uint64(at)),
	}
}

// wait waits until the ring has n bytes of room.
func (s *Sender) wait(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.tail-s.consumed+uint64(n) > uint64(s.size) && !s.stopped {
		s.room.Wait()
	}
	if s.stopped {
		return ErrStopped
	}
	return nil
}

// Acks calls f with each acknowledgement that it sees, until the lane ends. Some are
// replaced by later ones before they are seen.
func (s *Sender) Acks(f func(lane.Ack)) error {
	for {
		err := s.events.await(s.post.ctx)
		if a, looked := s.look(); looked != nil {
			return looked
		} else if a.Term != 0 && err == nil {
			f(a)
		}
		if err != nil {
			return s.why(err)
		}
	}
}

// looks bounds how often a line is looked at while it is being written. It takes some
// nanoseconds; one that a slow or dead peer left half written ends the lane.
const looks = 1000

// look reads the line. Term 0: it acknowledges nothing new.
func (s *Sender) look() (lane.Ack, error) {
	var a lane.Ack
	var err error
	for range looks {
		lines.Copy(s.copied[:], s.line.Bytes())
		if s.copied == s.looked {
			return lane.Ack{}, nil
		}
		if a, err = lane.DecodeAck(s.copied[:]); err == nil {
			s.looked = s.copied
			break
		}
		runtime.Gosched()
	}
	switch {
	case err != nil:
	case !a.After(&s.before):
		err = fmt.Errorf("acknowledgement %+v after %+v", a, s.before)
	case a.Consumed > s.sent.Load():
		err = fmt.Errorf("acknowledgement of %d bytes of the ring, %d were sent", a.Consumed, s.sent.Load())
	case s.last.Load() != 0 && a.Received > s.last.Load():
		err = fmt.Errorf("acknowledgement of revision %d, the last one sent is %d", a.Received, s.last.Load())
	}
	if err != nil {
		return lane.Ack{}, fmt.Errorf("%w: %w", ErrPeer, err)
	}
	if a.Term != 0 {
		s.before = a
	} else { // the ring alone
		s.before.Consumed = a.Consumed
	}
	s.mu.Lock()
	s.consumed = a.Consumed
	s.room.Signal()
	s.mu.Unlock()
	return a, nil
}

// why says ErrStopped of errors that Stop has caused.
func (s *Sender) why(err error) error {
	if err != nil && s.post.ctx.Err() != nil {
		return ErrStopped
	}
	return err
}

// Stop ends Send and Acks.
func (s *Sender) Stop() {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.room.Broadcast()
}

// Close frees the lane. Send and Acks have returned.
func (s *Sender) Close() {
	s.Stop()
	closeAll(s.post.qp, s.events.cq, s.post.cq, s.line, s.mirror)
}
