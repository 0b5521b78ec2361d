package shm

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/internal/rdma"
)

var (
	errRing   = errors.New("shm: the peer wrote garbage into the receive ring")
	errLocal  = errors.New("shm: a request failed, see its completion")
	errAnswer = errors.New("shm: the peer did not answer a key request in time")
)

// queuePair is one end of a connection. Three parties work on it:
//
//	Post      under mu: the ring towards the peer, the peer's mappings
//	Poll      under recvCQ.mu: the ring from the peer
//	control   its own goroutine: the socket
//
// The party that finds the pair broken calls fail, which only sets fault and
// closes the socket; the control goroutine ends, flushes and unmaps.
type queuePair struct {
	dev            *device
	conn           *net.UnixConn
	out            *outlet
	peer           string
	private        []byte
	context        any
	holds          *holding
	sendCQ, recvCQ *completionQueue
	sendDepth      int
	recvDepth      int
	errSendFull    error // made once: no allocation when full
	errRecvFull    error

	fault     atomic.Pointer[fault]
	closed    atomic.Bool
	closeOnce sync.Once
	signalled atomic.Bool   // in recvCQ's inbox
	unpolled  atomic.Int64  // completions in sendCQ's inbox
	starved   atomic.Bool   // Post found the peer's ring full
	done      chan struct{} // control goroutine has ended

	// Guarded by recvCQ.mu.
	ring    ring
	dying   bool
	drained int // events taken since dying

	// mu guards Post's side.
	mu      sync.Mutex
	tx      *sender
	table   *view // the peer's table
	maps    map[rdma.Key]*mapping
	last    *mapping // most requests name the key of the previous one
	mapped  int64    // bytes of maps
	pending []pending
	imms    int               // WriteImms among them: their slots are reserved
	held    *region           // of the current Post, nil between Posts
	ended   []rdma.Completion // of the current Post, not yet reported
	timer   *time.Timer
	asks    uint64 // key requests, and answers to them: await
	wakeDue bool

	// handed lists the keys of the regions that the peer has.
	handedMu sync.Mutex
	handed   map[rdma.Key]struct{}
}

// fault is why a pair failed.
type fault struct {
	first rdma.Status // of the oldest outstanding request
	recv  rdma.Status // of the receive side's one completion
	err   error
	post  error // the error that Post returns
}

// fail puts the pair into the error state, once. It never waits and may be
// called under any lock.
func (p *queuePair) fail(status rdma.Status, err error) {
	f := &fault{first: status, recv: status, err: err,
		post: fmt.Errorf("%w: %s: %w", rdma.ErrQueuePair, p.peer, err)}
	if !p.fault.CompareAndSwap(nil, f) {
		return
	}
	if errors.Is(err, ErrLimit) {
		p.out.sendEnd(err.Error())
	}
	_ = p.conn.Close() // notifies the peer
	if !p.closed.Load() {
		p.recvCQ.inbox.signal(p)
	}
}

func (p *queuePair) PrivateData() []byte { return p.private }
func (p *queuePair) Peer() string        { return p.peer }
func (p *queuePair) Context() any        { return p.context }

func (p *queuePair) Err() error {
	if f := p.fault.Load(); f != nil {
		return f.err
	}
	return nil
}

// Close waits for the control goroutine and for Polls in progress, so that
// nothing uses the pair's memory when it is unmapped.
func (p *queuePair) Close() error {
	p.closeOnce.Do(func() {
		p.closed.Store(true)
		p.fail(rdma.StatusFlushed, rdma.ErrClosed)
		<-p.done
		q := p.recvCQ
		q.mu.Lock()
		q.rings.remove(&p.ring)
		q.forget(p)
		_ = unix.Munmap(p.ring.mem)
		q.mu.Unlock()
		p.sendCQ.settle()
		p.dev.mu.Lock()
		delete(p.dev.qps, p)
		p.dev.mu.Unlock()
		p.holds.close()
	})
	return nil
}

