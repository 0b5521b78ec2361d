package shm

import (
	"context"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

const patience = time.Minute

// side is one device with a queue and a region.
type side struct {
	dev *device
	cq  *completionQueue
	mem rdma.Region
	qp  *queuePair
}

const everything = rdma.LocalWrite | rdma.RemoteRead | rdma.RemoteWrite

func newSide(t testing.TB, size int) *side {
	t.Helper()
	d := openDevice(t).(*device)
	t.Cleanup(func() { check(t, d.Close()) })
	cq, err := d.CreateCQ(0)
	check(t, err)
	r, err := d.Register(size, everything)
	check(t, err)
	return &side{dev: d, cq: cq.(*completionQueue), mem: r}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *side) config() rdma.QPConfig {
	return rdma.QPConfig{SendCQ: s.cq, RecvCQ: s.cq}
}

func listen(t testing.TB, s *side) rdma.Listener {
	t.Helper()
	l, err := s.dev.Listen(socketPath(t))
	check(t, err)
	return l
}

// connect dials from c to l, the listener of s.
func connect(t testing.TB, l rdma.Listener, c, s *side) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	accepted := make(chan error, 1)
	go func() {
		r, err := l.Accept(ctx)
		if err == nil {
			var q rdma.QueuePair
			if q, err = r.Accept(s.config(), nil); err == nil {
				s.qp = q.(*queuePair)
			}
		}
		accepted <- err
	}()
	q, err := c.dev.Dial(ctx, l.Addr(), c.config(), nil)
	check(t, err)
	check(t, <-accepted)
	c.qp = q.(*queuePair)
}

// newPair connects two devices.
func newPair(t testing.TB, size int) (c, s *side) {
	t.Helper()
	c, s = newSide(t, size), newSide(t, size)
	connect(t, listen(t, s), c, s)
	return c, s
}

// next waits for one completion.
func next(t testing.TB, q rdma.CompletionQueue) rdma.Completion {
	t.Helper()
	var c [1]rdma.Completion
	deadline := time.Now().Add(patience)
	for q.Poll(c[:]) == 0 {
		if err := q.Wait(context.Background(), time.Until(deadline)); err != nil {
			t.Fatal(err)
		}
	}
	return c[0]
}

func transfer(op rdma.Op, local rdma.Region, remote rdma.Key, n int) rdma.WorkRequest {
	return rdma.WorkRequest{Op: op, Local: rdma.Buffer{Region: local, Len: n}, Remote: rdma.Remote{Key: remote}}
}

// warm maps the peer's region.
func warm(t testing.TB, c, s *side) {
	t.Helper()
	post(t, c.qp, transfer(rdma.OpRead, c.mem, s.mem.Key(), 8))
	check(t, errOf(next(t, c.cq)))
}

func errOf(c rdma.Completion) error { return c.Err() }

func post(t testing.TB, q rdma.QueuePair, wrs ...rdma.WorkRequest) {
	t.Helper()
	if n, err := q.Post(wrs); n != len(wrs) || err != nil {
		t.Fatalf("Post took %d of %d: %v", n, len(wrs), err)
	}
}
