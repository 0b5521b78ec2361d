package faulty_test

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/faulty"
	"github.com/catfish-index/catfish/internal/rdma/soft"
)

const (
	patience = time.Minute
	anyPort  = "127.0.0.1:0"
)

// conn is a connection from a faulty device to a plain one.
type conn struct {
	dev          *faulty.Device
	q, target    rdma.QueuePair
	cq, targetCQ rdma.CompletionQueue
	local, far   rdma.Region
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func dial(t *testing.T, opt faulty.Options) *conn {
	t.Helper()
	target := must(soft.Open(soft.Options{}))
	c := &conn{dev: faulty.Wrap(must(soft.Open(soft.Options{})), opt)}
	t.Cleanup(func() {
		_ = c.dev.Close()
		_ = target.Close()
	})
	const all = rdma.LocalWrite | rdma.RemoteRead | rdma.RemoteWrite
	c.local, c.far = must(c.dev.Register(1<<16, all)), must(target.Register(1<<16, all))
	c.cq, c.targetCQ = must(c.dev.CreateCQ(1)), must(target.CreateCQ(1))
	l := must(target.Listen(anyPort))
	done := make(chan struct{})
	go func() {
		defer close(done)
		req := must(l.Accept(context.Background()))
		c.target = must(req.Accept(rdma.QPConfig{SendCQ: c.targetCQ, RecvCQ: c.targetCQ}, nil))
	}()
	c.q = must(c.dev.Dial(context.Background(), l.Addr(), rdma.QPConfig{SendCQ: c.cq, RecvCQ: c.cq}, nil))
	<-done
	return c
}

// request i reads 8 lines.
func (c *conn) read(i int) rdma.WorkRequest {
	return rdma.WorkRequest{Op: rdma.OpRead, ID: uint64(i),
		Local: rdma.Buffer{Region: c.local, Len: 8 * rdma.LineBytes}, Remote: rdma.Remote{Key: c.far.Key()}}
}

// take collects n completions.
func take(t *testing.T, q rdma.CompletionQueue, n int) []rdma.Completion {
	t.Helper()
	out := make([]rdma.Completion, n)
	for got := 0; got < n; {
		m := q.Poll(out[got:])
		if got += m; m == 0 {
			if err := q.Wait(context.Background(), patience); err != nil {
				t.Fatalf("got %d of %d completions: %v", got, n, err)
			}
		}
	}
	return out
}

// TestTornRead: lines of one read come from different moments, each line
// whole. The target's CPU increments all lanes of all lines.
func TestTornRead(t *testing.T) {
	c := dial(t, faulty.Options{Seed: 3, TornRead: 1})
	var stop atomic.Bool
	ended := make(chan struct{})
	word := func(b []byte, i int) *uint64 { return (*uint64)(unsafe.Pointer(&b[8*i])) }
	go func() {
		defer close(ended)
		for v := uint64(1); !stop.Load(); v++ {
			for i := range 64 { // lane 0 of each line is its version
				if i%8 == 0 {
					atomic.StoreUint64(word(c.far.Bytes(), i), 0) // being changed
				}
				if i%8 > 0 {
					atomic.StoreUint64(word(c.far.Bytes(), i), v)
				}
				if i%8 == 7 {
					atomic.StoreUint64(word(c.far.Bytes(), i-7), v)
				}
			}
		}
	}()
	mixed, deadline := 0, time.Now().Add(patience)
	for i := 0; mixed < 20 && time.Now().Before(deadline); i++ {
		if _, err := c.q.Post([]rdma.WorkRequest{c.read(i)}); err != nil {
			t.Fatal(err)
		}
		take(t, c.cq, 1)
		b := c.local.Bytes()
		lowest, highest := ^uint64(0), uint64(0)
		for l := range 8 {
			v := *word(b, 8*l)
			if v == 0 {
				continue
			}
			lowest, highest = min(lowest, v), max(highest, v)
			for lane := 1; lane < 8; lane++ {
				if got := *word(b, 8*l+lane); got != v {
					t.Fatalf("line %d: version %d, lane %d has %d", l, v, lane, got)
				}
			}
		}
		// Lines that differ by at most 1 are from one moment.
		if highest > lowest+1 {
			mixed++
		}
	}
	stop.Store(true)
	<-ended
	if mixed < 20 {
		t.Errorf("only %d reads were mixed in time", mixed)
	}
	if c.dev.Count(faulty.TornRead) == 0 {
		t.Error("no torn read was counted")
	}
}

// run posts n reads sequentially, until one fails, and returns the
// number that succeeded.
func run(t *testing.T, c *conn, n int) (ok int, status rdma.Status) {
	t.Helper()
	for i := range n {
		for {
			_, err := c.q.Post([]rdma.WorkRequest{c.read(i)})
			if err == nil {
				break
			}
			if !errors.Is(err, rdma.ErrQueueFull) {
				t.Fatal(err)
			}
		}
		if s := take(t, c.cq, 1)[0].Status; s != rdma.StatusOK {
			return i, s
		}
	}
	return n, rdma.StatusOK
}

// failed checks the consequences of a failure on both sides.
func failed(t *testing.T, c *conn) {
	t.Helper()
	for _, side := range []struct {
		q  rdma.QueuePair
		cq rdma.CompletionQueue
	}{{c.q, c.cq}, {c.target, c.targetCQ}} {
		if got := take(t, side.cq, 1)[0]; got.Op != rdma.OpRecv || got.Status == rdma.StatusOK || got.QP != side.q {
			t.Errorf("got %v %v, want the failure", got.Op, got.Status)
		}
		if side.q.Err() == nil {
			t.Error("Err is nil after a failure")
		}
		if _, err := side.q.Post([]rdma.WorkRequest{{Op: rdma.OpWriteImm}}); !errors.Is(err, rdma.ErrQueuePair) {
			t.Errorf("Post after a failure: %v", err)
		}
	}
}

func TestFailedRequest(t *testing.T) {
	opt := faulty.Options{Seed: 5, FailedRequest: 0.02, FailStatus: rdma.StatusRemoteKey}
	var first int
	for round := range 2 { // the same request fails each time
		c := dial(t, opt)
		ok, status := run(t, c, 2000)
		if status != rdma.StatusRemoteKey || c.dev.Count(faulty.FailedRequest) != 1 {
			t.Fatalf("after %d: %v, %d failed", ok, status, c.dev.Count(faulty.FailedRequest))
		}
		failed(t, c)
		if round == 0 {
			first = ok
		} else if ok != first {
			t.Errorf("request %d failed, request %d with the same seed", ok, first)
		}
	}
}

func TestDropAfter(t *testing.T) {
	c := dial(t, faulty.Options{DropAfter: 100})
	if ok, status := run(t, c, 200); ok != 99 || status != rdma.StatusPeerLost {
		t.Errorf("dropped after %d: %v", ok, status)
	}
	failed(t, c)
}

func TestDropOnCommand(t *testing.T) {
	c := dial(t, faulty.Options{})
	if c.dev.DropPeer(c.target) {
		t.Error("dropped another device's queue pair")
	}
	// 300 events: more than the target takes, so some are outstanding.
	n := 0
	for ; ; n++ {
		if _, err := c.q.Post([]rdma.WorkRequest{{Op: rdma.OpWriteImm, ID: uint64(n)}}); err != nil {
			break
		}
	}
	if !c.dev.DropPeer(c.q) || c.dev.Count(faulty.DroppedPeer) != 1 {
		t.Error("not dropped")
	}
	for i, got := range take(t, c.cq, n) {
		if got.ID != uint64(i) {
			t.Fatalf("completion %d is of request %d", i, got.ID)
		}
	}
	for take(t, c.targetCQ, 1)[0].Status == rdma.StatusOK {
		// what arrived before
	}
	if c.q.Err() == nil || c.target.Err() == nil {
		t.Error("Err is nil after a drop")
	}
}

// TestHarmlessFaultsOccur: each fault is counted, and nothing is lost.
func TestHarmlessFaultsOccur(t *testing.T) {
	opt := harmless
	opt.FullQueue, opt.LateCompletion, opt.HeldWait = 0.2, 0.2, 0.2
	c := dial(t, opt)
	if ok, status := run(t, c, 300); ok != 300 {
		t.Fatalf("request %d: %v", ok, status)
	}
	for _, f := range []faulty.Fault{faulty.LateCompletion, faulty.TornRead,
		faulty.FullQueue, faulty.HeldWait} {
		if c.dev.Count(f) == 0 {
			t.Errorf("no %v in 300 requests", f)
		}
	}
}

// TestRatesAreBounded: a rate above 1 means always, one below 0 means never.
func TestRatesAreBounded(t *testing.T) {
	c := dial(t, faulty.Options{TornRead: 7, FailedRequest: math.NaN(), FullQueue: -1})
	if ok, status := run(t, c, 20); ok != 20 {
		t.Fatalf("request %d: %v", ok, status)
	}
	if n := c.dev.Count(faulty.TornRead); n != 20 {
		t.Errorf("%d of 20 reads torn", n)
	}
	if c.dev.Count(faulty.FullQueue) != 0 {
		t.Error("a negative rate injected a fault")
	}
}

// TestReorder: with two queue pairs' completions in the queue, some are
// polled before those that arrived earlier.
func TestReorder(t *testing.T) {
	target := must(soft.Open(soft.Options{}))
	d := faulty.Wrap(must(soft.Open(soft.Options{})), faulty.Options{Seed: 1, Reorder: 1})
	t.Cleanup(func() { _ = d.Close(); _ = target.Close() })
	l, far := must(target.Listen(anyPort)), must(target.CreateCQ(1))
	cq := must(d.CreateCQ(1))
	next := map[rdma.QueuePair]uint64{}
	for range 2 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			req := must(l.Accept(context.Background()))
			must(req.Accept(rdma.QPConfig{SendCQ: far, RecvCQ: far}, nil))
		}()
		q := must(d.Dial(context.Background(), l.Addr(), rdma.QPConfig{SendCQ: cq, RecvCQ: cq}, nil))
		<-done
		next[q] = 0
	}
	// Most of these are in the queue when it is polled, since all have arrived.
	for deadline := time.Now().Add(patience); d.Count(faulty.Reorder) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("nothing was reordered")
		}
		for q, first := range next {
			for i := range uint64(50) {
				must(q.Post([]rdma.WorkRequest{{Op: rdma.OpWriteImm, ID: first + i}}))
			}
		}
		take(t, far, 100)
		for _, c := range take(t, cq, 100) {
			if c.ID != next[c.QP] {
				t.Fatalf("completion %d of a queue pair is of request %d", next[c.QP], c.ID)
			}
			next[c.QP]++
		}
	}
}
