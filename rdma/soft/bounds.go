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

const (
	// leastRate is the rate, in bytes per second, at which a peer must at
	// least send a frame that it began, and read from its stream.
	leastRate = 64 << 10

	// freeBytes of an outbox are not counted: messages and heartbeats need
	// that much. So a queue pair without large answers is never cut.
	freeBytes = 32 << 10
)

// transferTime is the time of n bytes at leastRate.
func transferTime(n int) time.Duration {
	return time.Duration(n) * time.Second / leastRate
}

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
	switch {
	case n < o.held:
		q.unsent.Give(int64(o.held - n))
	case n > o.held:
		if err := q.unsent.Take(int64(n - o.held)); err != nil {
			return err
		}
	}
	o.held = n
	return nil
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
		ErrStalled, sent, n, time.Since(begun).Round(time.Millisecond), leastRate)
}
