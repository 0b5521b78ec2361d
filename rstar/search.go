package rstar

import (
	"math"
	"runtime"
	"sync/atomic"
)

const (
	// maxRetries bounds the reads of one node that a writer is changing.
	// Publishing takes well under 1 us; who is still odd after so many
	// scans was probably descheduled, or the node is very busy.
	maxRetries = 64
	// maxRestarts bounds the passes of one search before it takes the
	// writer's lock, so that it ends however busy the writer is.
	maxRestarts = 8
)

// stripe counts what searchers do. Searchers deal themselves stripes in
// turn, so that cores rarely share a line.
type stripe struct {
	active   atomic.Int64 // searches inside the slab: Close waits for 0
	searches atomic.Uint64
	reads    atomic.Uint64 // node reads that succeeded
	restarts atomic.Uint64
	retries  atomic.Uint64
	_        [2*LineBytes - 5*8]byte // two lines: x86 prefetches pairs
}

// stripeCount is a power of two; more than the searchers that run at once
// on machines of up to as many cores.
const stripeCount = 32

// searcher is the memory of one search, pooled.
type searcher struct {
	stripe *stripe
	stack  []ref
	items  []Item
	heap   []cand // nearest.go
	node   node   // a private copy, nearest.go

	reads, retries, restarts uint64 // since enter
}

// ref is a node to visit.
type ref struct {
	chunk uint32
	level int32
}

func (t *Tree) newSearcher() *searcher {
	return &searcher{
		stripe: &t.stripes[t.turn.Add(1)%stripeCount],
		node:   make(node, t.nodeWords),
	}
}

// enter lets s read the slab until exit, false after Close.
func (t *Tree) enter(s *searcher) bool {
	s.stripe.active.Add(1)
	if t.closed.Load() {
		s.stripe.active.Add(-1)
		return false
	}
	return true
}

// exit ends what enter began and hands in the counters.
func (t *Tree) exit(s *searcher) {
	st := s.stripe
	st.reads.Add(s.reads)
	if s.retries+s.restarts > 0 {
		st.retries.Add(s.retries)
		st.restarts.Add(s.restarts)
	}
	s.reads, s.retries, s.restarts = 0, 0, 0
	st.active.Add(-1)
}

// Search calls yield for each object that intersects q, borders included,
// in no particular order, until yield returns false. q may be infinite; a
// NaN finds nothing. All results are gathered first (40 bytes each, in a
// pooled buffer), so yield runs without any lock and may change the tree.
func (t *Tree) Search(q Rect, yield func(r Rect, id uint64) bool) {
	s := t.pool.Get().(*searcher)
	s.items = t.searchAppend(s, s.items[:0], q, 0)
	for _, it := range s.items {
		if !yield(it.Rect, it.ID) {
			break
		}
	}
	t.pool.Put(s)
}

// SearchAppend appends to dst the objects that intersect q, at most limit
// of them if limit is positive, and returns the result. It allocates only
// when dst must grow.
func (t *Tree) SearchAppend(dst []Item, q Rect, limit int) []Item {
	s := t.pool.Get().(*searcher)
	dst = t.searchAppend(s, dst, q, limit)
	t.pool.Put(s)
	return dst
}

// Count returns the number of objects that intersect q. It allocates
// nothing.
func (t *Tree) Count(q Rect) int {
	s := t.pool.Get().(*searcher)
	n := 0
	t.run(s, func() bool {
		n = 0
		return t.count(s, q, &n)
	})
	t.pool.Put(s)
	return n
}

func (t *Tree) searchAppend(s *searcher, dst []Item, q Rect, limit int) []Item {
	if limit <= 0 {
		limit = math.MaxInt
	}
	base, ok := len(dst), false
	t.run(s, func() bool {
		dst, ok = t.collect(s, dst[:base], q, limit)
		return ok
	})
	if !ok { // closed
		return dst[:base]
	}
	return dst
}

// run repeats pass until it says that it saw no move, at last under the
// writer's lock. After Close it does nothing.
func (t *Tree) run(s *searcher, pass func() bool) {
	if !t.enter(s) {
		return
	}
	s.stripe.searches.Add(1)
	t.attempt(s, pass)
	t.exit(s)
}

// attempt is run without the bookkeeping.
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

