package catfish

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/internal/querylog"
)

// run is the writer, until close.
func (r *recorder) run() {
	defer close(r.ended)
	t := time.NewTicker(recordEvery)
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

// flush writes what the shards hold. The last time, they take no more.
func (r *recorder) flush(last bool) {
	var full [recordShards][]byte
	var lost uint64
	records := 0
	// All at once: what is added later is later than all that is taken
	// now, so that the file is in order.
	for i := range r.shards {
		r.shards[i].mu.Lock()
	}
	now := time.Since(r.start)
	for i := range r.shards {
		s := &r.shards[i]
		full[i], s.buf = s.buf, r.spare[i][:0]
		records += s.n
		lost += s.lost
		s.n, s.lost, s.shut = 0, 0, last
	}
	for i := range r.shards {
		r.shards[i].mu.Unlock()
	}
	r.spare = full
	if records == 0 && lost == 0 {
		return
	}
	if r.failure.Load() != nil {
		r.dropped.Add(uint64(records) + lost)
		return
	}
	r.batch = r.merge(r.batch[:0], full)
	if lost > 0 {
		if r.dropped.Add(lost) == lost {
			r.log.Warn("the recording does not keep up: requests are missing in it",
				"file", r.opts.File, "dropped", lost)
		}
		r.batch = appendSealed(r.batch, &querylog.Record{Kind: querylog.Dropped, Offset: now, Lost: lost})
	}
	if n, err := r.out.Write(r.batch); err != nil {
		r.bytes.Add(uint64(n))
		r.fail(err)
		// Some of it may be there, of which nobody knows here.
		r.dropped.Add(uint64(records))
		return
	}
	r.records.Add(uint64(records))
	r.bytes.Add(uint64(len(r.batch)))
	if cap(r.batch) > recordShardBytes {
		r.batch = nil
	}
}

// merge appends the shards' records in the order of their offsets.
func (r *recorder) merge(out []byte, full [recordShards][]byte) []byte {
	var left [][]byte
	for _, b := range full {
		if len(b) > 0 {
			left = append(left, b)
		}
	}
	for len(left) > 0 {
		first := 0
		for i := range left {
			if querylog.OffsetOf(left[i]) < querylog.OffsetOf(left[first]) {
				first = i
			}
		}
		b := querylog.Seal(left[first])
		if coll := querylog.CollectionOf(b); !r.known[coll] {
			r.known[coll] = true
			out = appendSealed(out, &querylog.Record{
				Kind: querylog.Collection, Offset: querylog.OffsetOf(b),
				Collection: coll, Name: r.names(coll),
			})
		}
		out = append(out, b...)
		if left[first] = left[first][len(b):]; len(left[first]) == 0 {
			left = append(left[:first], left[first+1:]...)
		}
	}
	return out
}

func appendSealed(b []byte, rec *querylog.Record) []byte {
	n := len(b)
	b = rec.Append(b)
	querylog.Seal(b[n:])
	return b
}

func (r *recorder) fail(err error) {
	err = fmt.Errorf("%w: %w", ErrRecord, err)
	if r.failure.CompareAndSwap(nil, &err) {
		r.log.Error("the recording has ended: what follows is missing in it",
			"file", r.opts.File, "err", err)
	}
}

// end makes sure that what was written stays.
func (r *recorder) end() {
	err := r.out.Sync()
	if errors.Is(err, syscall.EINVAL) {
		err = nil // A pipe or a terminal, which keep nothing.
	}
	if err := errors.Join(err, r.out.Close()); err != nil {
		r.fail(err)
	}
}
