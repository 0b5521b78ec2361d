package recording

import (
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/querylog"
)

// Tap is where one goroutine, its owner, records: a worker, or
// whoever holds recorder.sharedMu. Adding a record takes no lock and wakes
// nobody.
//
// # Order
//
// The file is in order of time, also between taps, and a record waits in
// its owner's buffer. So the writer must know up to which moment it has
// everything: its cut. It reads the clock; then each tap's held, and cuts
// at the least of all; then it takes the queues. What it has not taken is
// no earlier than the cut:
//
//   - held was none, since the buffer was empty: its next record reads the
//     clock after held was set, hence after the writer read it, hence after
//     the writer's clock. What was handed over before is in the queue.
//   - held was set: it is no later than the first record in the buffer, and
//     all earlier ones are in the queue.
//
// An owner that keeps a record for long holds back the others' in memory;
// workers hand over at their ticks, which a long search may delay.
type Tap struct {
	r *Recorder

	// The owner's own.
	buf  []byte
	n    int           // records in buf
	last time.Duration // offset of the last record ever

	// held is no later than the offset of buf's first record in ns, or
	// noneHeld. The owner writes it, the writer reads it.
	held atomic.Int64

	queue [][]byte // handed over, in order; guarded by r.mu

	// The writer's own: what it took out of queue, and how much of the
	// first buffer is merged.
	taken [][]byte
	at    int

	_ [64]byte // The next tap's owner has cache lines of its own.
}

const noneHeld = -1

// NewTap makes a tap.
func (r *Recorder) NewTap() *Tap {
	t := &Tap{r: r, buf: make([]byte, 0, bufferBytes)}
	t.held.Store(noneHeld)
	r.mu.Lock()
	r.taps = append(r.taps, t)
	r.mu.Unlock()
	return t
}

// Add records a request that was carried out just now, and sets the
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

// HandOverOld hands over what waits since Hold.
func (t *Tap) HandOverOld() {
	if t.n > 0 && time.Since(t.r.start)-time.Duration(t.held.Load()) >= Hold {
		t.HandOver()
	}
}

// HandOver gives the buffer to the writer and takes an empty one. When too
// many wait already, what is in it is lost.
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
	t.held.Store(noneHeld) // After the queue has it.
	if half {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// ready reports whether there is a record to merge up to cut.
func (t *Tap) ready(cut time.Duration) bool {
	return len(t.taken) > 0 && querylog.OffsetOf(t.rest()) <= cut
}

// rest begins with the next record to merge.
func (t *Tap) rest() []byte { return t.taken[0][t.at:] }

// merged goes on after n bytes, and returns the buffer if it is through.
func (t *Tap) merged(n int) []byte {
	if t.at += n; t.at < len(t.taken[0]) {
		return nil
	}
	b := t.taken[0]
	copy(t.taken, t.taken[1:])
	t.taken, t.at = t.taken[:len(t.taken)-1], 0
	return b
}
