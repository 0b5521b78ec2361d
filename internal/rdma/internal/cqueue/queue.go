// Package cqueue is the completion queue of providers that generate their
// completions in software: a ring that grows, and a waiter that spins, then
// sleeps.
package cqueue

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/spin"
)

// Queue is a ring of completions under a mutex. Make it with New; set
// Progress and Arm, if needed, before it is used.
//
// No wake-up is lost: Push stores n, then loads sleeping; Wait stores
// sleeping, then loads n. Go's atomics are sequentially consistent, so at
// least one of the two sees the other's store. The side that sets sleeping
// back to false rings the bell.
type Queue struct {
	// Progress looks for completions outside and pushes them. It is
	// called by Poll when the ring is empty and by Wait while it spins.
	Progress func()
	// Arm is called before Wait sleeps: from then on, and until a bell was
	// rung, completions must be pushed without Progress being called.
	Arm func()

	mu   sync.Mutex
	ring []rdma.Completion // power of two
	head int

	n        atomic.Int64 // entries; written under mu
	woken    atomic.Bool
	closed   atomic.Bool // written under mu
	sleeping atomic.Bool
	bell     chan struct{} // capacity 1

	// Used by the one goroutine that waits.
	spinner spin.Spinner
	lookFn  func() bool
	timer   *time.Timer
}

// maxDepth bounds what New allocates at once: 72 MiB.
const maxDepth = 1 << 20

// New makes a queue for depth completions at first. spin bounds how long
// a Wait spins (spin.Spinner.Max).
func New(depth int, spin time.Duration) *Queue {
	size := 1
	for size < min(depth, maxDepth) {
		size *= 2
	}
	q := &Queue{ring: make([]rdma.Completion, size), bell: make(chan struct{}, 1)}
	q.spinner.Max = spin
	q.lookFn = q.look
	return q
}

// Push appends completions and wakes the waiter. After Close it drops
// them.
func (q *Queue) Push(cs []rdma.Completion) {
	q.mu.Lock()
	if q.closed.Load() {
		q.mu.Unlock()
		return
	}
	n := int(q.n.Load())
	for n+len(cs) > len(q.ring) {
		q.growLocked()
	}
	for i := range cs {
		q.ring[(q.head+n+i)&(len(q.ring)-1)] = cs[i]
	}
	q.n.Store(int64(n + len(cs)))
	q.mu.Unlock()
	q.wakeSleeper()
}

func (q *Queue) growLocked() {
	bigger := make([]rdma.Completion, 2*len(q.ring))
	k := copy(bigger, q.ring[q.head:])
	copy(bigger[k:], q.ring[:q.head])
	q.ring, q.head = bigger, 0
}

// Poll moves completions out, up to len(dst), and returns their number.
func (q *Queue) Poll(dst []rdma.Completion) int {
	if len(dst) == 0 {
		return 0
	}
	if q.n.Load() == 0 {
		if q.Progress == nil {
			return 0
		}
		if q.Progress(); q.n.Load() == 0 {
			return 0
		}
	}
	q.mu.Lock()
	n := int(q.n.Load())
	k := min(n, len(dst))
	for i := range k {
		slot := &q.ring[q.head]
		dst[i] = *slot
		slot.QP = nil // let a closed queue pair go
		q.head = (q.head + 1) & (len(q.ring) - 1)
	}
	q.n.Store(int64(n - k))
	q.mu.Unlock()
	return k
}

// Purge drops the completions of one queue pair.
func (q *Queue) Purge(qp rdma.QueuePair) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, kept := int(q.n.Load()), 0
	mask := len(q.ring) - 1
	for i := range n {
		e := q.ring[(q.head+i)&mask]
		q.ring[(q.head+i)&mask].QP = nil
		if e.QP != qp {
			q.ring[(q.head+kept)&mask] = e
			kept++
		}
	}
	q.n.Store(int64(kept))
}

// Ready reports whether a Wait would return at once.
func (q *Queue) Ready() bool {
	return q.n.Load() > 0 || q.woken.Load() || q.closed.Load()
}

func (q *Queue) look() bool {
	if q.Progress != nil && !q.Ready() {
		q.Progress()
	}
	return q.Ready()
}

// Wait is described at rdma.CompletionQueue. It does not allocate, except for
// a timer the first time that it needs one.
func (q *Queue) Wait(ctx context.Context, timeout time.Duration) error {
	if q.look() {
		return q.taken()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if timeout == 0 {
		return rdma.ErrTimeout
	}
	if q.spinner.Spin(q.lookFn) {
		return q.taken()
	}
	var expired <-chan time.Time
	if timeout > 0 {
		if q.timer == nil {
			q.timer = time.NewTimer(timeout)
		} else {
			q.timer.Reset(timeout)
		}
		defer q.timer.Stop()
		expired = q.timer.C
	}
	defer q.sleeping.Store(false)
	for {
		q.sleeping.Store(true)
		if q.Ready() {
			q.spinner.Woke()
			return q.taken()
		}
		if q.Arm != nil {
			q.Arm()
		}
		select {
		case <-q.bell: // perhaps an old one: check again
		case <-ctx.Done():
			return ctx.Err()
		case <-expired:
			return rdma.ErrTimeout
		}
	}
}

// taken ends a successful Wait.
func (q *Queue) taken() error {
	if q.closed.Load() {
		return rdma.ErrClosed
	}
	q.woken.Store(false)
	return nil
}

// wakeSleeper wakes the waiter if it sleeps.
func (q *Queue) wakeSleeper() {
	if q.sleeping.Load() && q.sleeping.CompareAndSwap(true, false) {
		select {
		case q.bell <- struct{}{}:
		default:
		}
	}
}

// Spun is described at rdma.CompletionQueue.
func (q *Queue) Spun() time.Duration { return q.spinner.Spun() }

// Wake is described at rdma.CompletionQueue.
func (q *Queue) Wake() {
	q.woken.Store(true)
	q.wakeSleeper()
}

// Close drops everything and ends Wait with rdma.ErrClosed.
func (q *Queue) Close() {
	q.mu.Lock()
	q.closed.Store(true)
	clear(q.ring)
	q.n.Store(0)
	q.mu.Unlock()
	q.wakeSleeper()
}

// Closed reports whether Close was called.
func (q *Queue) Closed() bool { return q.closed.Load() }
