package faulty

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// errDropped is the reason for the failure of a queue pair whose peer was
// dropped.
var errDropped = errors.New("faulty: the peer was dropped on purpose")

// op is one request of the caller, from Post until its completion is
// in the outer queue. ops[i].seq is ops[0].seq + i.
type op struct {
	seq        uint64 // the ID of its inner requests
	id         uint64
	kind       rdma.Op
	bytes      uint32
	unsignaled bool
	late       time.Duration

	left   int // inner completions that are still missing
	status rdma.Status
	vendor uint32
	done   bool
}

// queuePair implements rdma.QueuePair.
type queuePair struct {
	dev                  *Device
	number               uint64
	cfg                  rdma.QPConfig
	send, recv           *completionQueue
	sendDepth, recvDepth int
	unpolled             atomic.Int64 // send completions in the outer queue
	arrived              int          // events there; guarded by recv.mu

	mu       sync.Mutex
	changed  sync.Cond // an op ended, the provider may have room, or failure
	inner    rdma.QueuePair
	events   *rand.Rand // delays of events, in order of arrival
	next     uint64     // seq of the next op
	refused  uint64     // 1 + seq of the op that FullQueue hit last
	full     bool       // the last Post met a full queue
	ops      []*op
	queued   []waiting // ops that the worker has to post
	working  bool
	broken   bool // dropped or failed on purpose
	final    bool // no more completions follow: closed, or broken and reported
	notified bool // the receive queue got the failure
	err      error
}

func newQueuePair(d *Device, cfg rdma.QPConfig, send, recv *completionQueue, g *rand.Rand) *queuePair {
	q := &queuePair{dev: d, number: d.made, cfg: cfg, send: send, recv: recv, events: g,
		sendDepth: cfg.SendDepth, recvDepth: cfg.RecvDepth}
	if q.sendDepth == 0 {
		q.sendDepth = rdma.DefaultDepth
	}
	if q.recvDepth == 0 {
		q.recvDepth = rdma.DefaultDepth
	}
	q.changed.L = &q.mu
	send.add(q)
	recv.add(q)
	return q
}

// attach sets the provider's queue pair; whichever side sees it first calls
// it.
func (q *queuePair) attach(inner rdma.QueuePair) {
	q.mu.Lock()
	q.inner = inner
	q.mu.Unlock()
}

func (q *queuePair) provider() rdma.QueuePair {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.inner
}

func (q *queuePair) PrivateData() []byte { return q.provider().PrivateData() }
func (q *queuePair) Peer() string        { return q.provider().Peer() }
func (q *queuePair) Context() any        { return q.cfg.Context }

func (q *queuePair) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// Post posts a request at once if it suffers no fault and none is queued.
func (q *queuePair) Post(wrs []rdma.WorkRequest) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range wrs {
		if err := q.postLocked(wrs[i]); err != nil {
			q.full = errors.Is(err, rdma.ErrQueueFull)
			if errors.Is(err, rdma.ErrBadRequest) {
				err = fmt.Errorf("request %d: %w", i, err)
			}
			return i, err
		}
	}
	return len(wrs), nil
}

func (q *queuePair) postLocked(w rdma.WorkRequest) error {
	if q.err != nil {
		return fmt.Errorf("%w: to %s: %w", rdma.ErrQueuePair, q.inner.Peer(), q.err)
	}
	if err := q.validate(w); err != nil {
		return fmt.Errorf("%w: %w", rdma.ErrBadRequest, err)
	}
	if n := len(q.ops) + int(q.unpolled.Load()); n >= q.sendDepth {
		return fmt.Errorf("%w: %d requests outstanding", rdma.ErrQueueFull, n)
	}
	f := q.fate(q.next, w)
	if f.full && q.refused != q.next+1 {
		q.refused = q.next + 1
		q.dev.hit(FullQueue)
		q.send.wake() // posting again succeeds, so no waiter may keep sleeping
		return fmt.Errorf("%w: on purpose", rdma.ErrQueueFull)
	}
	o := &op{seq: q.next, id: w.ID, kind: w.Op, bytes: uint32(w.Local.Len),
		unsignaled: w.Unsignaled, late: f.late, left: 1}
	w.ID, w.Unsignaled = o.seq, false
	if r, ok := w.Local.Region.(*region); ok {
		w.Local.Region = r.Region
	}
	if q.working || f.needsWorker() {
		q.admitLocked(o)
		q.queued = append(q.queued, waiting{o, w, f})
		if !q.working {
			q.working = true
			go q.work()
		}
		return nil
	}
	q.admitLocked(o) // before Post: the completion may come within it
	if _, err := q.inner.Post([]rdma.WorkRequest{w}); err != nil {
		q.ops = q.ops[:len(q.ops)-1]
		q.next--
		return err
	}
	return nil
}

func (q *queuePair) admitLocked(o *op) {
	q.ops = append(q.ops, o)
	q.next++
}

