//go:build ofi

package ofi

import (
	"errors"
	"net"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/internal/cqueue"
)

// TestFirstFailure: one goroutine has taken the error of request 1, and
// another fails the queue pair with the flush of request 2 before it. Of
// requests 0 to 3, none but 0 may count as done.
func TestFirstFailure(t *testing.T) {
	d := &device{at: Fabric{Provider: Verbs}, features: 2} // CF_IN_ORDER
	c := &completionQueue{Queue: cqueue.New(8, -1), dev: d}
	near, far := net.Pipe()
	defer far.Close()
	q := &queuePair{
		dev: d, num: 1, sendCQ: c, recvCQ: c, ctl: newControl(near),
		ready: make(chan struct{}), slots: make([]slot, 4), mask: 3, tail: 4,
	}
	q.becomeReady()
	for i := range q.slots {
		q.slots[i] = slot{id: uint64(i), op: rdma.OpRead, signaled: true}
	}
	d.qps = map[uint32]*queuePair{1: q}

	arrived := &c.batch[0]
	arrived.ctx, arrived.err, arrived.prov_errno = 1<<32|1, 5, wcRemoteAccess
	if _, failed := c.arrived(arrived); !failed {
		t.Fatal("an error completion is no failure")
	}
	q.failVendor(rdma.StatusFlushed, 2, wcFlushed, errors.New("flushed"))

	var got [8]rdma.Completion
	n := c.Queue.Poll(got[:])
	want := []rdma.Status{rdma.StatusOK, rdma.StatusRemoteAccess, rdma.StatusFlushed, rdma.StatusFlushed, rdma.StatusFlushed}
	if n != len(want) {
		t.Fatalf("%d completions, want %d", n, len(want))
	}
	for i, s := range want {
		if got[i].Status != s || i < 4 && got[i].ID != uint64(i) {
			t.Errorf("completion %d: %s %d %q, want %q", i, got[i].Op, got[i].ID, got[i].Status, s)
		}
	}
	if got[1].Vendor != wcRemoteAccess || got[4].Op != rdma.OpRecv {
		t.Errorf("%+v, %+v", got[1], got[4])
	}
}
