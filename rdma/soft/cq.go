package soft

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/spin"
	"github.com/catfish-index/catfish/rdma"
)

// completionQueue is a ring under a mutex.
//
// No wake-up is lost: push stores n, then loads sleeping; Wait stores
// sleeping, then loads n. Go's atomics are sequentially consistent, so
// at least one of the two sees the other's store. Whoever takes sleeping
// back to false rings the bell.
type completionQueue struct {
	dev *device

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
	readyFn func() bool
	timer   *time.Timer
}

// maxCQDepth bounds what CreateCQ allocates at once: 72 MiB.
const maxCQDepth = 1 << 20

func newCQ(d *device, depth int) *completionQueue {
	size := 1
	for size < min(depth, maxCQDepth) {
		size *= 2
	}
	c := &completionQueue{
		dev:  d,
		ring: make([]rdma.Completion, size),
		bell: make(chan struct{}, 1),
	}
	c.spinner.Max = d.opt.Spin
	c.readyFn = c.ready
	return c
}

// push appends completions and wakes the waiter. After Close it drops
// them.
func (c *completionQueue) push(cs []rdma.Completion) {
	c.mu.Lock()
	if c.closed.Load() {
		c.mu.Unlock()
		return
	}
	n := int(c.n.Load())
	for n+len(cs) > len(c.ring) {
		c.growLocked()
	}
	for i := range cs {
		c.ring[(c.head+n+i)&(len(c.ring)-1)] = cs[i]
	}
	c.n.Store(int64(n + len(cs)))
	c.mu.Unlock()
	c.wakeSleeper()
}

func (c *completionQueue) growLocked() {
	bigger := make([]rdma.Completion, 2*len(c.ring))
	k := copy(bigger, c.ring[c.head:])
	copy(bigger[k:], c.ring[:c.head])
	c.ring, c.head = bigger, 0
}

// Poll is described at rdma.CompletionQueue. Taking a receive gives its
// credit back to the peer.
func (c *completionQueue) Poll(dst []rdma.Completion) int {
	if c.n.Load() == 0 || len(dst) == 0 {
		return 0
	}
	c.mu.Lock()
	n := int(c.n.Load())
	k := min(n, len(dst))
	for i := range k {
		slot := &c.ring[c.head]
		dst[i] = *slot
		slot.QP = nil // let a closed queue pair go
		c.head = (c.head + 1) & (len(c.ring) - 1)
	}
	c.n.Store(int64(n - k))
	c.mu.Unlock()
	for i := range dst[:k] {
		q := dst[i].QP.(*queuePair)
		if dst[i].Op == rdma.OpRecv {
			q.polledRecv()
		} else {
			q.unpolled.Add(-1)
		}
	}
	return k
}

// purge drops the completions of q.
func (c *completionQueue) purge(q *queuePair) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, kept := int(c.n.Load()), 0
	mask := len(c.ring) - 1
	for i := range n {
		e := c.ring[(c.head+i)&mask]
		c.ring[(c.head+i)&mask].QP = nil
		if e.QP != rdma.QueuePair(q) {
			c.ring[(c.head+kept)&mask] = e
			kept++
		}
	}
	c.n.Store(int64(kept))
}

func (c *completionQueue) ready() bool {
	return c.n.Load() > 0 || c.woken.Load() || c.closed.Load()
}

// Wait is described at rdma.CompletionQueue. It does not allocate,
// except for a timer the first time that it needs one.
func (c *completionQueue) Wait(ctx context.Context, timeout time.Duration) error {
	if c.ready() {
		return c.taken()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if timeout == 0 {
		return rdma.ErrTimeout
	}
	if c.spinner.Spin(c.readyFn) {
		return c.taken()
	}
	var expired <-chan time.Time
	if timeout > 0 {
		if c.timer == nil {
			c.timer = time.NewTimer(timeout)
		} else {
			c.timer.Reset(timeout)
		}
		defer c.timer.Stop()
		expired = c.timer.C
	}
	defer c.sleeping.Store(false)
	for {
		c.sleeping.Store(true)
		if c.ready() {
			c.spinner.Woke()
			return c.taken()
		}
		select {
		case <-c.bell: // perhaps an old one: look again
		case <-ctx.Done():
			return ctx.Err()
		case <-expired:
			return rdma.ErrTimeout
		}
	}
}

// taken ends a successful Wait.
func (c *completionQueue) taken() error {
	if c.closed.Load() {
		return rdma.ErrClosed
	}
	c.woken.Store(false)
	return nil
}

// wakeSleeper wakes the waiter if it sleeps.
func (c *completionQueue) wakeSleeper() {
	if c.sleeping.Load() && c.sleeping.CompareAndSwap(true, false) {
		select {
		case c.bell <- struct{}{}:
		default:
		}
	}
}

func (c *completionQueue) Spun() time.Duration { return c.spinner.Spun() }

func (c *completionQueue) Wake() {
	c.woken.Store(true)
	c.wakeSleeper()
}

func (c *completionQueue) Close() error {
	c.mu.Lock()
	c.closed.Store(true)
	clear(c.ring)
	c.n.Store(0)
	c.mu.Unlock()
	c.wakeSleeper()
	c.dev.removeCQ(c)
	return nil
}
