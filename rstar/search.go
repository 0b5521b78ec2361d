package rstar

import (
	"math"
	"runtime"
)

// Search calls yield for each object that intersects q, borders included, in
// no particular order, until yield returns false. q may be infinite; a NaN
// finds nothing. All results are collected first (40 bytes each, in a pooled
// buffer), so yield runs without any lock and may change the tree.
//
// A search that meets a move begins again, the ninth time under the writer's
// lock. Long ones among many writes should be a Scan.
func (t *Tree) Search(q Rect, yield func(r Rect, id uint64) bool) {
	s := t.pool.Get().(*searcher)
	items := t.search(s, s.items[:0], &q, math.MaxInt)
	s.items = nil // yield may panic, or search
	for i := range items {
		if !yield(items[i].Rect, items[i].ID) {
			break
		}
	}
	s.items = items
	t.pool.Put(s)
}

// SearchAppend appends to dst the objects that intersect q, at most limit
// of them if limit is positive, and returns the result. It allocates only
// when dst must grow. What dst holds beyond the result's length, within its
// capacity, may be overwritten.
func (t *Tree) SearchAppend(dst []Item, q Rect, limit int) []Item {
	if limit <= 0 {
		limit = math.MaxInt
	}
	s := t.pool.Get().(*searcher)
	dst = t.search(s, dst, &q, limit)
	t.pool.Put(s)
	return dst
}

// Count returns the number of objects that intersect q. It allocates
// nothing.
func (t *Tree) Count(q Rect) int {
	s := t.pool.Get().(*searcher)
	defer t.pool.Put(s)
	if !t.enter(s) {
		return 0
	}
	n, ok := t.walkCount(s, &q, t.begin(s), unbounded)
	if !ok {
		t.attempt(s, func() bool {
			n, ok = t.count(s, &q)
			return ok
		})
	}
	t.exit(s, 1)
	return n
}

// search appends the answer to dst; it finds nothing after Close.
func (t *Tree) search(s *searcher, dst []Item, q *Rect, limit int) []Item {
	if !t.enter(s) {
		return dst
	}
	base := len(dst)
	// As collect does; a call less.
	end := limit + min(base, math.MaxInt-limit)
	dst, ok := t.walk(s, dst, q, t.begin(s), end, unbounded)
	dst = dst[:min(len(dst), end)]
	if !ok {
		// A separate function: variables that a closure captures move to the
		// heap.
		dst = t.searchAgain(s, dst[:base], *q, limit)
	}
	t.exit(s, 1)
	return dst
}

// searchAgain continues after a first pass that met a move.
func (t *Tree) searchAgain(s *searcher, dst []Item, q Rect, limit int) []Item {
	s.restarts++
	runtime.Gosched()
	base, ok := len(dst), false
	t.attempt(s, func() bool {
		dst, ok = t.collect(s, dst[:base], &q, limit)
		return ok
	})
	return dst
}

// lookahead is the number of nodes by which a node is prefetched in advance: one is too
// late, because a scan takes a quarter of the latency of memory; with more, the first
// ones leave the small cache again.
const lookahead = 4

// unbounded is no limit of nodes to visit.
const unbounded = math.MaxUint64

// collect makes one pass and appends what it finds, at most limit. It returns
// false when it met a move; dst then holds arbitrary objects.
func (t *Tree) collect(s *searcher, dst []Item, q *Rect, limit int) ([]Item, bool) {
	limit += min(len(dst), math.MaxInt-limit)
	moves := t.begin(s)
	dst, ok := t.walk(s, dst, q, moves, limit, unbounded)
	return dst[:min(len(dst), limit)], ok
}

// count is collect, but only counts.
func (t *Tree) count(s *searcher, q *Rect) (total int, ok bool) {
	return t.walkCount(s, q, t.begin(s), unbounded)
}

// begin begins a pass of s: the root is to be visited. It returns the move
// counter, which the pass needs.
func (t *Tree) begin(s *searcher) (moves uint64) {
	root, moves := t.readHeader()
	s.stack = append(s.stack[:0], root)
	return moves
}

// walk continues a pass: it visits the nodes on s.stack and those below, and appends
// the objects found, until no nodes are left, dst has limit objects or more, or s has
// read most nodes since enter. Then the nodes left are on the stack. It returns false
// when it met a move; dst then holds arbitrary objects.
func (t *Tree) walk(s *searcher, dst []Item, q *Rect, moves uint64, limit int, most uint64) ([]Item, bool) {
	stack := s.stack
	var m masks
	ok := true
	for tries := 0; len(stack) > 0 && s.reads < most; tries++ {
		top := len(stack) - 1
		r := stack[top]
		if uint64(r.chunk) >= t.chunks || tries > maxRetries {
			ok = false
			break
		}
		n := t.nodeAt(r.chunk)
		v, count, fine := peek(n, r, moves)
		if !fine {
			if _, _, verdict := t.open(n, r, moves); verdict == nodeMoved {
				ok = false
				break
			}
			s.retries++
			continue
		}
		count = min(count, t.fan(int(r.level)))
		mark := len(dst)
		if r.level == 0 {
			if top >= lookahead {
				t.prefetch(stack[top-lookahead].chunk, t.nodeLines)
			}
			m.scanLeaf(n, count, q)
			dst = m.appendItems(dst, n, t.groups, q)
			if s.boxes != nil {
				dst = onlyAny(dst, mark, s.boxes)
			}
			dst = t.shownOf(dst, mark)
			stack = stack[:top]
		} else {
			m.scanInner(n, count, q)
			if s.boxes != nil {
				m.onlyAny(n, count, s.boxes)
			}
			stack = m.appendRefs(stack[:top], n, r.level-1)
			for i := max(top, len(stack)-1-lookahead); i < len(stack)-1; i++ {
				t.prefetch(stack[i].chunk, t.nodeLines)
			}
		}
		if !unchanged(n, v) {
			dst, stack = dst[:mark], append(stack[:top], r)
			s.retries++
			continue
		}
		s.reads++
		tries = -1
		if len(dst) >= limit {
			break
		}
	}
	s.stack = stack
	return dst, ok
}

// countedAtOnce is the number of objects that a count collects before it drops them: 10
// KB, which stay in the small cache.
const countedAtOnce = 256

// walkCount is walk, but only counts.
func (t *Tree) walkCount(s *searcher, q *Rect, moves, most uint64) (total int, ok bool) {
	for ok = true; ok && len(s.stack) > 0 && s.reads < most; {
		s.items, ok = t.walk(s, s.items[:0], q, moves, countedAtOnce, most)
		total += len(s.items)
	}
	return total, ok
}
