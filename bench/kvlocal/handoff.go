package kvlocal

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/lines"
)

// A queue of batches of requests from a dispatching goroutine to the owner of
// a shard; the answers come back in the same slots:
//
//	taken          done           filled
//	  | answered     | requests     |  free ...        a ring of slots
//	  v              v              v
//	dispatcher     owner          dispatcher
//
// Each count is written by one side: filled and taken by the dispatcher, done by
// the owner. Storing filled hands a slot over, storing done hands it back, so no
// slot is ever used by both.
type queue struct {
	slots  []batch
	filled atomic.Uint64
	_      [lines.Bytes]byte // the two sides' counts in lines of their own
	done   atomic.Uint64
	_      [lines.Bytes]byte
	taken  uint64 // used by the dispatcher only
}

// queueSlots bounds a dispatcher's in-flight batches at one owner: it fills
// one while the owner answers another, and neither waits for the other's pace.
const queueSlots = 8

// batch has some requests, and the values that answer the gets.
type batch struct {
	ops    []request
	values []byte // of each request, ValueBytes
}

func newQueue(batchOps, valueBytes int) *queue {
	q := &queue{slots: make([]batch, queueSlots)}
	for i := range q.slots {
		q.slots[i] = batch{ops: make([]request, 0, batchOps), values: make([]byte, batchOps*valueBytes)}
	}
	return q
}

// next is the slot that the dispatcher fills, nil if none is free: take first.
func (q *queue) next() *batch {
	if f := q.filled.Load(); f-q.taken < queueSlots {
		return &q.slots[f%queueSlots]
	}
	return nil
}

// hand gives the filled slot to the owner.
func (q *queue) hand() { q.filled.Store(q.filled.Load() + 1) }

// take calls f with each answered batch, and frees its slot.
func (q *queue) take(f func(*batch)) {
	for done := q.done.Load(); q.taken < done; q.taken++ {
		b := &q.slots[q.taken%queueSlots]
		f(b)
		b.ops = b.ops[:0]
	}
}

// idle reports whether all batches handed over are answered and taken.
func (q *queue) idle() bool { return q.taken == q.filled.Load() }

// dispatch hands a stream of requests over to the owners' queues, by the shard that
// pick names, and takes the answers.
func dispatch(ctx context.Context, ops []request, queues []*queue, pick func(*request) int, answer func(*batch)) {
	takeAll := func() {
		for _, q := range queues {
			q.take(answer)
		}
	}
	for i := range ops {
		q := queues[pick(&ops[i])]
		b := q.next()
		for ; b == nil; b = q.next() {
			if ctx.Err() != nil {
				return
			}
			runtime.Gosched()
			takeAll()
		}
		if b.ops = append(b.ops, ops[i]); len(b.ops) == cap(b.ops) {
			q.hand()
			takeAll()
		}
	}
	for _, q := range queues {
		if b := q.next(); b != nil && len(b.ops) > 0 {
			q.hand()
		}
	}
	for _, q := range queues {
		for !q.idle() && ctx.Err() == nil {
			q.take(answer)
			runtime.Gosched()
		}
	}
}

// own answers the batches of the queues until over is closed or ctx done.
func own(ctx context.Context, queues []*queue, over <-chan struct{}, answer func(*batch) error) error {
	for {
		worked := false
		for _, q := range queues {
			for done, filled := q.done.Load(), q.filled.Load(); done < filled; done++ {
				if err := answer(&q.slots[done%queueSlots]); err != nil {
					return err
				}
				q.done.Store(done + 1)
				worked = true
			}
		}
		if worked {
			continue
		}
		select {
		case <-over:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		default:
			runtime.Gosched()
		}
	}
}
