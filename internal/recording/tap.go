package recording

import (
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/querylog"
)

// Tap records the requests of one goroutine, its owner: a worker, or the
// goroutine that holds Recorder.sharedMu. Adding a record takes no lock and
// wakes no goroutine.
//
// # Order
//
// The file is in order of time, across all taps, although records wait in
// their owners' buffers. So the writer must know a moment, its cut, up to
// which it has every record. It reads the clock, then held of each tap, and
// takes the least of these as its cut; then it takes the queues. No record
// that it has not taken is earlier than the cut:
//
//   - If held was noneHeld, the buffer was empty. The next record sets held
//     and then reads the clock: after the writer read held, hence after the
//     writer read the clock. All earlier records are in the queue.
//   - If held was set, it is no later than the first record in the buffer,
//     and all earlier records are in the queue.
//
// A record that stays in its buffer for long makes the writer keep the later
// ones of other taps in memory. Workers hand over at their ticks, which a
// long search may delay.
type Tap struct {
	r *Recorder

	// The owner's own.
	buf  []byte
	n    int           // records in buf
	last time.Duration // offset of the latest record

	// held is noneHeld if buf is empty, else a time in ns that is no later
	// than the offset of buf's first record. The owner stores it, the writer
	// loads it.
	held atomic.Int64

	queue [][]byte // handed over, in order; guarded by r.mu

	// The writer's own: the buffers that it took out of queue, and how many
	// bytes of the first are merged.
	taken [][]byte
	at    int

	_ [64]byte // No cache line is shared with the next tap.
}

const noneHeld = -1

// NewTap returns a tap for one goroutine.
func (r *Recorder) NewTap() *Tap {
	t := &Tap{r: r, buf: make([]byte, 0, bufferBytes)}
	t.held.Store(noneHeld)
	r.mu.Lock()
	r.taps = append(r.taps, t)
	r.mu.Unlock()
	return t
}

// Add records a request that was executed just now, and sets the
// record's offset.
func (t *Tap) Add(rec *querylog.Record) {
	if rec.Kind.Writes() && !t.r.opts.Writes {
		return
	}
	first := t.n == 0
	if first {
		t.held.Store(int64(t.last)) // Before the clock is read.
	}
	t.last = time.Since(t.r.start)
	if first {
		t.held.Store(int64(t.last))
	}
	rec.Offset = t.last
	t.buf = rec.Append(t.buf)
	t.n++
	if len(t.buf)+querylog.MaxRecord > bufferBytes {
		t.HandOver()
	}
}

// HandOverOld hands the buffer over if its first record is older than Hold.
func (t *Tap) HandOverOld() {
	if t.n > 0 && time.Since(t.r.start)-time.Duration(t.held.Load()) >= Hold {
		t.HandOver()
	}
}

// HandOver gives the buffer to the writer and takes an empty one. If too many
// are queued, the records in the buffer are lost instead.
func (t *Tap) HandOver() {
	if t.n == 0 {
		return
	}
	r := t.r
	r.mu.Lock()
	if r.shut || r.queued >= maxQueued {
		r.lost += uint64(t.n)
		t.buf = t.buf[:0]
	} else {
		t.queue = append(t.queue, t.buf)
		r.queued++
		if last := len(r.free) - 1; last >= 0 {
			t.buf, r.free = r.free[last], r.free[:last]
		} else {
			t.buf = make([]byte, 0, bufferBytes)
		}
	}
	half := r.queued >= maxQueued/2
	r.mu.Unlock()
	t.n = 0
	t.held.Store(noneHeld) // After the buffer was queued.
	if half {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// ready reports whether there is a record to merge that is not after cut.
func (t *Tap) ready(cut time.Duration) bool {
	return len(t.taken) > 0 && querylog.OffsetOf(t.rest()) <= cut
}

// rest returns the bytes that are not merged yet: the next record first.
func (t *Tap) rest() []byte { return t.taken[0][t.at:] }

// merged skips n bytes that are merged, and returns the buffer if these were
// its last.
func (t *Tap) merged(n int) []byte {
	if t.at += n; t.at < len(t.taken[0]) {
		return nil
	}
	b := t.taken[0]
	copy(t.taken, t.taken[1:])
	t.taken, t.at = t.taken[:len(t.taken)-1], 0
	return b
}
