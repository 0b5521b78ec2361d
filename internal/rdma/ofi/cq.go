//go:build ofi

package ofi

/*
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/internal/cqueue"
)

const (
	// pollBatch completions cross from C in one call: a call costs as much as
	// examining ten of them.
	pollBatch = 64
	// leastCQ is the size of the first fid_cq, unless depth or need is
	// larger. libfabric cannot enlarge one, so a queue with more queue pairs
	// than fit opens another, as large as the previous ones together.
	leastCQ = 64
	// mostCQ bounds that doubling: Soft-RoCE supports 32,767 (rxe_param.h),
	// cards support millions.
	mostCQ = 1 << 14
)

// completionQueue is a ring in Go memory, fed from one or more of
// libfabric's queues.
//
// How it is fed: Poll and Wait read libfabric's queues themselves (Progress).
// Before Wait sleeps it arms the driver, a goroutine that blocks on the
// queues' descriptors, moves the arrivals, and goes back to sleep. With a
// provider that makes progress only when it is called (tcp), the driver never
// sleeps.
type completionQueue struct {
	*cqueue.Queue
	dev   *device
	depth int    // as requested
	num   uint64 // order of creation, and of locking
	w     *watcher
	arm   chan struct{} // capacity 1

	reading sync.Mutex // one progress at a time; guards batch, out
	batch   [pollBatch]C.struct_cf_comp
	out     []rdma.Completion
	outTo   *queuePair

	arrivals atomic.Uint64 // completions taken from libfabric

	mu   sync.Mutex
	fids []*fidCQ
	gone bool // release was called
}

// fidCQ is one of libfabric's queues.
type fidCQ struct {
	cq   *C.struct_fid_cq
	size int
	left int // entries that no queue pair has claimed
}

func (d *device) CreateCQ(depth int) (rdma.CompletionQueue, error) {
	if depth < 0 || depth > maxDepth {
		return nil, fmt.Errorf("%w: completion queue depth %d, allowed 0 to %d", ErrOptions, depth, maxDepth)
	}
	w, err := newWatcher()
	if err != nil {
		return nil, err
	}
	c := &completionQueue{
		Queue: cqueue.New(depth, d.opt.Spin), dev: d, depth: depth, w: w,
		arm: make(chan struct{}, 1), out: make([]rdma.Completion, 0, pollBatch),
	}
	// Waits for the driver, if it is running: Poll must find every
	// event whose arrival was reported to the peer.
	c.Progress = c.drain
	c.Arm = c.armDriver
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		w.stop()
		return nil, rdma.ErrClosed
	}
	d.nextCQ++
	c.num = d.nextCQ
	d.cqs[c] = struct{}{}
	d.mu.Unlock()
	if !d.spawn(c.drive) {
		w.stop()
		return nil, rdma.ErrClosed
	}
	return c, nil
}

// claim reserves room for the completions of a queue pair.
func (c *completionQueue) claim(n int) (*fidCQ, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || c.Closed() {
		return nil, rdma.ErrClosed
	}
	total := 0
	for _, f := range c.fids {
		if f.left >= n {
			f.left -= n
			return f, nil
		}
		total += f.size
	}
	size := max(n, min(max(c.depth, total, leastCQ), mostCQ))
	f := &fidCQ{size: size, left: size - n}
	var fd C.int
	if ret := C.cf_cq_open(c.dev.domain, C.size_t(size), &f.cq, &fd); ret != 0 {
		return nil, failure(fmt.Sprintf("completion queue of %d entries", size), ret)
	}
	if err := c.w.add(int(fd)); err != nil {
		C.cf_close(&f.cq.fid)
		return nil, err
	}
	c.fids = append(c.fids, f)
	return f, nil
}

func (c *completionQueue) giveBack(f *fidCQ, n int) {
	c.mu.Lock()
	f.left += n
	c.mu.Unlock()
}

// all returns libfabric's queues. The slice is only ever replaced by copies.
func (c *completionQueue) all() []*fidCQ {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fids[:len(c.fids):len(c.fids)]
}

// drain moves completions into the ring.
func (c *completionQueue) drain() {
	c.reading.Lock()
	bad := c.drainLocked()
	c.reading.Unlock()
	failAll(bad)
}

// failAll handles failures. No lock is held.
func failAll(bad []broken) {
	for _, b := range bad {
		b.q.failVendor(b.status, b.number, b.vendor, b.err)
	}
}

// drainLocked moves everything into the ring: the holder of reading knows
// that no event is in between.
func (c *completionQueue) drainLocked() (bad []broken) {
	for _, f := range c.all() {
		for {
			n := int(C.cf_poll(f.cq, &c.batch[0], pollBatch))
			if n < 0 {
				bad = append(bad, c.allBroken(failure("reading a completion queue", C.int(n)))...)
			}
			for i := range max(n, 0) {
				c.arrivals.Add(1)
				if b, ok := c.arrived(&c.batch[i]); ok {
					bad = append(bad, b)
				}
			}
			c.flush()
			if n < pollBatch {
				break
			}
		}
	}
	return bad
}

// allBroken: the queue itself fails, and everything on it.
func (c *completionQueue) allBroken(err error) (bad []broken) {
	c.dev.mu.RLock()
	defer c.dev.mu.RUnlock()
	for _, q := range c.dev.qps {
		if q.sendCQ == c || q.recvCQ == c {
			bad = append(bad, broken{q: q, number: noSlot, status: rdma.StatusPeerLost, err: err})
		}
	}
	return bad
}

// lockReading takes both queues' locks, always in the same order.
func lockReading(a, b *completionQueue) {
	if a.num > b.num {
		a, b = b, a
	}
	a.reading.Lock()
	if b != a {
		b.reading.Lock()
	}
}

func unlockReading(a, b *completionQueue) {
	a.reading.Unlock()
	if b != a {
		b.reading.Unlock()
	}
}

// flush pushes the completions collected for one queue pair.
func (c *completionQueue) flush() {
	if len(c.out) > 0 {
		c.Push(c.out)
		clear(c.out)
		c.out = c.out[:0]
	}
	c.outTo = nil
}

// Poll is described at rdma.CompletionQueue. Taking a receive posts it
// again.
func (c *completionQueue) Poll(dst []rdma.Completion) int {
	k := c.Queue.Poll(dst)
	for i := 0; i < k; {
		q := dst[i].QP.(*queuePair)
		recvs, sends := 0, 0
		for ; i < k && dst[i].QP == rdma.QueuePair(q); i++ {
			if dst[i].Op == rdma.OpRecv {
				recvs++
			} else {
				sends++
			}
		}
		q.polled(sends, recvs)
	}
	return k
}

func (c *completionQueue) armDriver() {
	select {
	case c.arm <- struct{}{}:
	default:
	}
}

// A message that libfabric's tcp cannot accept for lack of receives keeps its
// descriptor ready: after vainLooks checks without a completion the driver pauses.
const (
	vainLooks  = 100
	vainPauses = time.Millisecond
)

// drive is the driver's goroutine.
func (c *completionQueue) drive() {
	rests := !c.dev.manual()
	done := func() bool {
		seen := c.arrivals.Load()
		for vain := 0; ; vain++ {
			c.drain()
			if c.Closed() || rests && c.Ready() {
				return true
			}
			if c.quiet() && !c.w.ready() {
				return false
			}
			if n := c.arrivals.Load(); n != seen {
				seen, vain = n, 0
			}
			if vain == vainLooks {
				c.w.blockFor(vainPauses)
				return false
			}
		}
	}
	for paused := false; !c.Closed(); {
		if rests && !paused {
			select {
			case <-c.arm:
			case <-c.dev.ctx.Done():
				return
			}
		}
		if paused = !c.w.block(done); paused {
			c.w.blockFor(0) // a pause has ended, or the queue closed
		}
	}
}

// quiet asks libfabric whether its descriptors will signal the next event.
// False: one has come already.
func (c *completionQueue) quiet() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return true
	}
	for _, f := range c.fids {
		fid := &f.cq.fid
		if C.cf_trywait(c.dev.fabric, &fid, 1) != 0 {
			return false
		}
	}
	return true
}

// Close ends Wait. libfabric's queues are closed with their last queue
// pair, or the device.
func (c *completionQueue) Close() error {
	c.Queue.Close()
	c.armDriver()
	c.w.stop()
	c.release()
	return nil
}

// release closes libfabric's queues that are no longer used.
func (c *completionQueue) release() {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.dev.mu.Lock()
	for _, q := range c.dev.qps {
		if q.sendCQ == c || q.recvCQ == c {
			c.dev.mu.Unlock()
			return
		}
	}
	delete(c.dev.cqs, c)
	c.dev.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	for _, f := range c.fids {
		C.cf_close(&f.cq.fid)
	}
	c.fids = nil
}
