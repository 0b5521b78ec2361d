package faulty

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// completionQueue implements rdma.CompletionQueue: it holds the completions
// that the pump took from the provider's queue, in one FIFO per queue pair.
type completionQueue struct {
	dev   *Device
	inner rdma.CompletionQueue
	// signal holds a token while Wait has a reason to return or to check
	// again; done is closed with the queue, ended when the pump ends.
	signal      chan struct{}
	done, ended chan struct{}
	closing     sync.Once

	mu     sync.Mutex
	room   sync.Cond // for the pump: no queue pair exceeds its depth
	random *rand.Rand
	fifos  []*fifo
	number uint64 // of arrivals
	over   int    // queue pairs with RecvDepth events unpolled
	closed bool
}

type fifo struct {
	qp      *queuePair
	entries []entry
}

type entry struct {
	c      rdma.Completion
	number uint64
	due    time.Time // zero: at once
}

func newCompletionQueue(d *Device, inner rdma.CompletionQueue, g *rand.Rand) *completionQueue {
	q := &completionQueue{dev: d, inner: inner, random: g, signal: make(chan struct{}, 1),
		done: make(chan struct{}), ended: make(chan struct{})}
	q.room.L = &q.mu
	go q.pump()
	return q
}

// pump moves completions from the provider to the queue pairs. It pauses
// while a queue pair has its maximum of unpolled events: so the provider sees
// that its receives are not consumed, and delays the peer.
func (q *completionQueue) pump() {
	defer close(q.ended)
	var buf [16]rdma.Completion
	for {
		q.mu.Lock()
		for q.over > 0 && !q.closed {
			q.room.Wait()
		}
		q.mu.Unlock()
		n := q.inner.Poll(buf[:])
		if n == 0 {
			if q.inner.Wait(context.Background(), -1) != nil {
				return // closed
			}
			if n = q.inner.Poll(buf[:]); n == 0 {
				q.poke()
			}
		}
		for _, c := range buf[:n] {
			p := c.QP.Context().(*queuePair)
			p.attach(c.QP)
			p.dispatch(c)
		}
	}
}

// poke reports that the provider woke up without a completion.
func (q *completionQueue) poke() {
	q.mu.Lock()
	qps := make([]*queuePair, len(q.fifos))
	for i, l := range q.fifos {
		qps[i] = l.qp
	}
	q.mu.Unlock()
	for _, p := range qps {
		p.poke()
	}
	q.wake()
}

func (q *completionQueue) add(p *queuePair) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.fifoLocked(p) == nil { // the same queue may serve both
		q.fifos = append(q.fifos, &fifo{qp: p})
	}
}

func (q *completionQueue) fifoLocked(p *queuePair) *fifo {
	for _, l := range q.fifos {
		if l.qp == p {
			return l
		}
	}
	return nil
}

// remove drops a closed queue pair and its pending completions.
func (q *completionQueue) remove(p *queuePair) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, l := range q.fifos {
		if l.qp == p {
			if p.recv == q && p.arrived >= p.recvDepth {
				q.over--
				q.room.Signal()
			}
			q.fifos = append(q.fifos[:i], q.fifos[i+1:]...)
			return
		}
	}
}

func (q *completionQueue) push(p *queuePair, c rdma.Completion, late time.Duration) {
	q.mu.Lock()
	l := q.fifoLocked(p)
	if q.closed || l == nil {
		q.mu.Unlock()
		return
	}
	e := entry{c: c, number: q.number}
	q.number++
	if late > 0 {
		q.dev.hit(LateCompletion)
		e.due = time.Now().Add(late)
	}
	l.entries = append(l.entries, e)
	if c.Op == rdma.OpRecv && c.Status == rdma.StatusOK {
		if p.arrived++; p.arrived == p.recvDepth {
			q.over++
		}
	}
	q.mu.Unlock()
	q.wake()
}

