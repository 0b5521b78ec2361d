package server

import (
	"context"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/catfish-index/catfish/internal/rdma"
)

// endedQueue reports the end of one queue pair, then nothing.
type endedQueue struct {
	rdma.CompletionQueue
	events chan rdma.Completion
	calls  chan struct{} // a Wait has begun
}

func (q *endedQueue) Wait(ctx context.Context, _ time.Duration) error {
	if len(q.events) > 0 {
		return nil
	}
	q.calls <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

func (q *endedQueue) Poll(dst []rdma.Completion) int {
	select {
	case dst[0] = <-q.events:
		return 1
	default:
		return 0
	}
}

type endedQueuePair struct{ rdma.QueuePair }

func (*endedQueuePair) Close() error { return nil }

// TestReapedChannelIsFreed: once a read channel has ended, nothing keeps its
// queue pair.
func TestReapedChannelIsFreed(t *testing.T) {
	q := &endedQueue{events: make(chan rdma.Completion, 1), calls: make(chan struct{})}
	f := &fabric{readCQ: q, readChannels: map[rdma.QueuePair]bool{}}
	ended := func() weak.Pointer[endedQueuePair] {
		qp := &endedQueuePair{}
		f.readChannels[qp] = true
		q.events <- rdma.Completion{Op: rdma.OpRecv, QP: qp}
		return weak.Make(qp)
	}()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.reapReadChannels(ctx) }()
	<-q.calls // it was reaped
	runtime.GC()
	if ended.Value() != nil {
		t.Error("the queue pair of a reaped read channel is kept")
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