// newQueuePair checks cfg and makes the receive ring. The caller sends
// fd to the peer and closes it.
func (d *device) newQueuePair(cfg rdma.QPConfig) (p *queuePair, fd int, err error) {
	send, ok1 := cfg.SendCQ.(*completionQueue)
	recv, ok2 := cfg.RecvCQ.(*completionQueue)
	if !ok1 || !ok2 || send.dev != d || recv.dev != d {
		return nil, -1, fmt.Errorf("%w: SendCQ and RecvCQ must be queues of this device", rdma.ErrBadRequest)
	}
	depth := func(name string, n int) (int, error) {
		if n == 0 {
			n = rdma.DefaultDepth
		}
		if n < 0 || n > maxDepth {
			return 0, fmt.Errorf("%w: %s %d, allowed are 0 (default) to %d", rdma.ErrBadRequest, name, n, maxDepth)
		}
		return n, nil
	}
	p = &queuePair{dev: d, sendCQ: send, recvCQ: recv, context: cfg.Context,
		maps: map[rdma.Key]*mapping{}, handed: map[rdma.Key]struct{}{}, done: make(chan struct{})}
	if p.sendDepth, err = depth("SendDepth", cfg.SendDepth); err != nil {
		return nil, -1, err
	}
	if p.recvDepth, err = depth("RecvDepth", cfg.RecvDepth); err != nil {
		return nil, -1, err
	}
	fd, mem, err := createMemory("catfish-ring", pages(ringBytes(p.recvDepth)), false)
	if err != nil {
		return nil, -1, fmt.Errorf("%w: receive ring: %w", rdma.ErrRegister, err)
	}
	p.ring = ring{receiver: *newReceiver(mem, p.recvDepth), qp: p, index: -1}
	return p, fd, nil
}

// attach completes a pair with the peer's ring and table, in fds, which
// the caller closes.
func (p *queuePair) attach(c *net.UnixConn, peer string, g greeting, fds []int) (err error) {
	if len(fds) != maxFds {
		return fmt.Errorf("%w: greeting with %d descriptors, need %d", errMessage, len(fds), maxFds)
	}
	if p.out, err = newOutlet(c); err != nil {
		return err
	}
	depth := int(g.depth)
	size := pages(ringBytes(depth))
	if err := p.holds.mapped.Take(int64(size + tableBytes)); err != nil {
		return err
	}
	mem, err := mapReceived(fds[0], size, true)
	if err != nil {
		return err
	}
	if p.table, err = viewReceived(fds[1], tableBytes, false); err != nil {
		_ = unix.Munmap(mem)
		return err
	}
	p.tx = newSender(mem, depth)
	p.conn, p.peer, p.private = c, peer, g.private
	p.errSendFull = fmt.Errorf("%w: %d requests to %s are outstanding, the queue pair's SendDepth",
		rdma.ErrQueueFull, p.sendDepth, peer)
	p.errRecvFull = fmt.Errorf("%w: %d events wait at %s, its RecvDepth", rdma.ErrQueueFull, depth, peer)
	return nil
}

// cut makes room for others in a budget.
func (p *queuePair) cut(why error) {
	p.fail(rdma.StatusPeerLost, fmt.Errorf("shm: ended: %w", why))
}

// start makes the pair live. It owns the connection from here on.
func (p *queuePair) start() error {
	p.dev.mu.Lock()
	if p.dev.closed {
		p.dev.mu.Unlock()
		return rdma.ErrClosed
	}
	p.dev.qps[p] = struct{}{}
	p.dev.mu.Unlock()
	p.recvCQ.mu.Lock()
	p.recvCQ.rings.add(&p.ring, false)
	p.recvCQ.mu.Unlock()
	// Not before: a pair that fails is signalled to its queue, which must
	// not look at the missing memory of one that never started.
	if why := p.holds.endBy(p.cut); why != nil {
		p.cut(why)
	}
	go p.control()
	return nil
}

// discard undoes newQueuePair and attach for a pair that never started.
func (p *queuePair) discard() {
	_ = unix.Munmap(p.ring.mem)
	if p.tx != nil {
		_ = unix.Munmap(p.tx.mem)
		p.table.release()
	}
	if p.holds != nil {
		p.holds.close()
	}
}

// Source implements rdma.Sourced.
func (p *queuePair) Source() string { return p.holds.from }
