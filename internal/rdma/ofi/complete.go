//go:build ofi

package ofi

/*
#include "shim.h"
*/
import "C"

import (
	"encoding/binary"
	"fmt"

	"github.com/catfish-index/catfish/internal/rdma"
)

// noSlot: the failure does not concern one request.
const noSlot = ^uint64(0)

// broken is an error completion, to be handled without locks held.
type broken struct {
	q      *queuePair
	number uint64 // of the request, or noSlot
	status rdma.Status
	vendor uint32
	err    error
}

// arrived takes one of libfabric's completions; ok reports a failure. The
// caller holds reading.
func (c *completionQueue) arrived(e *C.struct_cf_comp) (b broken, ok bool) {
	ctx := uint64(e.ctx)
	c.dev.mu.RLock()
	q := c.dev.qps[uint32(ctx>>32)&^(1<<31)]
	c.dev.mu.RUnlock()
	if q == nil {
		return b, false // closed meanwhile
	}
	if c.outTo != q {
		c.flush()
		c.outTo = q
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	recv := ctx&recvContext != 0
	if q.cause != nil {
		return b, false
	}
	if e.err != 0 {
		b = broken{q: q, number: noSlot, status: c.dev.statusOf(e.err, e.prov_errno), vendor: uint32(e.prov_errno)}
		what := "receive"
		if !recv {
			b.number = q.number(uint32(ctx))
			what = q.slots[b.number&q.mask].op.String()
		}
		b.err = fmt.Errorf("%w: %s from %s: %s (%s)", ErrFabric, what, q.peer,
			C.GoString(C.fi_strerror(C.int(e.err))), c.strerror(e.prov_errno))
		// Whichever goroutine fails the queue pair first, it fails it with
		// the first request that failed; flushes follow from that, and
		// receives are flushed too.
		if q.first == nil || q.first.number == noSlot && b.number != noSlot {
			f := b // b itself must not move to the heap: this runs for all
			q.first = &f
		}
		return b, true
	}
	if recv {
		c.out = append(c.out, q.event(e, uint32(ctx)))
		return b, false
	}
	q.done(c, uint32(ctx))
	return b, false
}

func (c *completionQueue) strerror(vendor C.int32_t) string {
	fids := c.all()
	if len(fids) == 0 || vendor == 0 {
		return "no vendor code"
	}
	return C.GoString(C.cf_cq_strerror(fids[0].cq, C.int(vendor)))
}

// event is a WriteImm that arrived.
func (q *queuePair) event(e *C.struct_cf_comp, i uint32) rdma.Completion {
	n := uint32(e.len)
	if q.dev.features&C.CF_DATA_RECV == 0 {
		n = binary.NativeEndian.Uint32(q.recvMem.mem[int(i)*slotBytes:])
	}
	q.recvFree = append(q.recvFree, i)
	return rdma.Completion{Op: rdma.OpRecv, Imm: uint32(e.data), Bytes: n, QP: q}
}

// number is the full number of an outstanding request, from its low half.
func (q *queuePair) number(low uint32) uint64 {
	n := q.head&^0xffff_ffff | uint64(low)
	if n < q.head {
		n += 1 << 32
	}
	return n
}

// done marks a request and removes done requests from the front of the
// ring. mu is held.
func (q *queuePair) done(c *completionQueue, low uint32) {
	n := q.number(low)
	if n >= q.tail {
		return // libfabric's second completion of a request; no case is known
	}
	if q.dev.inOrder() { // and so are all before it
		for i := q.head; i < n; i++ {
			q.slots[i&q.mask].done = true
		}
	}
	q.slots[n&q.mask].done = true
	for q.head < q.tail && q.slots[q.head&q.mask].done {
		if s := &q.slots[q.head&q.mask]; s.signaled {
			c.out = append(c.out, q.completion(s, rdma.StatusOK))
			q.unpolled++
		}
		q.head++
	}
	q.unstarve()
}

func (q *queuePair) completion(s *slot, status rdma.Status) rdma.Completion {
	return rdma.Completion{Op: s.op, Status: status, Bytes: s.n, ID: s.id, QP: q}
}

// fail makes the queue pair fail; only the first cause counts.
func (q *queuePair) fail(status rdma.Status, number uint64, cause error) {
	q.failVendor(status, number, 0, cause)
}

// failVendor: earlier arrivals are reported first, then the endpoint is
// closed, so that no card touches the buffers of flushed requests; the
// request with that number gets status, or else the oldest; all others are
// flushed; the receive queue is notified once.
func (q *queuePair) failVendor(status rdma.Status, number uint64, vendor uint32, cause error) {
	lockReading(q.sendCQ, q.recvCQ)
	bad := q.sendCQ.drainLocked()
	if q.recvCQ != q.sendCQ {
		bad = append(bad, q.recvCQ.drainLocked()...)
	}
	q.failLocked(status, number, vendor, cause)
	unlockReading(q.sendCQ, q.recvCQ)
	failAll(bad) // those of q have no effect any more
}

// failLocked: reading of both queues is held.
func (q *queuePair) failLocked(status rdma.Status, number uint64, vendor uint32, cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.cause != nil {
		return
	}
	if f := q.first; f != nil && !q.byOwner {
		status, number, vendor, cause = f.status, f.number, f.vendor, f.err
	}
	q.cause = fmt.Errorf("%w: %w", rdma.ErrQueuePair, cause)
	q.closeEP()
	q.ctl.close()
	wasReady := q.isReady
	q.becomeReady()
	if q.byOwner || !wasReady {
		q.head = q.tail
		return
	}
	if number == noSlot || !q.dev.inOrder() {
		number = q.head
	}
	var out []rdma.Completion
	for ; q.head < q.tail; q.head++ {
		s := &q.slots[q.head&q.mask]
		switch {
		case q.head < number || s.done:
			// In order: earlier requests succeeded. Otherwise this one is
			// done, and waited for one that now fails.
			if s.signaled {
				out = append(out, q.completion(s, q.behind(out)))
			}
		case q.head == number:
			c := q.completion(s, status)
			c.Vendor = vendor
			out = append(out, c)
		default:
			out = append(out, q.completion(s, rdma.StatusFlushed))
		}
	}
	q.unpolled += len(out)
	q.sendCQ.Push(out)
	if status != rdma.StatusPeerLost && status != rdma.StatusProtocol {
		status = rdma.StatusFlushed
	}
	q.recvCQ.Push([]rdma.Completion{{Op: rdma.OpRecv, Status: status, Vendor: vendor, QP: q}})
	q.unstarve()
}

// behind is the status of a request that succeeded: after a failed one it is
// flushed nevertheless, because the order of completions is a promise.
func (q *queuePair) behind(before []rdma.Completion) rdma.Status {
	if n := len(before); n > 0 && before[n-1].Status != rdma.StatusOK {
		return rdma.StatusFlushed
	}
	return rdma.StatusOK
}
