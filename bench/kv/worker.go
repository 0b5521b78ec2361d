package kv

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// worker is one goroutine's closed loop. Its measurements are read when it has
// ended.
type worker struct {
	store   Store
	ops     *ycsb.Ops
	checker checker
	latency [kinds]*latency.Distribution // of kinds in the mix

	phase *atomic.Int32 // of the process; calls that end while it is measuring count

	op    ycsb.Op
	value []byte
	reads []ycsb.Op // collected for a GetMany, or drawn for a Do
	many  []Request
	// second are the writes of read-modify-writes, of a Do.
	second []Request
}

// Phases of a client process, in order.
const (
	warming int32 = iota
	measuring
	over
)

// newWorker makes the worker with this number among all clients' goroutines.
// together is the number of operations in one call.
func newWorker(w ycsb.Config, number, together int, store Store, phase *atomic.Int32) (*worker, error) {
	ops, err := w.Ops(number)
	if err != nil {
		return nil, err
	}
	wk := &worker{store: store, ops: ops, phase: phase, latency: latencies(w.Mix)}
	wk.checker.ascending = w.ValueBytes >= ycsb.HeaderBytes
	if together > 1 {
		wk.reads, wk.many = make([]ycsb.Op, 0, together), make([]Request, together)
	}
	return wk, nil
}

func latencies(m ycsb.Mix) (l [kinds]*latency.Distribution) {
	for k := range l {
		if m.Has(ycsb.Kind(k)) {
			l[k] = latency.New()
		}
	}
	return l
}

// run makes calls with next until the measured time ends, one fails or ctx is
// done.
func (w *worker) run(ctx context.Context, next func(context.Context) error) error {
	for ctx.Err() == nil && w.phase.Load() != over {
		if err := next(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// one executes the next operation, or collects it for a GetMany.
func (w *worker) one(ctx context.Context) (err error) {
	w.op = w.ops.Next()
	op := &w.op
	var start, end time.Time
	switch op.Kind {
	case ycsb.Read:
		if cap(w.reads) > 0 {
			if w.reads = append(w.reads, *op); len(w.reads) < cap(w.reads) {
				return nil
			}
			return w.getMany(ctx)
		}
		start = time.Now()
		err = w.get(ctx)
		end = time.Now()
	case ycsb.ReadModifyWrite:
		start = time.Now()
		if err = w.get(ctx); err == nil {
			err = w.put(ctx)
		}
		end = time.Now()
	default:
		start = time.Now()
		err = w.put(ctx)
		end = time.Now()
	}
	if err != nil {
		return fmt.Errorf("bench: %s of key %s: %w", op.Kind, op.Key, err)
	}
	w.record(op.Kind, start, end, 1)
	return nil
}

func (w *worker) get(ctx context.Context) error {
	value, err := w.store.Get(ctx, w.op.Key[:], w.value[:0])
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	w.value = value
	w.checker.saw(w.op.Number, w.checker.check(&w.op, value, err == nil))
	return nil
}

func (w *worker) put(ctx context.Context) error {
	w.value = w.op.AppendValue(w.value[:0])
	if err := w.store.Put(ctx, w.op.Key[:], w.value); err != nil {
		return err
	}
	w.checker.saw(w.op.Number, w.op.Seq)
	return nil
}

// getMany reads the collected keys. Reads of one call are unordered, so all
// are checked against the values seen before it.
func (w *worker) getMany(ctx context.Context) error {
	for i := range w.reads {
		w.many[i].Key, w.many[i].Found = w.reads[i].Key, false
	}
	start := time.Now()
	err := w.store.GetMany(ctx, w.many)
	end := time.Now()
	if err != nil {
		return fmt.Errorf("bench: reading %d keys: %w", len(w.many), err)
	}
	w.record(ycsb.Read, start, end, len(w.many))
	for i := range w.reads {
		w.reads[i].Seq = w.checker.check(&w.reads[i], w.many[i].Value, w.many[i].Found)
	}
	for i := range w.reads {
		w.checker.saw(w.reads[i].Number, w.reads[i].Seq)
	}
	w.reads = w.reads[:0]
	return nil
}

// record counts n operations of one call that ended at end.
func (w *worker) record(k ycsb.Kind, start, end time.Time, n int) {
	if w.phase.Load() == measuring {
		w.latency[k].RecordMany(end.Sub(start), n)
	}
}
