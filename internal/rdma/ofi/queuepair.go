//go:build ofi

package ofi

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"net"
	"sync"
	"time"
	"unsafe"

	"github.com/catfish-index/catfish/internal/rdma"
)

const (
	// maxDepth bounds queue depths: the limit of package soft.
	maxDepth = 1 << 20
	// slotBytes holds the message that announces a write where writes with
	// data consume no receive: its length, and room for alignment.
	slotBytes = 8
)

// queuePair is one end of a connection.
//
// slots is a ring of the posted requests that are not known to be done, in
// posting order; request number n is in slots[n & mask]:
//
//	   done, reported       outstanding        free
//	|------------------|====================|--------|
//	                   head                 tail
//
// A completion marks its slot; slots that are done leave the ring at its
// head, and become a Completion if they were signaled.
type queuePair struct {
	dev            *device
	num            uint32 // in contexts
	peer           string
	private        []byte
	context        any
	sendCQ, recvCQ *completionQueue
	sendDepth      int
	recvDepth      int
	tx, rx         *fidCQ
	ctl            *control

	ready chan struct{} // closed when connected, or failed before

	mu       sync.Mutex
	ep       *C.struct_fid_ep // nil once closed
	cause    error
	first    *broken // the failure that caused the others
	isReady  bool
	byOwner  bool
	slots    []slot
	mask     uint64
	head     uint64
	tail     uint64
	unpolled int  // completions made, not polled
	starved  bool // a Post was refused; wake the owner when that ends
	reqs     []C.struct_cf_req
	recvMem  *region  // recvDepth slots of slotBytes
	recvFree []uint32 // slots whose event was not polled yet
}

// slot is a posted request.
type slot struct {
	id       uint64
	n        uint32
	op       rdma.Op
	signaled bool
	done     bool
}

// contexts: bit 63 marks a receive; the number of the queue pair is in bits
// 32 to 62, the slot below.
const recvContext = 1 << 63

// checkConfig applies defaults, and refuses configurations that cannot work.
func (d *device) checkConfig(cfg *rdma.QPConfig, private []byte) error {
	if len(private) > rdma.MaxPrivateData {
		return fmt.Errorf("%w: %d bytes, allowed %d", rdma.ErrTooLarge, len(private), rdma.MaxPrivateData)
	}
	for _, cq := range []rdma.CompletionQueue{cfg.SendCQ, cfg.RecvCQ} {
		if c, ok := cq.(*completionQueue); !ok || c.dev != d {
			return fmt.Errorf("%w: SendCQ and RecvCQ must be completion queues of this device", rdma.ErrBadRequest)
		}
	}
	for _, p := range []*int{&cfg.SendDepth, &cfg.RecvDepth} {
		if *p == 0 {
			*p = rdma.DefaultDepth
		}
		if *p < 1 || *p > maxDepth {
			return fmt.Errorf("%w: queue depth %d, allowed 1 to %d", rdma.ErrBadRequest, *p, maxDepth)
		}
	}
	return nil
}

// newQP makes an endpoint with its receives posted. dest is the address to
// connect to, nil on the accepting side. The queue pair owns the control
// connection from now on, even after an error.
func (d *device) newQP(ctl *control, cfg *rdma.QPConfig, private []byte, info *C.struct_fi_info, dest []byte) (*queuePair, error) {
	q := &queuePair{
		dev: d, peer: ctl.peer, private: private, context: cfg.Context, ctl: ctl,
		sendCQ: cfg.SendCQ.(*completionQueue), recvCQ: cfg.RecvCQ.(*completionQueue),
		sendDepth: cfg.SendDepth, recvDepth: cfg.RecvDepth,
		ready: make(chan struct{}),
	}
	size := 1
	for size < cfg.SendDepth {
		size *= 2
	}
	q.slots, q.mask = make([]slot, size), uint64(size-1)
	var err error
	mem, err := d.Register(cfg.RecvDepth*slotBytes, rdma.LocalWrite)
	if err != nil {
		return nil, err
	}
	q.recvMem = mem.(*region)

	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		_ = mem.Close()
		return nil, rdma.ErrClosed
	}
	d.nextQP++
	q.num = d.nextQP
	d.qps[q.num] = q
	d.mu.Unlock()
	if err := q.open(info, dest); err != nil {
		q.abandon()
		return nil, err
	}
	return q, nil
}

// txSize: a write with an event may take two of libfabric's operations.
func (q *queuePair) txSize() int {
	if q.dev.features&C.CF_DATA_RECV != 0 {
		return q.sendDepth
	}
	return 2 * q.sendDepth
}

func (q *queuePair) open(info *C.struct_fi_info, dest []byte) (err error) {
	tx, err := q.sendCQ.claim(q.txSize())
	if err != nil {
		return err
	}
	rx, err := q.recvCQ.claim(q.recvDepth)
	if err != nil {
		q.sendCQ.giveBack(tx, q.txSize())
		return err
	}
	var at unsafe.Pointer
	if dest != nil {
		at = C.CBytes(dest)
		defer C.free(at)
	}
	ctx := uint64(q.num)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tx, q.rx = tx, rx
	if q.cause != nil { // the device closed meanwhile
		return q.cause
	}
	ret := C.cf_ep(q.dev.domain, info, C.uint64_t(ctx), q.dev.eq, q.tx.cq, q.rx.cq, q.dev.features,
		C.size_t(q.txSize()), C.size_t(q.recvDepth), at, C.size_t(len(dest)), &q.ep)
	if ret != 0 {
		q.ep = nil
		return failure(fmt.Sprintf("endpoint with %d sends and %d receives", q.txSize(), q.recvDepth), ret)
	}
	q.recvFree = make([]uint32, q.recvDepth)
	for i := range q.recvFree {
		q.recvFree[i] = uint32(q.recvDepth - 1 - i)
	}
	return q.postRecvs(q.recvDepth)
}

