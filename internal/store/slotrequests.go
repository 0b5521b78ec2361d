package store

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/placement"
)

// A store of one of several groups counts the reads and writes of ids, by slot, so that slots can
// be spread by them. Searches concern all slots, and are not counted; nor are one-sided reads, which
// the server does not see, nor what moves and expiry write.
//
// One request in requestsOf is counted, chosen by a generator that each thread of the runtime has for
// itself. So most requests write to no memory that others use, and take some nanoseconds, and nothing is
// allocated for them but the counts of a window. The slot is known: the request was judged by it.
// Those that are counted add to a word of their slot. Threads meet at a word only if a slot is hot, and
// then at one in requestsOf of its requests.
//
// Counts are of a window, and the one before it. What they say is of the last five to ten minutes.

const (
	// requestsOf: of 64,000 requests 4,000 are counted, which gives the share of a group a
	// standard error of 1.6 %.
	requestsOf = 16
	// requestsWindow is how long requests are added to the same counts.
	requestsWindow = 5 * time.Minute
)

// slotRequests counts the requests of each slot.
type slotRequests struct {
	now atomic.Pointer[requestsIn] // nil: none is counted
}

// requestsIn a window.
type requestsIn struct {
	began  time.Time
	counts [placement.Slots]atomic.Uint32
	before *requestsIn // nil: it is the first one
}

// reset forgets what was counted.
func (r *slotRequests) reset() { r.now.Store(&requestsIn{began: time.Now()}) }

// count counts some of the requests.
func (r *slotRequests) count(slot uint16) {
	if rand.Uint32()%requestsOf != 0 {
		return
	}
	w := r.now.Load()
	if w == nil {
		return
	}
	if now := time.Now(); now.Sub(w.began) >= requestsWindow {
		w = r.next(w, now)
	}
	w.counts[slot].Add(1)
}

// next begins a window after another one.
func (r *slotRequests) next(w *requestsIn, now time.Time) *requestsIn {
	before := &requestsIn{began: w.began}
	for s := range w.counts {
		before.counts[s].Store(w.counts[s].Load())
	}
	if next := (&requestsIn{began: now, before: before}); r.now.CompareAndSwap(w, next) {
		return next
	}
	return r.now.Load() // Another request has begun it.
}

// read returns what was counted.
func (r *slotRequests) read() *placement.Requests {
	is := &placement.Requests{Of: requestsOf}
	w := r.now.Load()
	if w == nil {
		return is
	}
	began := w.began
	for s := range w.counts {
		is.Counted[s] = w.counts[s].Load()
		if w.before != nil {
			is.Counted[s] += w.before.counts[s].Load()
		}
	}
	if w.before != nil {
		began = w.before.began
	}
	is.Over = time.Since(began)
	return is
}

// SlotRequests returns how many reads and writes of ids came for each slot, of those that this member has
// answered.
func (st *Store) SlotRequests() *placement.Requests { return st.asked.read() }

// CountAnew forgets what SlotRequests returns: a member that becomes the primary has answered others
// before.
func (st *Store) CountAnew() { st.asked.reset() }
