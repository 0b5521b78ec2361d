package inmem

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// completionQueue implements rdma.CompletionQueue.
type completionQueue struct {
	dev *Device
	// signal holds a token while Wait has a reason to return; done is
	// closed with the queue.
	signal chan struct{}
	done   chan struct{}

	// Guarded by dev.f.mu.
	entries []rdma.Completion
	waiting bool
	closed  bool
	pushes  int
}

func (q *completionQueue) pushLocked(c rdma.Completion) {
	if q.closed {
		return
	}
	q.entries = append(q.entries, c)
	if q.dev.f.bug == CompletionOrder {
		slices.Reverse(q.entries)
	}
	if q.pushes++; q.dev.f.bug == WakeUpLost && q.pushes%50 == 0 {
		return
	}
	q.signalLocked()
}

func (q *completionQueue) signalLocked() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// Poll also lets the peers of polled receives continue.
func (q *completionQueue) Poll(dst []rdma.Completion) int {
	f := q.dev.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bug == UnfairPoll {
		slices.SortStableFunc(q.entries, func(a, b rdma.Completion) int {
			return a.QP.(*queuePair).number - b.QP.(*queuePair).number
		})
	}
	for p := range q.dev.qps { // EventBeforeBytes
		for _, move := range p.late[:p.lateDue] {
			move()
		}
		p.late, p.lateDue = p.late[p.lateDue:], 0
	}
	n := copy(dst, q.entries)
	q.entries = append(q.entries[:0], q.entries[n:]...)
	for _, c := range dst[:n] {
		p := c.QP.(*queuePair)
		if c.Op != rdma.OpRecv {
			p.outstanding--
		} else if c.Status == rdma.StatusOK {
			p.arrived--
			p.lateDue = min(p.lateDue+1, len(p.late))
			p.peer.progressLocked()
		}
	}
	return n
}

// Wait sleeps on signal. A token may be older than the last Poll, so Wait
// checks its reason again, except for Wake, which leaves no other trace.
func (q *completionQueue) Wait(ctx context.Context, timeout time.Duration) error {
	f := q.dev.f
	f.mu.Lock()
	if len(q.entries) > 0 && f.bug != WakeUpLost {
		f.mu.Unlock()
		return nil
	}
	q.waiting = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		q.waiting = false
		f.mu.Unlock()
	}()
	if f.bug == TimeoutEarly {
		timeout /= 2
	}
	if f.bug == ContextIgnored {
		ctx = context.Background()
		if timeout < 0 {
			timeout = time.Second // so that the suite ends
		}
	}
	var expired <-chan time.Time
	if timeout >= 0 {
		t := time.NewTimer(timeout)
		defer t.Stop()
		expired = t.C
	}
	done := q.done
	if f.bug == CloseKeepsWait {
		done = nil
	}
	select { // these win over a stale token
	case <-done:
		return fmt.Errorf("%w: completion queue", rdma.ErrClosed)
	case <-ctx.Done():
		return ctx.Err()
	default:
	}
	select {
	case <-q.signal:
		return nil
	case <-done:
		return fmt.Errorf("%w: completion queue", rdma.ErrClosed)
	case <-ctx.Done():
		return ctx.Err()
	case <-expired:
		return fmt.Errorf("%w: no completion within %v", rdma.ErrTimeout, timeout)
	}
}

// Spun is 0: Wait never spins.
func (q *completionQueue) Spun() time.Duration { return 0 }

func (q *completionQueue) Wake() {
	q.dev.f.mu.Lock()
	defer q.dev.f.mu.Unlock()
	if q.dev.f.bug == WakeForgotten && !q.waiting {
		return
	}
	q.signalLocked()
}

func (q *completionQueue) Close() error {
	q.dev.f.mu.Lock()
	defer q.dev.f.mu.Unlock()
	q.closeLocked()
	return nil
}

func (q *completionQueue) closeLocked() {
	if !q.closed {
		q.closed = true
		close(q.done)
	}
	q.entries = nil
	delete(q.dev.cqs, q)
}

// dropLocked removes the completions of a queue pair.
func (q *completionQueue) dropLocked(p *queuePair) {
	q.entries = slices.DeleteFunc(q.entries, func(c rdma.Completion) bool {
		return c.QP == rdma.QueuePair(p)
	})
}