// postRecvs posts n of the free receives. mu is held.
func (q *queuePair) postRecvs(n int) error {
	base, desc := uint64(q.recvMem.base()), uint64(uintptr(q.recvMem.desc))
	for n = min(n, len(q.recvFree)); n > 0; n-- {
		last := len(q.recvFree) - 1
		i := q.recvFree[last]
		ctx := recvContext | uint64(q.num)<<32 | uint64(i)
		more := C.int(0)
		if n > 1 {
			more = 1
		}
		ret := C.cf_recv(q.ep, C.uint64_t(base+uint64(i)*slotBytes), slotBytes, C.uint64_t(desc), C.uint64_t(ctx), more)
		if ret != 0 {
			return failure("posting a receive", ret)
		}
		q.recvFree = q.recvFree[:last]
	}
	return nil
}

// polled notes that the owner took completions.
func (q *queuePair) polled(sends, recvs int) {
	q.mu.Lock()
	q.unpolled -= sends
	if recvs > 0 && q.ep != nil {
		if err := q.postRecvs(recvs); err != nil {
			q.mu.Unlock()
			q.fail(rdma.StatusPeerLost, noSlot, err)
			return
		}
	}
	q.unstarve()
	q.mu.Unlock()
	if recvs > 0 && q.dev.manual() {
		// tcp may hold a message that waited for a receive, which its
		// descriptor does not signal again.
		q.recvCQ.drain()
	}
}

// unstarve wakes an owner whose Post was refused. mu is held.
func (q *queuePair) unstarve() {
	if q.starved {
		q.starved = false
		q.sendCQ.Wake()
	}
}

// connected: the fabric reports that both sides are connected.
func (q *queuePair) connected() {
	q.mu.Lock()
	q.becomeReady()
	q.mu.Unlock()
}

// becomeReady releases the waiters for the connection. mu is held.
func (q *queuePair) becomeReady() {
	if !q.isReady {
		q.isReady = true
		close(q.ready)
	}
}

// connectionFailed ends the queue pair, now or before it began.
func (q *queuePair) connectionFailed(err error) { q.fail(rdma.StatusPeerLost, noSlot, err) }

// await waits for the connection, and ends the queue pair if it is not
// established.
func (q *queuePair) await(timeout <-chan time.Time, stop <-chan struct{}) error {
	var err error
	select {
	case <-q.ready:
		if err = q.Err(); err == nil {
			return nil
		}
	case <-timeout:
		err = fmt.Errorf("%w after %v", rdma.ErrTimeout, q.dev.opt.HandshakeTimeout)
	case <-stop:
		err = net.ErrClosed
	}
	_ = q.Close()
	return err
}

func (q *queuePair) PrivateData() []byte { return q.private }
func (q *queuePair) Peer() string        { return q.peer }
func (q *queuePair) Context() any        { return q.context }

func (q *queuePair) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.cause
}

// Close fails the queue pair, notifies the peer by ending the control
// connection, and releases everything.
func (q *queuePair) Close() error {
	q.mu.Lock()
	q.byOwner = true
	q.mu.Unlock()
	q.fail(rdma.StatusFlushed, noSlot, rdma.ErrClosed)
	q.sendCQ.Purge(q)
	q.recvCQ.Purge(q)
	q.abandon()
	return nil
}

// abandon releases the resources of a queue pair, once.
func (q *queuePair) abandon() {
	q.mu.Lock()
	q.closeEP()
	tx, rx := q.tx, q.rx
	q.tx, q.rx = nil, nil
	q.mu.Unlock()
	d := q.dev
	d.mu.Lock()
	known := d.qps[q.num] == q
	delete(d.qps, q.num)
	d.mu.Unlock()
	q.ctl.close()
	if tx != nil {
		q.sendCQ.giveBack(tx, q.txSize())
		q.recvCQ.giveBack(rx, q.recvDepth)
	}
	if !known {
		return
	}
	q.recvMem.alone = true // only our endpoint used it
	_ = q.recvMem.Close()
	for _, c := range []*completionQueue{q.sendCQ, q.recvCQ} {
		if c.Closed() {
			c.release()
		}
	}
}

// closeEP closes the endpoint: it no longer accesses registered memory
// afterwards. mu is held.
func (q *queuePair) closeEP() {
	if q.ep == nil {
		return
	}
	q.dev.eqMu.Lock()
	ret := C.cf_close(&q.ep.fid)
	q.dev.eqMu.Unlock()
	q.ep = nil
	if ret != 0 {
		q.dev.opt.Log.Warn("ofi: closing an endpoint", "peer", q.peer, "err", failure("close", ret))
	}
}
