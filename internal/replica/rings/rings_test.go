package rings

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/replica/lane"
	"github.com/catfish-index/catfish/internal/tailword"
)

// Frames of all lengths arrive in order, round the ring many times, also those that are much
// larger than the ring.
func TestFramesArrive(t *testing.T) {
	const ring = lane.MinRingBytes
	each(t, ring, func(p *pair) {
		rnd := rand.New(rand.NewPCG(1, 2))
		var sizes []int
		for i := range 600 {
			n := rnd.IntN(700)
			if i%100 == 99 {
				n = 10*ring + i
			}
			sizes = append(sizes, n)
		}
		failed := make(chan error, 1)
		go func() {
			defer close(failed)
			for i, n := range sizes {
				f := beacon()
				f.First = uint64(i) + 1
				if n > 0 {
					f = entries(uint64(i)+1, 1, bytes.Repeat([]byte{byte(i)}, n)...)
				}
				if i%7 == 0 {
					f.Flags = lane.Start
				}
				if err := p.s.Send(f); err != nil {
					failed <- err
					return
				}
			}
		}()
		for i, n := range sizes {
			f := p.consume()
			if f.First != uint64(i)+1 || !bytes.Equal(f.Payload, bytes.Repeat([]byte{byte(i)}, n)) {
				p.t.Fatalf("frame %d: revision %d, %d bytes, want %d", i, f.First, len(f.Payload), n)
			}
			if start := f.Flags&lane.Start != 0; start != (i%7 == 0) {
				p.t.Errorf("frame %d: start is %v", i, start)
			}
		}
		if err := <-failed; err != nil {
			p.t.Fatal(err)
		}
	})
}

// consume returns the next frame, and says all the while what was consumed.
func (p *pair) consume() lane.Frame {
	for {
		select {
		case f := <-p.read:
			return f
		default:
			if err := p.r.Acknowledge(lane.Ack{}); err != nil {
				p.t.Fatal(err)
			}
		}
	}
}

// Acknowledgements arrive; a later one may replace an earlier one.
func TestAcksArrive(t *testing.T) {
	each(t, lane.MinRingBytes, func(p *pair) {
		const n = 500
		for i := range uint64(n) {
			p.send(entries(i+1, 1, 1))
			next(p, "frame", p.read)
			if err := p.r.Acknowledge(lane.Ack{Session: 1, Term: 1, Received: i + 1, Durable: i, Echo: -5}); err != nil {
				p.t.Fatal(err)
			}
		}
		last := uint64(0)
		for last < n {
			a := next(p, "acknowledgement", p.acks)
			if a.Received < last || a.Durable != a.Received-1 || a.Echo != -5 {
				p.t.Fatalf("%+v after %d", a, last)
			}
			last = a.Received
		}
	})
}

// Stop revokes the ring: what was announced before is delivered, and nothing after it, although
// the primary continues to write.
func TestStopDrainsAndFences(t *testing.T) {
	each(t, lane.MinRingBytes, func(p *pair) {
		for i := range uint64(5) {
			p.send(entries(i+1, 1, 1))
		}
		// The last of them was announced when its event was taken.
		for i := range uint64(5) {
			if f := next(p, "frame", p.read); f.First != i+1 {
				p.t.Fatalf("revision %d, want %d", f.First, i+1)
			}
		}
		p.r.Stop()
		if err := next(p, "end", p.receiver); !errors.Is(err, ErrStopped) {
			p.t.Fatal(err)
		}
		was := bytes.Clone(p.r.ring.Bytes())
		// The primary knows nothing of it, as one that was stopped and continues.
		var err error
		for i := uint64(6); err == nil && i < 10_000; i++ {
			err = p.s.Send(entries(i, 1, 1))
			if i%32 == 0 { // or the ring is full
				p.s.mu.Lock()
				p.s.consumed = p.s.tail
				p.s.mu.Unlock()
			}
		}
		if err == nil {
			p.t.Error("frames are taken after the ring was revoked")
		}
		if err := next(p, "end of the sender", p.sender); err == nil {
			p.t.Error("the sender is not told")
		}
		if !bytes.Equal(p.r.ring.Bytes(), was) {
			p.t.Error("the memory changed after the ring was revoked")
		}
		if len(p.read) != 0 {
			p.t.Errorf("%d frames came after the ring was revoked", len(p.read))
		}
	})
}

// What is in the ring when it is revoked is read to its end.
func TestStopReadsToTheEnd(t *testing.T) {
	transports(t, func(t *testing.T, open func() rdma.Device, listen string) {
		in, out := make(chan struct{}), make(chan struct{})
		read := uint64(0)
		p := newPairReading(t, open, listen, lane.MinRingBytes, func(f lane.Frame) error {
			if read++; read == 1 {
				close(in)
				<-out
			}
			if f.First != read {
				t.Errorf("revision %d, want %d", f.First, read)
			}
			return nil
		})
		const n = 8
		p.send(entries(1, 1, 1))
		<-in
		for i := range uint64(n - 1) {
			p.send(entries(i+2, 1, 1))
		}
		catfishtest.Eventually(t, "all frames are announced", func() bool {
			units, _ := tailword.Units(p.r.tailWord())
			return uint64(units)*tailword.UnitBytes == p.s.sent.Load()
		})
		p.r.Stop()
		close(out)
		if err := next(p, "end", p.receiver); !errors.Is(err, ErrStopped) {
			t.Fatal(err)
		}
		if read != n {
			t.Errorf("%d frames were read, %d were in the ring", read, n)
		}
	})
}

