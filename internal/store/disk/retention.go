package disk

import (
	"github.com/cockroachdb/pebble/v2"
)

// The log is kept by bytes, in segments of a sixteenth of Options.LogBytes each,
// which are only numbers here: where each begins, and how much it holds. A commit
// after which there is too much removes the oldest segment in its own batch, by
// one range deletion, so trimming is as atomic as the commit and costs it nothing
// that grows.
//
// A trimmed entry must be durable, or the repair of a frozen database would miss
// it (recover.go); Commit sees to that.

const segments = 16

type segment struct {
	first uint64 // revision
	bytes int64
}

type retention struct {
	segments []segment // by revision; the last one grows
	bytes    int64     // of all
	limit    int64
}

func (r *retention) add(revision uint64, bytes int64) {
	n := len(r.segments)
	if n == 0 || r.segments[n-1].bytes >= r.limit/segments {
		r.segments = append(r.segments, segment{first: revision})
		n++
	}
	r.segments[n-1].bytes += bytes
	r.bytes += bytes
}

// excess is the oldest segment's range of revisions [from, to), if it must be removed.
// The last segment stays, so the log always has the last revision.
func (r *retention) excess() (from, to uint64, ok bool) {
	if r.bytes <= r.limit || len(r.segments) < 2 {
		return 0, 0, false
	}
	return r.segments[0].first, r.segments[1].first, true
}

func (r *retention) trim() {
	r.bytes -= r.segments[0].bytes
	r.segments = append(r.segments[:0], r.segments[1:]...)
}

func logEnds(iters view) (first, last uint64, err error) {
	it, err := iters(&pebble.IterOptions{LowerBound: []byte{logPrefix}, UpperBound: []byte{logPrefix + 1}})
	if err != nil {
		return 0, 0, err
	}
	if it.First() {
		if first, err = parseLogKey(it.Key()); err == nil && it.Last() {
			last, err = parseLogKey(it.Key())
		}
	}
	if e := it.Error(); err == nil {
		err = e
	}
	if e := it.Close(); err == nil {
		err = e
	}
	return first, last, err
}

// measureLog divides the log of an opened database into segments, by the size of its
// tables. That is after compression, so a little too much is kept at first.
func measureLog(p *pebble.DB, first, last uint64, limit int64) (retention, error) {
	r := retention{limit: limit}
	if last == 0 {
		return r, nil
	}
	for i := range uint64(segments) {
		// first + (last-first+1)*i/segments, without overflow
		n := last - first + 1
		from := first + n/segments*i + n%segments*i/segments
		to := first + n/segments*(i+1) + n%segments*(i+1)/segments
		if from == to {
			continue
		}
		bytes, err := p.EstimateDiskUsage(logKey(from), logKey(to))
		if err != nil {
			return r, err
		}
		r.segments = append(r.segments, segment{first: from, bytes: int64(bytes)})
		r.bytes += int64(bytes)
	}
	return r, nil
}