// validate refuses requests that the provider would refuse when they reach
// the front of the queue, too late to report it.
func (q *queuePair) validate(w rdma.WorkRequest) error {
	if w.Op != rdma.OpRead && w.Op != rdma.OpWrite && w.Op != rdma.OpWriteImm {
		return fmt.Errorf("%v cannot be posted", w.Op)
	}
	l := w.Local
	if w.Op == rdma.OpWriteImm && l.Len == 0 {
		return nil
	}
	r, _ := l.Region.(*region)
	if r == nil || r.dev != q.dev {
		return errors.New("the local region is not one of this device")
	}
	size, open := r.open()
	if !open {
		return errors.New("the local region is closed")
	}
	if l.Offset < 0 || l.Len < 0 || l.Offset > size || l.Len > size-l.Offset {
		return fmt.Errorf("local offset %d and length %d exceed the region's %d bytes",
			l.Offset, l.Len, size)
	}
	if w.Op == rdma.OpRead && r.Access()&rdma.LocalWrite == 0 {
		return errors.New("a read needs a local region with LocalWrite")
	}
	return nil
}

// dispatch takes one inner completion from a pump.
func (q *queuePair) dispatch(c rdma.Completion) {
	failure := c.Err() // reads the peer's name from the provider's queue pair
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.final {
		return
	}
	if c.Op == rdma.OpRecv {
		c.QP = q
		if c.Status != rdma.StatusOK {
			if q.broken || q.notified {
				return // it is reported as a drop
			}
			q.notified = true
			q.failLocked(failure)
		}
		var late time.Duration
		if q.events.Float64() < q.dev.opt.LateCompletion {
			late = q.dev.delay(q.events)
		}
		q.recv.push(q, c, late)
		return
	}
	o := q.ops[c.ID-q.ops[0].seq]
	q.endLocked(o, 1, c.Status, c.Vendor)
	if c.Status != rdma.StatusOK {
		q.failLocked(failure)
	}
	q.emitLocked()
}

// endLocked records that n inner requests of o ended; the first failure is
// the op's.
func (q *queuePair) endLocked(o *op, n int, s rdma.Status, vendor uint32) {
	if o.status == rdma.StatusOK {
		o.status, o.vendor = s, vendor
	}
	o.left -= n
	o.done = o.left <= 0
}

// emitLocked passes the ended ops to the send queue, in order.
func (q *queuePair) emitLocked() {
	for len(q.ops) > 0 && q.ops[0].done {
		o := q.ops[0]
		q.ops[0] = nil
		q.ops = q.ops[1:]
		if !o.unsignaled || o.status != rdma.StatusOK {
			q.unpolled.Add(1)
			q.send.push(q, rdma.Completion{Op: o.kind, Status: o.status, Bytes: o.bytes,
				ID: o.id, QP: q, Vendor: o.vendor}, o.late)
		}
	}
	if q.full {
		q.full = false
		q.send.wake() // unsignaled ops made room
	}
	q.changed.Broadcast()
}

// failLocked records the first reason; the worker flushes the queued ops.
func (q *queuePair) failLocked(err error) {
	if q.err == nil {
		q.err = err
	}
	q.changed.Broadcast()
}

// poke makes the worker retry: the provider woke its queue without a
// completion, as it does when a full peer has room again.
func (q *queuePair) poke() {
	q.mu.Lock()
	q.changed.Broadcast()
	q.mu.Unlock()
}

// drop breaks the connection on demand.
func (q *queuePair) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.dev.hit(DroppedPeer)
		q.breakLocked(rdma.StatusPeerLost, errDropped)
	}
}

// breakLocked ends a working queue pair as if the network had failed: the
// first outstanding op gets status first, the others are flushed, and both
// receive queues are notified. The provider's queue pair is closed before, so
// that it touches no buffer of a flushed request, without holding mu.
func (q *queuePair) breakLocked(first rdma.Status, why error) {
	q.broken = true
	q.failLocked(why)
	inner := q.inner
	q.mu.Unlock()
	_ = inner.Close()
	q.mu.Lock()
	if q.final {
		return // closed meanwhile
	}
	status := first
	for _, o := range q.ops {
		if !o.done {
			q.endLocked(o, o.left, status, 0)
			status = rdma.StatusFlushed
		}
	}
	q.queued = nil
	q.emitLocked()
	q.final = true
	if !q.notified {
		q.notified = true
		q.recv.push(q, rdma.Completion{Op: rdma.OpRecv, Status: rdma.StatusPeerLost, QP: q}, 0)
	}
}

// Close closes the provider's queue pair and drops completions that were not polled.
func (q *queuePair) Close() error {
	q.mu.Lock()
	q.final = true
	q.ops, q.queued = nil, nil
	q.failLocked(fmt.Errorf("%w: queue pair", rdma.ErrClosed))
	inner := q.inner
	q.mu.Unlock()
	err := inner.Close()
	q.send.remove(q)
	q.recv.remove(q)
	q.dev.mu.Lock()
	delete(q.dev.qps, q)
	q.dev.mu.Unlock()
	return err
}
