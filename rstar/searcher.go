package rstar

import (
	"runtime"
	"sync/atomic"
)

const (
	// maxRetries bounds the reads of one node that a writer is changing. Publishing
	// takes well under 1 us; if the version is still odd after maxRetries scans, the
	// writer was probably descheduled, or the node is very busy.
	maxRetries = 64
	// maxRestarts bounds the passes of one search before it takes the
	// writer's lock, so that it ends however busy the writer is.
	maxRestarts = 8
)

// stripe counts events of searchers. Searchers are assigned stripes round robin, so
// that cores rarely share a line. Each atomic addition costs about 5 ns, as much as the
// scan of a node; a search does three.
type stripe struct {
	// gate holds the number of searches inside the slab, for which Close
	// waits, in the low 16 bits, and above it the number of those that ended.
	// The searchers of a stripe are far fewer than 2^16.
	gate     atomic.Uint64
	reads    atomic.Uint64 // node reads that succeeded
	restarts atomic.Uint64
	retries  atomic.Uint64
	_        [2*LineBytes - 4*8]byte // two lines: x86 prefetches pairs
}

const (
	gateEnter  = 1
	gateActive = 1<<16 - 1 // mask
	gateSearch = 1 << 16
)

// stripeCount is a power of two, greater than the number of searchers that
// run at once on machines of up to as many cores.
const stripeCount = 32

// searcher is the memory of one search, pooled.
type searcher struct {
	stripe *stripe
	stack  []ref
	boxes  []Rect // that are searched, if several (any.go), else nil
	items  []Item
	near   nearScratch
	batch  batch

	reads, retries, restarts uint64 // since enter
}

// ref is a node to visit.
type ref struct {
	chunk uint32
	level int32
}

func (t *Tree) newSearcher() *searcher {
	return &searcher{stripe: &t.stripes[t.turn.Add(1)%stripeCount]}
}

// enter lets s read the slab until exit, false after Close.
func (t *Tree) enter(s *searcher) bool {
	s.stripe.gate.Add(gateEnter)
	if t.closed.Load() {
		s.stripe.gate.Add(^uint64(gateEnter - 1))
		return false
	}
	return true
}

// exit ends what enter began and adds the counters to the stripe's; searches
// is the number of searches that ended with it.
func (t *Tree) exit(s *searcher, searches uint64) {
	st := s.stripe
	st.reads.Add(s.reads)
	if s.retries+s.restarts > 0 {
		st.retries.Add(s.retries)
		st.restarts.Add(s.restarts)
	}
	s.reads, s.retries, s.restarts = 0, 0, 0
	st.gate.Add(searches*gateSearch - gateEnter)
}

// attempt repeats pass until it reports that it met no move, at last under
// the writer's lock.
func (t *Tree) attempt(s *searcher, pass func() bool) {
	for range maxRestarts {
		if pass() {
			return
		}
		s.restarts++
		runtime.Gosched() // let the writer finish its move
	}
	t.mu.Lock()
	pass()
	t.mu.Unlock()
}
