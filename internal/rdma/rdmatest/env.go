package rdmatest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// env is a running case: its test, the provider, and helpers that fail the
// case instead of returning errors. Only the case's own goroutine may use
// them; others use the plain functions below.
type env struct {
	testing.TB
	cfg Config
}

// host is one side: a device with its queues and one region.
type host struct {
	dev        rdma.Device
	send, recv rdma.CompletionQueue
	mem        rdma.Region
}

// pair is two hosts and one connection between them: c dialed s.
type pair struct {
	lis    rdma.Listener
	c, s   *host
	cq, sq rdma.QueuePair // the queue pairs of c and of s
}

const allAccess = rdma.LocalWrite | rdma.RemoteRead | rdma.RemoteWrite

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func (e *env) open() rdma.Device {
	e.Helper()
	d := e.cfg.Open(e)
	e.Cleanup(func() {
		if err := d.Close(); err != nil {
			e.Errorf("Device.Close: %v", err)
		}
	})
	return d
}

func (e *env) queue(d rdma.Device) rdma.CompletionQueue {
	e.Helper()
	q, err := d.CreateCQ(rdma.DefaultDepth)
	e.must(err)
	return q
}

func (e *env) region(d rdma.Device, size int, a rdma.Access) rdma.Region {
	e.Helper()
	r, err := d.Register(size, a)
	e.must(err)
	return r
}

// host opens a device with a region of size bytes and every right.
func (e *env) host(size int) *host {
	e.Helper()
	d := e.open()
	return &host{d, e.queue(d), e.queue(d), e.region(d, size, allAccess)}
}

func (e *env) listen(d rdma.Device) rdma.Listener {
	e.Helper()
	l, err := d.Listen(e.cfg.Addr(e))
	e.must(err)
	return l
}

// patience is a context for one wait.
func (e *env) patience() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), e.cfg.Patience)
}

// connect dials from c to s. The functions may change both configurations.
func (e *env) connect(l rdma.Listener, c, s *host, mods ...func(*rdma.QPConfig)) (cq, sq rdma.QueuePair) {
	e.Helper()
	ccfg := rdma.QPConfig{SendCQ: c.send, RecvCQ: c.recv}
	scfg := rdma.QPConfig{SendCQ: s.send, RecvCQ: s.recv}
	for _, m := range mods {
		m(&ccfg)
		m(&scfg)
	}
	cq, sq, err := e.handshake(l, c.dev, ccfg, scfg, nil, nil)
	e.must(err)
	return cq, sq
}

// handshake runs both sides of a connection's set-up.
func (e *env) handshake(l rdma.Listener, d rdma.Device, ccfg, scfg rdma.QPConfig, cpriv, spriv []byte) (cq, sq rdma.QueuePair, err error) {
	ctx, cancel := e.patience()
	defer cancel()
	var serr error
	done := make(chan struct{})
	go func() {
		defer close(done)
		var req rdma.ConnRequest
		if req, serr = l.Accept(ctx); serr == nil {
			sq, serr = req.Accept(scfg, spriv)
		}
	}()
	cq, err = d.Dial(ctx, l.Addr(), ccfg, cpriv)
	if err != nil {
		cancel()
	}
	<-done
	if err == nil {
		err = serr
	}
	return cq, sq, err
}

// pair opens two hosts with regions of size bytes and connects them.
func (e *env) pair(size int, mods ...func(*rdma.QPConfig)) *pair {
	e.Helper()
	p := &pair{c: e.host(size), s: e.host(size)}
	p.lis = e.listen(p.s.dev)
	p.cq, p.sq = e.connect(p.lis, p.c, p.s, mods...)
	return p
}

// post posts all requests or fails the case.
func (e *env) post(q rdma.QueuePair, wrs ...rdma.WorkRequest) {
	e.Helper()
	if n, err := q.Post(wrs); n != len(wrs) || err != nil {
		e.Fatalf("Post took %d of %d: %v", n, len(wrs), err)
	}
}

