package soft

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
)

// This file bounds the cost of a peer: one place among the queue pairs that
// listeners accepted, memory for bytes that it has not taken, and time.
//
// Memory is counted where buffers grow and shrink, not per message. Small ones
// are free, so that most queue pairs never touch the budget's lock.
//
// A queue pair is cut by a goroutine that needs the room for another one, and
// that may hold the other one's mu. So cutting takes no lock: it stores the
// reason in cutFor and ends the NIC goroutine's socket read.

// freeBytes of an outbox are not counted: messages and heartbeats need
// that much. So a queue pair without large answers is never cut.
const freeBytes = 32 << 10

// admit opens the accounts of a queue pair that a listener accepts.
func (q *queuePair) admit() error {
	from := limits.SourceOf(q.conn.RemoteAddr())
	q.place = q.dev.opt.QueuePairs.Open(from, q.cut)
	if err := q.place.Take(1); err != nil {
		q.place.Close()
		return err
	}
	q.unsent = q.dev.opt.Unsent.Open(from, q.cut)
	return nil
}

// leave closes the accounts. A second call does nothing.
func (q *queuePair) leave() {
	q.unsent.Close()
	q.place.Close()
}

// cut ends the queue pair. It takes no lock: see above.
func (q *queuePair) cut(why error) {
	q.cutFor.CompareAndSwap(nil, &why)
	q.interrupt()
}

// cutErr is why the queue pair was cut, nil if it was not.
func (q *queuePair) cutErr() error {
	if why := q.cutFor.Load(); why != nil {
		return *why
	}
	return nil
}

// settleLocked accounts for the outbox's buffers. After an error the caller
// cuts the queue pair.
func (q *queuePair) settleLocked() error {
	o := &q.box
	n := max(cap(o.buf)+cap(o.spare)+o.sendingCap-freeBytes, 0)
	return limits.Hold(q.unsent, nil, &o.held, int64(n))
}

// trimTicks is the number of the monitor's ticks after which unneeded
// buffers are released: about rdma.PeerTimeout.
const trimTicks = ticksPerTimeout

// trimLocked releases large buffers if little was sent for trimTicks.
func (q *queuePair) trimLocked() {
	o := &q.box
	if o.ticks++; o.ticks < trimTicks {
		return
	}
	if o.peak <= freeBytes/2 && !o.writing && len(o.buf) == 0 &&
		cap(o.buf)+cap(o.spare) > freeBytes {
		o.buf, o.spare = nil, nil
		_ = q.settleLocked() // returns bytes, which cannot fail
	}
	o.ticks, o.peak = 0, 0
}

// stalled is the error of a send whose deadline passed, nil for others.
func stalled(err error, sent, n int, begun time.Time) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return fmt.Errorf("%w: %d of %d bytes in %v, wanted %d bytes a second",
		ErrStalled, sent, n, time.Since(begun).Round(time.Millisecond), limits.LeastRate)
}
