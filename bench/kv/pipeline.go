package kv

import (
	"context"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/ycsb"
)

// pipeline is next for a Pipeliner: it draws all operations that shall be in
// flight, sends them together and checks their answers. A read-modify-write is
// sent as a read; the writes of all of them follow together.
func (w *worker) pipeline(ctx context.Context) error {
	w.draw()
	start := time.Now()
	err := w.store.(Pipeliner).Do(ctx, w.many)
	end := time.Now()
	if err != nil {
		return fmt.Errorf("bench: %d operations: %w", len(w.many), err)
	}
	for i := range w.reads {
		op, r := &w.reads[i], &w.many[i]
		if op.Kind != ycsb.ReadModifyWrite {
			w.record(op.Kind, start, end, 1)
		}
		if r.Put {
			w.checker.saw(op.Number, op.Seq)
		} else {
			w.checker.saw(op.Number, w.checker.check(op, r.Value, r.Found))
		}
	}
	return w.modify(ctx, start)
}

// draw makes the requests of the next operations.
func (w *worker) draw() {
	w.reads = w.reads[:0]
	for i := range w.many {
		op, r := w.ops.Next(), &w.many[i]
		w.reads = append(w.reads, op)
		r.Key, r.Found = op.Key, false
		if r.Put = op.Kind == ycsb.Update || op.Kind == ycsb.Insert; r.Put {
			r.Value = op.AppendValue(r.Value[:0])
		}
	}
}

// modify sends the writes of read-modify-writes, which began at start.
func (w *worker) modify(ctx context.Context, start time.Time) error {
	w.second = w.second[:0]
	for i := range w.reads {
		if op := &w.reads[i]; op.Kind == ycsb.ReadModifyWrite {
			// The value read has been checked: its buffer takes the new one.
			r := &w.many[i]
			r.Value = op.AppendValue(r.Value[:0])
			w.second = append(w.second, Request{Key: op.Key, Value: r.Value, Put: true})
		}
	}
	if len(w.second) == 0 {
		return nil
	}
	err := w.store.(Pipeliner).Do(ctx, w.second)
	end := time.Now()
	if err != nil {
		return fmt.Errorf("bench: %d writes: %w", len(w.second), err)
	}
	w.record(ycsb.ReadModifyWrite, start, end, len(w.second))
	for i := range w.reads {
		if op := &w.reads[i]; op.Kind == ycsb.ReadModifyWrite {
			w.checker.saw(op.Number, op.Seq)
		}
	}
	return nil
}

// inOrder reports whether a pipeline writes in the order of drawing: not if
// some writes wait for a read, and others do not.
func inOrder(m ycsb.Mix) bool {
	return !m.Has(ycsb.ReadModifyWrite) || !m.Has(ycsb.Update)
}
