package recording

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/internal/querylog"
)

// run is the writer, until Close.
func (r *Recorder) run() {
	defer close(r.ended)
	t := time.NewTicker(writeEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-r.wake:
		case <-r.stop:
			r.flush(true)
			r.end()
			return
		}
		r.flush(false)
	}
}

// flush writes the buffers handed over, up to the cut (see Tap): no
// earlier record can follow. The last time, when all owners have ended,
// it writes everything.
func (r *Recorder) flush(last bool) {
	r.sharedMu.Lock()
	r.shared.HandOver()
	r.sharedMu.Unlock()

	// The order of these steps matters: see Tap.
	cut := time.Since(r.start)
	r.mu.Lock()
	taps := r.taps
	r.mu.Unlock()
	for _, t := range taps {
		if held := t.held.Load(); held != noneHeld && !last {
			cut = min(cut, time.Duration(held))
		}
	}
	r.mu.Lock()
	r.shut = last
	for _, t := range taps {
		t.taken = append(t.taken, t.queue...)
		clear(t.queue)
		t.queue = t.queue[:0]
	}
	lost := r.lost
	r.lost = 0
	r.mu.Unlock()
	if last {
		cut = time.Since(r.start)
	}
	r.merge(taps, cut)
	if lost > 0 {
		if r.dropped.Add(lost) == lost {
			r.log.Warn("the recording does not keep up: requests are missing in it",
				"file", r.opts.File, "dropped", lost)
		}
		r.batch = appendSealed(r.batch, &querylog.Record{Kind: querylog.Dropped, Offset: cut, Lost: lost})
	}
	r.write()
}

// merge writes the taps' records up to cut, in order of time.
func (r *Recorder) merge(taps []*Tap, cut time.Duration) {
	r.live = r.live[:0]
	for _, t := range taps {
		if t.ready(cut) {
			r.live = append(r.live, t)
		}
	}
	for len(r.live) > 0 {
		first := 0
		for i := range r.live {
			if querylog.OffsetOf(r.live[i].rest()) < querylog.OffsetOf(r.live[first].rest()) {
				first = i
			}
		}
		t := r.live[first]
		b := querylog.Seal(t.rest())
		if coll := querylog.CollectionOf(b); !r.known[coll] {
			r.known[coll] = true
			r.batch = appendSealed(r.batch, &querylog.Record{
				Kind: querylog.Collection, Offset: querylog.OffsetOf(b),
				Collection: coll, Name: r.names(coll),
			})
		}
		r.batch = append(r.batch, b...)
		r.inBatch++
		if through := t.merged(len(b)); through != nil {
			r.done = append(r.done, through[:0])
		}
		if !t.ready(cut) {
			r.live = append(r.live[:first], r.live[first+1:]...)
		}
		if len(r.batch) >= batchBytes {
			r.write()
		}
	}
}

// write writes the batch, and frees the buffers that are merged.
func (r *Recorder) write() {
	records := uint64(r.inBatch)
	switch {
	case len(r.batch) == 0:
	case r.failure.Load() != nil:
		r.dropped.Add(records)
	default:
		n, err := r.out.Write(r.batch)
		r.bytes.Add(uint64(n))
		if err != nil {
			r.fail(err)
			// Part of the batch may be in the file; which part is not known.
			r.dropped.Add(records)
		} else {
			r.records.Add(records)
		}
	}
	r.batch, r.inBatch = r.batch[:0], 0
	if len(r.done) == 0 {
		return
	}
	r.mu.Lock()
	keep := min(len(r.done), keepFree-len(r.free))
	r.free = append(r.free, r.done[:keep]...)
	r.queued -= len(r.done)
	r.mu.Unlock()
	clear(r.done)
	r.done = r.done[:0]
}

func appendSealed(b []byte, rec *querylog.Record) []byte {
	n := len(b)
	b = rec.Append(b)
	querylog.Seal(b[n:])
	return b
}

func (r *Recorder) fail(err error) {
	err = fmt.Errorf("%w: %w", ErrRecord, err)
	if r.failure.CompareAndSwap(nil, &err) {
		r.log.Error("the recording has ended: what follows is missing in it",
			"file", r.opts.File, "err", err)
	}
}

// end syncs and closes the file.
func (r *Recorder) end() {
	err := r.out.Sync()
	if errors.Is(err, syscall.EINVAL) {
		err = nil // A pipe or a terminal, which cannot be synced.
	}
	if err := errors.Join(err, r.out.Close()); err != nil {
		r.fail(err)
	}
}
