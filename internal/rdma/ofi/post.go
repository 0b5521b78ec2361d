//go:build ofi

package ofi

/*
#include "shim.h"
*/
import "C"

import (
	"fmt"

	"github.com/catfish-index/catfish/internal/rdma"
)

// postBatch requests cross into C in one call.
const postBatch = 64

// Post hands requests over in batches, each announced as one (FI_MORE).
// Writes of up to the device's inline size are copied at once.
func (q *queuePair) Post(wrs []rdma.WorkRequest) (n int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for n < len(wrs) {
		took, err := q.postSome(wrs[n:])
		n += took
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// postSome posts a batch. mu is held.
func (q *queuePair) postSome(wrs []rdma.WorkRequest) (int, error) {
	q.reqs = q.reqs[:0]
	var why error
	at := q.tail
	for i := range wrs {
		if len(q.reqs) == postBatch {
			break
		}
		r, err := q.request(&wrs[i])
		if err != nil {
			why = err
			break
		}
		s := &q.slots[q.tail&q.mask]
		*s = slot{id: wrs[i].ID, n: uint32(wrs[i].Local.Len), op: wrs[i].Op, signaled: !wrs[i].Unsignaled}
		q.reqs = append(q.reqs, r)
		q.tail++
	}
	if len(q.reqs) == 0 {
		return 0, why
	}
	for i := range q.reqs[:len(q.reqs)-1] {
		q.reqs[i].more = 1
	}
	var ret C.int
	n := int(C.cf_post(q.ep, &q.reqs[0], C.int(len(q.reqs)), q.dev.features, q.dev.inject, &ret))
	q.tail = at + uint64(n)
	if n == len(q.reqs) {
		return n, why
	}
	if ret == -C.FI_EAGAIN {
		q.starved = true
		return n, rdma.ErrQueueFull
	}
	return n, fmt.Errorf("%w: %w", rdma.ErrQueuePair, failure("post to "+q.peer, ret))
}

// request checks one request and describes it to C, or returns what is wrong.
func (q *queuePair) request(wr *rdma.WorkRequest) (r C.struct_cf_req, err error) {
	if q.cause != nil {
		return r, q.cause
	}
	local, err := q.local(wr)
	if err != nil {
		return r, err
	}
	if int(q.tail-q.head)+q.unpolled >= q.sendDepth {
		q.starved = true
		return r, rdma.ErrQueueFull
	}
	switch wr.Op {
	case rdma.OpRead:
		r.op = C.CF_READ
	case rdma.OpWrite:
		r.op = C.CF_WRITE
	default:
		r.op = C.CF_WRITE_IMM
	}
	r.ctx = C.uint64_t(uint64(q.num)<<32 | q.tail&0xffff_ffff)
	r.imm = C.uint32_t(wr.Imm)
	// An event without bytes has a source nevertheless: libfabric's verbs
	// reads the descriptor of any.
	r.local, r.desc = C.uint64_t(q.recvMem.base()), C.uint64_t(uintptr(q.recvMem.desc))
	if local != nil {
		r.local = C.uint64_t(uint64(local.base()) + uint64(wr.Local.Offset))
		r.len = C.uint64_t(wr.Local.Len)
		r.desc = C.uint64_t(uintptr(local.desc))
		r.remote, r.key = C.uint64_t(wr.Remote.Addr), C.uint64_t(wr.Remote.Key)
	}
	return r, nil
}

// local checks a request on its own and returns its region, nil for an
// event without bytes.
func (q *queuePair) local(wr *rdma.WorkRequest) (*region, error) {
	switch wr.Op {
	case rdma.OpWriteImm:
		if wr.Local.Len == 0 {
			return nil, nil
		}
	case rdma.OpWrite, rdma.OpRead:
	default:
		return nil, fmt.Errorf("%w: op %d, allowed read, write, write-with-imm", rdma.ErrBadRequest, uint8(wr.Op))
	}
	b := wr.Local
	r, ok := b.Region.(*region)
	if !ok || r.dev != q.dev {
		return nil, fmt.Errorf("%w: the local region is not of this device", rdma.ErrBadRequest)
	}
	if r.revoked.Load() {
		return nil, fmt.Errorf("%w: the local region is closed", rdma.ErrBadRequest)
	}
	if wr.Op == rdma.OpRead && r.access&rdma.LocalWrite == 0 {
		return nil, fmt.Errorf("%w: read into a region without LocalWrite", rdma.ErrBadRequest)
	}
	if b.Offset < 0 || b.Len < 0 || b.Offset > len(r.mem) || b.Len > len(r.mem)-b.Offset {
		return nil, fmt.Errorf("%w: local offset %d and length %d exceed the region of %d bytes",
			rdma.ErrBadRequest, b.Offset, b.Len, len(r.mem))
	}
	if b.Len > q.dev.maxBytes {
		return nil, fmt.Errorf("%w: %s of %d bytes, the device allows %d",
			rdma.ErrBadRequest, wr.Op, b.Len, q.dev.maxBytes)
	}
	return r, nil
}