// A sender that waits for room ends when it is stopped.
func TestStopEndsASenderThatWaits(t *testing.T) {
	each(t, lane.MinRingBytes, func(p *pair) {
		full := make(chan error, 1)
		go func() {
			var err error
			for i := uint64(1); err == nil; i++ {
				err = p.s.Send(entries(i, 1, make([]byte, 500)...))
			}
			full <- err
		}()
		for range lane.MinRingBytes / 576 {
			next(p, "frame", p.read)
		}
		p.s.Stop()
		if err := next(p, "end", full); !errors.Is(err, ErrStopped) {
			p.t.Error(err)
		}
	})
}

// The end of one side is the end of the other one.
func TestPeerEnds(t *testing.T) {
	each(t, lane.MinRingBytes, func(p *pair) {
		p.send(entries(1, 1, 1))
		next(p, "frame", p.read)
		_ = p.s.post.qp.Close()
		if err := next(p, "end of the receiver", p.receiver); err == nil || errors.Is(err, ErrStopped) || errors.Is(err, ErrPeer) {
			p.t.Error(err)
		}
	})
}

// The hot path of both sides allocates nothing for a beacon, and for entries the bytes that
// are kept.
func TestAllocations(t *testing.T) {
	each(t, 1<<16, func(p *pair) {
		n := uint64(0)
		f := beacon()
		allocs := testing.AllocsPerRun(200, func() {
			n++
			if err := p.s.Send(f); err != nil {
				p.t.Fatal(err)
			}
			<-p.read
			if err := p.r.Acknowledge(lane.Ack{Session: 1, Term: 1, Echo: 1}); err != nil {
				p.t.Fatal(err)
			}
			<-p.acks
		})
		if p.s.dev.Info().SynchronousOps && allocs > 0 {
			p.t.Errorf("%v allocations for a beacon and its acknowledgement", allocs)
		}
	})
}

// A sender that waits for the completion of each frame is never left waiting, whenever it comes.
func TestWritten(t *testing.T) {
	each(t, 1<<20, func(p *pair) {
		if err := p.s.Written(); err != nil { // All that follow are signaled.
			p.t.Fatal(err)
		}
		for range 3000 {
			p.send(beacon())
			if err := p.s.Written(); err != nil {
				p.t.Fatal(err)
			}
			next(p, "frame", p.read)
		}
	})
}

// oneCQ has one completion, and never wakes a caller that waits for another one.
type oneCQ struct {
	rdma.CompletionQueue
	left int
}

func (c *oneCQ) Poll(dst []rdma.Completion) int {
	n := min(c.left, 1)
	c.left -= n
	clear(dst[:n])
	dst[0].ID = uint64(n)
	return n
}

func (*oneCQ) Wait(context.Context, time.Duration) error { return rdma.ErrTimeout }

// A completion that has come already is taken, and not slept upon.
func TestCompletionThatIsThere(t *testing.T) {
	p := poster{cq: &oneCQ{left: 1}, ctx: t.Context(), posted: slots}
	if _, err := p.slot(); err != nil {
		t.Errorf("a slot was free: %v", err)
	}
	p = poster{cq: &oneCQ{}, ctx: t.Context(), posted: slots}
	if _, err := p.slot(); !errors.Is(err, rdma.ErrTimeout) {
		t.Errorf("no slot was free: %v", err)
	}
}

// A dial that fails leaves nothing behind.
func TestFailedDials(t *testing.T) {
	transports(t, func(t *testing.T, open func() rdma.Device, listen string) {
		primary, follower := open(), open()
		ln, err := primary.Listen(listen)
		if err != nil {
			t.Fatal(err)
		}
		refused := make(chan error, 1)
		go func() {
			req, err := ln.Accept(t.Context())
			if err == nil {
				err = req.Reject("no such ticket")
			}
			refused <- err
		}()
		if _, err := Dial(t.Context(), follower, ln.Addr(), lane.Hello{Ticket: 1}, lane.MinRingBytes, 1<<20); !errors.Is(err, rdma.ErrRejected) {
			t.Error(err)
		}
		if err := <-refused; err != nil {
			t.Error(err)
		}
		_ = ln.Close()
		if _, err := Dial(t.Context(), follower, ln.Addr(), lane.Hello{Ticket: 1}, lane.MinRingBytes, 1<<20); !errors.Is(err, rdma.ErrDial) {
			t.Error(err)
		}
		if _, err := Dial(t.Context(), follower, ln.Addr(), lane.Hello{Ticket: 1}, -rdma.LineBytes, 1<<20); !errors.Is(err, rdma.ErrRegister) {
			t.Error(err)
		}
	})
}
