package shm

import (
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/rdma"
)

// inbox is the in-process part of a completion queue. Any goroutine adds
// completions and signals; the poller takes them out.
type inbox struct {
	// items is the number of completions, signals and wakes that wait:
	// written under mu, read without it so that an empty inbox costs
	// one load.
	items atomic.Int64
	sigs  atomic.Int64 // the signals among them

	mu      sync.Mutex
	fifo    []rdma.Completion // a ring, power of two
	head    int
	n       int
	signals []*queuePair
	woken   bool // Wake was called
	asleep  bool // the waiter needs a token in wake
	closed  bool
	wake    chan struct{} // one token
}

func (b *inbox) init(depth int) {
	b.fifo = make([]rdma.Completion, slotsFor(depth))
	b.wake = make(chan struct{}, 1)
}

func (b *inbox) any() bool       { return b.items.Load() != 0 }
func (b *inbox) signalled() bool { return b.sigs.Load() != 0 }

// notifyLocked wakes a sleeper. Both sides hold mu, so none is missed.
func (b *inbox) notifyLocked() {
	if b.asleep {
		b.asleep = false
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
}

// put adds completions of local requests.
func (b *inbox) put(cs []rdma.Completion) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	for b.n+len(cs) > len(b.fifo) {
		bigger := make([]rdma.Completion, 2*len(b.fifo))
		k := copy(bigger, b.fifo[b.head:])
		copy(bigger[k:], b.fifo[:b.head])
		b.fifo, b.head = bigger, 0
	}
	for i := range cs {
		b.fifo[(b.head+b.n)&(len(b.fifo)-1)] = cs[i]
		b.n++
	}
	b.items.Add(int64(len(cs)))
	b.notifyLocked()
}

// signal reports that p's ring has events, or that p failed.
func (b *inbox) signal(p *queuePair) {
	if p.signalled.Swap(true) {
		return // in the list already
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.signals = append(b.signals, p)
	b.items.Add(1)
	b.sigs.Add(1)
	b.notifyLocked()
}

// takeSignal returns nil when there is none. A later signal of the same
// pair is put in again.
func (b *inbox) takeSignal() *queuePair {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.signals)
	if n == 0 {
		return nil
	}
	p := b.signals[n-1]
	b.signals[n-1] = nil
	b.signals = b.signals[:n-1]
	b.items.Add(-1)
	b.sigs.Add(-1)
	p.signalled.Store(false)
	return p
}

// take moves completions to dst, without those of closed pairs.
func (b *inbox) take(dst []rdma.Completion) int {
	if b.items.Load() == 0 {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	var of *queuePair // of the latest completions, run of which are not yet counted
	run, taken := int64(0), int64(0)
	for ; b.n > 0 && n < len(dst); b.n-- {
		c := &b.fifo[b.head]
		p := c.QP.(*queuePair)
		if !p.closed.Load() {
			dst[n] = *c
			n++
		}
		if p != of && of != nil {
			of.unpolled.Add(-run)
			run = 0
		}
		of = p
		run++
		c.QP = nil
		b.head = (b.head + 1) & (len(b.fifo) - 1)
		taken++
	}
	if of != nil {
		of.unpolled.Add(-run)
	}
	b.items.Add(-taken)
	return n
}

// wakeWaiter is Wake.
func (b *inbox) wakeWaiter() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.woken && !b.closed {
		b.woken = true
		b.items.Add(1)
	}
	b.notifyLocked()
}

// sleep announces that the waiter is about to receive from wake, unless
// a reason to return exists already.
func (b *inbox) sleep() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.items.Load() != 0 || b.closed {
		return false
	}
	select {
	case <-b.wake: // left over from a sleep that ended otherwise
	default:
	}
	b.asleep = true
	return true
}

// endSleep ends a sleep that no token ended.
func (b *inbox) endSleep() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asleep = false
}

// clearWake ends a successful Wait: it consumes a Wake.
func (b *inbox) clearWake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asleep = false
	if b.woken {
		b.woken = false
		b.items.Add(-1)
	}
}

// close drops everything, now and later.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.fifo, b.n, b.signals, b.woken = nil, 0, nil, false
	b.items.Store(0)
	b.sigs.Store(0)
	b.notifyLocked()
}