// take collects exactly n completions of cq.
func (e *env) take(cq rdma.CompletionQueue, n int) []rdma.Completion {
	e.Helper()
	out, err := collect(cq, n, e.cfg.Patience)
	if err != nil {
		e.Fatalf("got %d of %d completions: %v", len(out), n, err)
	}
	return out
}

// takeOK is take for completions that must all be StatusOK.
func (e *env) takeOK(cq rdma.CompletionQueue, n int) []rdma.Completion {
	e.Helper()
	out := e.take(cq, n)
	for i := range out {
		if err := out[i].Err(); err != nil {
			e.Fatalf("completion %d of %d: %v", i, n, err)
		}
	}
	return out
}

// collect polls and waits for exactly n completions.
func collect(cq rdma.CompletionQueue, n int, patience time.Duration) ([]rdma.Completion, error) {
	out := make([]rdma.Completion, n)
	got, deadline := 0, time.Now().Add(patience)
	for got < n {
		m := cq.Poll(out[got:])
		if got += m; m > 0 {
			continue
		}
		left := max(0, time.Until(deadline))
		if err := cq.Wait(context.Background(), left); err != nil {
			return out[:got], err
		}
	}
	return out, nil
}

// postAll posts wrs, collecting completions of cq whenever the queue is full,
// and passes each to done (may be nil). Only this queue pair may use cq.
func postAll(q rdma.QueuePair, cq rdma.CompletionQueue, wrs []rdma.WorkRequest, patience time.Duration, done func(rdma.Completion) error) error {
	var buf [64]rdma.Completion
	for len(wrs) > 0 {
		n, err := q.Post(wrs)
		wrs = wrs[n:]
		if err == nil {
			if len(wrs) > 0 {
				return fmt.Errorf("Post left %d requests without an error", len(wrs))
			}
			return nil
		}
		if !isFull(err) {
			return err
		}
		m := cq.Poll(buf[:])
		for _, c := range buf[:m] {
			if err := c.Err(); err != nil {
				return err
			}
			if done == nil {
				continue
			}
			if err := done(c); err != nil {
				return err
			}
		}
		if m == 0 {
			if err := cq.Wait(context.Background(), patience); err != nil {
				return fmt.Errorf("queue full and no completion: %w", err)
			}
		}
	}
	return nil
}

// fence waits until everything that c sent before is visible at s, and polls
// the event that shows it.
func (e *env) fence(p *pair) {
	e.Helper()
	e.post(p.cq, rdma.WorkRequest{Op: rdma.OpWriteImm, ID: 999_999, Imm: 0xfe})
	e.takeOK(p.c.send, 1)
	c := e.takeOK(p.s.recv, 1)[0]
	if c.Op != rdma.OpRecv || c.Imm != 0xfe {
		e.Fatalf("fence: got %v imm %#x", c.Op, c.Imm)
	}
}

// workers is a group of goroutines beside the case.
type workers struct {
	wg   sync.WaitGroup
	mu   sync.Mutex
	errs []error
}

func (w *workers) run(f func() error) {
	w.wg.Go(func() {
		if err := f(); err != nil {
			w.mu.Lock()
			w.errs = append(w.errs, err)
			w.mu.Unlock()
		}
	})
}

// join fails the case with the workers' errors, or if they do not end.
func (e *env) join(w *workers) {
	e.Helper()
	e.joinAs(w, "goroutines beside the case")
}

// joinAs is join with a description of the workers' task.
func (e *env) joinAs(w *workers, what string) {
	e.Helper()
	done := make(chan struct{})
	go func() { w.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * e.cfg.Patience):
		e.Fatalf("deadlock: %s do not end\n%s", what, stacks())
	}
	for _, err := range w.errs {
		e.Errorf("%s: %v", what, err)
	}
	if len(w.errs) > 0 {
		e.FailNow()
	}
}
