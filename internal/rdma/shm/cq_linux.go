package shm

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/spin"
)

// completionQueue collects from three places:
//
//	inbox   completions of this process's own requests, pairs that were
//	        woken or failed: any goroutine adds, under inbox.mu
//	hot     receive rings of pairs that are or were busy: every Poll
//	        reads one cached line of each
//	cold    receive rings of idle pairs: armed, so their senders send a
//	        wake-up; each Poll also checks a few, round robin, which
//	        finds events sooner when the process is too busy to read
//	        its sockets
//
// A pair is made cold when it was idle for a while, and every hot one is
// before the queue sleeps (file ring.go: arm, then check again). An event, or
// the wake-up, makes it hot.
//
// Lock order: device.mu, queuePair.mu, inbox.mu; completionQueue.mu,
// inbox.mu. A pair's mu and a queue's mu are never held together.
type completionQueue struct {
	dev *device

	// mu guards the fields below. Poll holds it while it runs, so once a
	// Close has taken it, its pair is no longer polled.
	mu    sync.Mutex
	rings ringLists
	dying []*queuePair // failed: deliver the arrived events, then the error
	turn  uint         // polls

	inbox inbox

	spin   spin.Spinner
	ready  func() bool // look, made once: no allocation per Wait
	timer  *time.Timer
	closed atomic.Bool
}

// CreateCQ makes a completion queue with room for depth completions of
// local requests; it grows when there are more.
func (d *device) CreateCQ(depth int) (rdma.CompletionQueue, error) {
	q := &completionQueue{dev: d}
	q.spin.Max = d.opt.SpinMax
	q.ready = q.look
	q.inbox.init(min(max(depth, 1), maxDepth))
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, rdma.ErrClosed
	}
	d.cqs[q] = struct{}{}
	return q, nil
}

// ringsFirst is how many polls check the inbox first for each one that begins
// with the rings. A queue that has local completions mostly waits for these:
// reading an idle ring costs a line and a page that have left the caches.
const ringsFirst = 8

// Poll takes local completions, or events if there are none. At times it
// takes events first, so that neither starves.
func (q *completionQueue) Poll(dst []rdma.Completion) int {
	if len(dst) == 0 || q.closed.Load() {
		return 0
	}
	q.mu.Lock()
	q.takeSignals()
	n := 0
	if q.turn++; q.turn%ringsFirst == 0 {
		n = q.pollRings(dst)
		n += q.inbox.take(dst[n:])
	} else if n = q.inbox.take(dst); n == 0 {
		n = q.pollRings(dst)
	}
	q.mu.Unlock()
	return n
}

// takeSignals moves the pairs that were woken or failed to their lists.
func (q *completionQueue) takeSignals() {
	if !q.inbox.signalled() {
		return
	}
	for {
		p := q.inbox.takeSignal()
		if p == nil {
			return
		}
		switch {
		case p.closed.Load() || p.dying:
		case p.fault.Load() != nil:
			p.dying = true
			q.rings.remove(&p.ring)
			q.dying = append(q.dying, p)
		default:
			q.rings.heat(&p.ring)
		}
	}
}

func (q *completionQueue) pollRings(dst []rdma.Completion) int {
	n := 0
	if len(q.dying) > 0 {
		n = q.pollDying(dst)
	}
	return n + q.rings.poll(dst[n:])
}

// pollDying delivers the events that arrived before a pair failed, then its
// one error.
func (q *completionQueue) pollDying(dst []rdma.Completion) int {
	n := 0
	for len(q.dying) > 0 && n < len(dst) {
		p := q.dying[0]
		got := p.ring.drain(dst[n:])
		n += got
		// A hostile peer can push forever: the ring cannot have held more
		// than its depth when the pair failed.
		if p.drained += got; got > 0 && p.drained < p.recvDepth {
			continue
		}
		if n == len(dst) {
			break
		}
		f := p.fault.Load()
		dst[n] = rdma.Completion{Op: rdma.OpRecv, Status: f.recv, QP: p}
		n++
		q.dying[0] = nil
		q.dying = q.dying[1:]
	}
	if len(q.dying) == 0 {
		q.dying = nil
	}
	return n
}

// look reports whether Wait must return.
func (q *completionQueue) look() bool {
	if q.inbox.any() {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.dying) > 0 || q.rings.look()
}

// Wait spins, arms all rings, and sleeps on a channel: no thread waits, the
// process's socket readers wake it.
func (q *completionQueue) Wait(ctx context.Context, timeout time.Duration) error {
	if q.closed.Load() {
		return rdma.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if timeout == 0 {
		if q.look() {
			q.inbox.clearWake()
			return q.over()
		}
		return rdma.ErrTimeout
	}
	var start time.Time // reading the clock costs as much as reading a ring
	if timeout > 0 {
		start = time.Now()
	}
	q.mu.Lock()
	q.rings.heatFew()
	q.mu.Unlock()
	if q.spin.Spin(q.ready) {
		q.inbox.clearWake()
		return q.over()
	}
	q.mu.Lock()
	found := len(q.dying) > 0 || q.rings.armAll()
	q.mu.Unlock()
	if found || !q.inbox.sleep() {
		q.inbox.clearWake()
		return q.over()
	}

	var expired <-chan time.Time
	if timeout > 0 {
		left := max(timeout-time.Since(start), 0)
		if q.timer == nil {
			q.timer = time.NewTimer(left)
		} else {
			q.timer.Reset(left)
		}
		defer q.timer.Stop()
		expired = q.timer.C
	}
	select {
	case <-q.inbox.wake:
		q.spin.Woke()
		q.inbox.clearWake()
		return q.over()
	case <-ctx.Done():
		q.inbox.endSleep()
		return ctx.Err()
	case <-expired:
		q.inbox.endSleep()
		return rdma.ErrTimeout
	}
}

// over is Wait's result after an event.
func (q *completionQueue) over() error {
	if q.closed.Load() {
		return rdma.ErrClosed
	}
	return nil
}

func (q *completionQueue) Spun() time.Duration { return q.spin.Spun() }
func (q *completionQueue) Wake()               { q.inbox.wakeWaiter() }

// Close ends Wait. Completions that come later are dropped.
func (q *completionQueue) Close() error {
	if !q.closed.CompareAndSwap(false, true) {
		return nil
	}
	q.inbox.wakeWaiter()
	q.mu.Lock()
	q.rings = ringLists{}
	q.dying = nil
	q.mu.Unlock()
	q.inbox.close()
	q.dev.mu.Lock()
	delete(q.dev.cqs, q)
	q.dev.mu.Unlock()
	return nil
}

// settle waits for a Poll in progress: one that saw a pair open returns
// before the pair's Close does.
func (q *completionQueue) settle() {
	q.mu.Lock()
	defer q.mu.Unlock()
}

// forget removes a pair that is closed. The caller holds mu.
func (q *completionQueue) forget(p *queuePair) {
	for i, d := range q.dying {
		if d == p {
			q.dying = append(q.dying[:i:i], q.dying[i+1:]...)
			return
		}
	}
}
