package store

import "sync"

// ring has the last changes of a store, one for each revision from first to last. Its
// lock is held for as long as it takes to copy references: some microseconds.
type ring struct {
	mu          sync.RWMutex
	changes     []*change // revision r at r modulo their number
	bytes       int64
	limit       int64 // of bytes; the last change stays, whatever its size
	first, last uint64
}

// clear forgets all; the next revision is last+1.
func (r *ring) clear(changes int, limit int64, last uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes = nil
	if changes > 0 {
		r.changes = make([]*change, changes)
	}
	r.bytes, r.limit, r.first, r.last = 0, limit, last+1, last
}

// append adds changes, the revisions after the last.
func (r *ring) append(all []*change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range all {
		if r.last+1-r.first == uint64(len(r.changes)) {
			r.forget()
		}
		r.last++
		*r.slot(r.last) = c
		r.bytes += c.bytes()
		for r.bytes > r.limit && r.first < r.last {
			r.forget()
		}
	}
}

func (r *ring) forget() {
	s := r.slot(r.first)
	r.bytes -= (*s).bytes()
	*s = nil
	r.first++
}

func (r *ring) slot(revision uint64) **change {
	return &r.changes[revision%uint64(len(r.changes))]
}

// kept is from the first revision to the last; none is kept if last+1 is first.
func (r *ring) kept() (first, last uint64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.first, r.last
}

// scan appends at most n changes from a revision on, or none if that is forgotten. It
// returns the first revision that is kept, and the last.
func (r *ring) scan(dst []*change, from uint64, n int) (_ []*change, first, last uint64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if from >= r.first {
		for ; n > 0 && from <= r.last; n-- {
			dst = append(dst, *r.slot(from))
			from++
		}
	}
	return dst, r.first, r.last
}

// pick appends the changes of revisions, which are at most last, up to the one
// that is forgotten; missed is that one, or 0.
func (r *ring) pick(dst []*change, revisions []uint64) (_ []*change, missed uint64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, n := range revisions {
		if n < r.first {
			return dst, n
		}
		dst = append(dst, *r.slot(n))
	}
	return dst, 0
}
