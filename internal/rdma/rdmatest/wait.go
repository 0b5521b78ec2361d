package rdmatest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

var waitCases = []testCase{
	{"WaitTimeout", caseWaitTimeout},
	{"WaitContext", caseWaitContext},
	{"WaitReady", caseWaitReady},
	{"WakeBeforeWait", caseWakeBefore},
	{"WakeDuringWait", caseWakeDuring},
	{"CloseDuringWait", caseCloseDuringWait},
	{"NoLostWakeUp", caseNoLostWakeUp},
}

// wait calls Wait until it returns an error (nil without a reason is
// allowed), and returns how long that last call took.
func wait(ctx context.Context, q rdma.CompletionQueue, timeout time.Duration) (took time.Duration, err error) {
	for range 10_000 {
		start := time.Now()
		if err := q.Wait(ctx, timeout); err != nil {
			return time.Since(start), err
		}
	}
	return 0, errors.New("Wait returned nil 10,000 times without a completion")
}

func caseWaitTimeout(e *env) {
	q := e.queue(e.open())
	for _, d := range []time.Duration{0, 50 * time.Microsecond, time.Millisecond, 30 * time.Millisecond} {
		took, err := wait(context.Background(), q, d)
		if !errors.Is(err, rdma.ErrTimeout) {
			e.Errorf("Wait(%v): %v, want ErrTimeout", d, err)
		}
		if took < d || took > d+e.cfg.Patience/2 {
			e.Errorf("Wait(%v) took %v", d, took)
		}
	}
	if s := q.Spun(); s < 0 || s > e.cfg.Patience {
		e.Errorf("Spun is %v", s)
	}
}

func caseWaitContext(e *env) {
	q := e.queue(e.open())
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(5*time.Millisecond, cancel)
	if _, err := wait(ctx, q, -1); !errors.Is(err, context.Canceled) {
		e.Errorf("cancelled Wait: %v", err)
	}
	if _, err := wait(ctx, q, -1); !errors.Is(err, context.Canceled) {
		e.Errorf("Wait with a cancelled context: %v", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if _, err := wait(ctx, q, e.cfg.Patience); !errors.Is(err, context.DeadlineExceeded) {
		e.Errorf("Wait past its context's deadline: %v", err)
	}
	// The queue still works.
	q.Wake()
	e.must(q.Wait(context.Background(), e.cfg.Patience))
}

// caseWaitReady: Wait returns while there is a completion to poll, at every
// call, and Poll returns no more than dst holds.
func caseWaitReady(e *env) {
	p := e.pair(64)
	for i := range uint64(5) {
		e.post(p.cq, event(i, uint32(i)))
	}
	for got := uint64(0); got < 5; {
		for range 3 {
			e.must(p.c.send.Wait(context.Background(), e.cfg.Patience))
		}
		var one [1]rdma.Completion
		if n := p.c.send.Poll(one[:0]); n != 0 {
			e.Fatalf("Poll into nothing returned %d", n)
		}
		if p.c.send.Poll(one[:]) == 0 {
			continue // a spurious return
		}
		if one[0].ID != got {
			e.Errorf("completion %d is of request %d", got, one[0].ID)
		}
		got++
	}
	e.takeOK(p.s.recv, 5)
	e.silent(p.c.send, p.s.recv)
}

func caseWakeBefore(e *env) {
	q := e.queue(e.open())
	for i := range 100 {
		q.Wake()
		start := time.Now()
		if err := q.Wait(context.Background(), e.cfg.Patience); err != nil {
			e.Fatalf("Wait %d after Wake: %v after %v", i, err, time.Since(start))
		}
	}
}

// caseWakeDuring wakes while Wait spins and while it sleeps: the delay is
// drawn from nothing to more than any provider spins.
func caseWakeDuring(e *env) {
	q := e.queue(e.open())
	g := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		woken := make(chan struct{})
		time.AfterFunc(time.Duration(g.IntN(2000))*time.Microsecond, func() {
			q.Wake()
			close(woken)
		})
		if err := q.Wait(context.Background(), e.cfg.Patience); err != nil {
			e.Fatalf("Wait %d: %v", i, err)
		}
		<-woken
		// Wake may have met a Wait that returned spuriously: consume it.
		_ = q.Wait(context.Background(), 0)
	}
}

func caseCloseDuringWait(e *env) {
	d := e.open()
	for i := range 30 {
		q := e.queue(d)
		time.AfterFunc(time.Duration(i%10)*300*time.Microsecond, func() { _ = q.Close() })
		if _, err := wait(context.Background(), q, e.cfg.Patience); !errors.Is(err, rdma.ErrClosed) {
			e.Fatalf("Wait %d: %v, want ErrClosed", i, err)
		}
		if _, err := wait(context.Background(), q, e.cfg.Patience); !errors.Is(err, rdma.ErrClosed) {
			e.Fatalf("Wait on a closed queue: %v, want ErrClosed", err)
		}
		var buf [1]rdma.Completion
		if n := q.Poll(buf[:]); n != 0 {
			e.Errorf("Poll on a closed queue returned %d", n)
		}
		q.Wake() // harmless
		e.must(q.Close())
	}
}

// caseNoLostWakeUp plays ping-pong with both sides blocked in Wait, with
// pauses that let the other side reach any stage of falling asleep. A lost
// wake-up shows as a Wait that times out.
func caseNoLostWakeUp(e *env) {
	const rounds = 1500
	p := e.pair(64)
	side := func(h *host, q rdma.QueuePair, first bool) error {
		g := rand.New(rand.NewPCG(3, 4))
		send := func(i int) error {
			for busy := g.IntN(60); busy > 0; busy-- { // 0 to about 60 us
				for start := time.Now(); time.Since(start) < time.Microsecond; {
				}
			}
			_, err := q.Post([]rdma.WorkRequest{event(uint64(i), uint32(i))})
			return err
		}
		for i := range rounds {
			if first {
				if err := send(i); err != nil {
					return err
				}
			}
			if _, err := collect(h.recv, 1, e.cfg.Patience); err != nil {
				return fmt.Errorf("round %d: %w", i, err)
			}
			if !first {
				if err := send(i); err != nil {
					return err
				}
			}
			if _, err := collect(h.send, 1, e.cfg.Patience); err != nil {
				return fmt.Errorf("round %d: %w", i, err)
			}
		}
		return nil
	}
	var w workers
	w.run(func() error { return side(p.c, p.cq, true) })
	w.run(func() error { return side(p.s, p.sq, false) })
	e.join(&w)
}