// readHeader returns the root, its level and the move counter, as of one
// instant.
func (t *Tree) readHeader() (root ref, moves uint64) {
	h := t.words[headerDynamic : headerDynamic+lanes]
	for {
		v := atomic.LoadUint64(&h[0])
		rh := atomic.LoadUint64(&h[1])
		moves = atomic.LoadUint64(&h[3])
		if v&1 == 0 && atomic.LoadUint64(&h[0]) == v {
			return ref{uint32(rh), int32(rh>>32) - 1}, moves
		}
		runtime.Gosched()
	}
}

// verdict of looking at a node's header line.
type verdict int

const (
	nodeOK verdict = iota
	nodeBusy
	nodeMoved
)

// open looks at a node's header line: its version, and its entries, not
// more than fit. Anything unexpected under an even version means that the
// search came by a stale way.
func (t *Tree) open(n node, r ref, moves uint64) (version uint64, count int, v verdict) {
	version = atomic.LoadUint64(&n[0])
	level, count, chunk := unpackMeta(atomic.LoadUint64(&n[laneMeta]))
	stamp := atomic.LoadUint64(&n[laneStamp])
	switch {
	case stamp > moves:
		return version, 0, nodeMoved
	case version&1 != 0:
		return version, 0, nodeBusy
	case chunk != r.chunk || level != int(r.level):
		if atomic.LoadUint64(&n[0]) != version {
			return version, 0, nodeBusy
		}
		return version, 0, nodeMoved
	}
	return version, min(count, t.fan(level)), nodeOK
}

// unchanged reports whether the node still has version v: what was read
// since open belongs together.
func unchanged(n node, v uint64) bool { return atomic.LoadUint64(&n[0]) == v }

// collect makes one pass and appends what it finds. It returns false when
// it met a move; dst then holds rubbish.
func (t *Tree) collect(s *searcher, dst []Item, q Rect, limit int) ([]Item, bool) {
	root, moves := t.readHeader()
	s.stack = append(s.stack[:0], root)
	limit += min(len(dst), math.MaxInt-limit)
	for tries := 0; len(s.stack) > 0; tries++ {
		if tries > maxRetries {
			return dst, false
		}
		top := len(s.stack) - 1
		r := s.stack[top]
		if uint64(r.chunk) >= t.chunks {
			return dst, false
		}
		n := t.at(r.chunk)
		v, count, verdict := t.open(n, r, moves)
		if verdict == nodeMoved {
			return dst, false
		}
		if verdict == nodeBusy {
			s.retries++
			continue
		}
		mark := len(dst)
		if r.level == 0 {
			dst = n.leafHits(dst, count, &q)
		} else {
			s.stack = n.childHits(s.stack, r.level-1, count, &q)
		}
		if !unchanged(n, v) {
			dst, s.stack = dst[:mark], s.stack[:top+1]
			s.retries++
			continue
		}
		s.reads++
		tries = -1
		// The node's own place is taken by the last of its children.
		last := len(s.stack) - 1
		s.stack[top] = s.stack[last]
		s.stack = s.stack[:last]
		if len(dst) >= limit {
			return dst[:limit], true
		}
	}
	return dst, true
}

// count is collect for numbers only.
func (t *Tree) count(s *searcher, q Rect, total *int) bool {
	root, moves := t.readHeader()
	s.stack = append(s.stack[:0], root)
	for tries := 0; len(s.stack) > 0; tries++ {
		if tries > maxRetries {
			return false
		}
		top := len(s.stack) - 1
		r := s.stack[top]
		if uint64(r.chunk) >= t.chunks {
			return false
		}
		n := t.at(r.chunk)
		v, count, verdict := t.open(n, r, moves)
		if verdict == nodeMoved {
			return false
		}
		if verdict == nodeBusy {
			s.retries++
			continue
		}
		hits := 0
		if r.level == 0 {
			hits = n.countHits(count, &q)
		} else {
			s.stack = n.childHits(s.stack, r.level-1, count, &q)
		}
		if !unchanged(n, v) {
			s.stack = s.stack[:top+1]
			s.retries++
			continue
		}
		s.reads++
		tries = -1
		*total += hits
		last := len(s.stack) - 1
		s.stack[top] = s.stack[last]
		s.stack = s.stack[:last]
	}
	return true
}