// readyLocked returns, of the FIFOs whose first completion is due, the one
// whose first completion arrived first; how many are due; and when the next
// one is.
func (q *completionQueue) readyLocked(now time.Time) (first *fifo, ready int, next time.Time) {
	for _, l := range q.fifos {
		if len(l.entries) == 0 {
			continue
		}
		head := &l.entries[0]
		if head.due.After(now) {
			if next.IsZero() || head.due.Before(next) {
				next = head.due
			}
			continue
		}
		ready++
		if first == nil || head.number < first.entries[0].number {
			first = l
		}
	}
	return first, ready, next
}

// Poll takes the due completions, by arrival or, at the rate of
// Reorder, from any queue pair.
func (q *completionQueue) Poll(dst []rdma.Completion) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return 0
	}
	now := time.Now()
	for n := range dst {
		l, ready, _ := q.readyLocked(now)
		if l == nil {
			return n
		}
		if ready > 1 && q.random.Float64() < q.dev.opt.Reorder {
			if other := q.anyLocked(now, q.random.IntN(ready)); other != l {
				q.dev.hit(Reorder)
				l = other
			}
		}
		dst[n] = l.entries[0].c
		l.entries = l.entries[1:]
		p := l.qp
		if dst[n].Op != rdma.OpRecv {
			p.unpolled.Add(-1)
		} else if dst[n].Status == rdma.StatusOK {
			if p.arrived--; p.arrived == p.recvDepth-1 {
				q.over--
				q.room.Signal()
			}
		}
	}
	return len(dst)
}

// anyLocked returns the i-th FIFO whose first completion is due.
func (q *completionQueue) anyLocked(now time.Time, i int) *fifo {
	for _, l := range q.fifos {
		if len(l.entries) > 0 && !l.entries[0].due.After(now) {
			if i == 0 {
				return l
			}
			i--
		}
	}
	return nil
}

// Wait sleeps until a completion is due or a token asks to check again.
func (q *completionQueue) Wait(ctx context.Context, timeout time.Duration) error {
	begin := time.Now()
	for {
		now := time.Now()
		q.mu.Lock()
		first, _, due := q.readyLocked(now)
		closed := q.closed
		q.mu.Unlock()
		if closed {
			return fmt.Errorf("%w: completion queue", rdma.ErrClosed)
		}
		if first != nil {
			return q.hold(ctx)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		left := timeout - now.Sub(begin)
		if timeout >= 0 && left <= 0 {
			select {
			case <-q.signal: // Wake came before
				return nil
			default:
				return fmt.Errorf("%w: no completion within %v", rdma.ErrTimeout, timeout)
			}
		}
		var alarm <-chan time.Time
		if untilDue := due.Sub(now); !due.IsZero() && (timeout < 0 || untilDue < left) {
			alarm = time.After(untilDue)
		} else if timeout >= 0 {
			alarm = time.After(left)
		}
		select {
		case <-q.signal:
			return nil
		case <-alarm:
		case <-q.done:
		case <-ctx.Done():
		}
	}
}

// hold is the HeldWait fault.
func (q *completionQueue) hold(ctx context.Context) error {
	q.mu.Lock()
	var d time.Duration
	if q.random.Float64() < q.dev.opt.HeldWait {
		d = q.dev.delay(q.random)
	}
	q.mu.Unlock()
	if d == 0 {
		return nil
	}
	q.dev.hit(HeldWait)
	select {
	case <-time.After(d):
	case <-q.done:
	case <-ctx.Done():
	}
	return nil
}

// Spun is the pump's time: it waits on behalf of the caller.
func (q *completionQueue) Spun() time.Duration { return q.inner.Spun() }

func (q *completionQueue) Wake() { q.wake() }

func (q *completionQueue) wake() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// Close also ends the pump.
func (q *completionQueue) Close() (err error) {
	q.closing.Do(func() {
		q.mu.Lock()
		q.closed = true
		q.room.Broadcast()
		q.mu.Unlock()
		close(q.done)
		err = q.inner.Close()
		q.dev.mu.Lock()
		delete(q.dev.cqs, q)
		q.dev.mu.Unlock()
	})
	<-q.ended
	return err
}
