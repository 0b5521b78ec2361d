package rstar

import (
	"math"
	"runtime"
)

// Searches that are short, as nearly all are, without the cost of a Scan; the
// others end as one.

// SearchSome is SearchAppend for an answer that takes about so many nodes at
// most (see Scan.Step). If it takes more it returns dst as it was, and a
// Scan that goes on from there. It never waits for a writer: if moves prevent
// it from making the search in one pass it returns a Scan, too.
func (t *Tree) SearchSome(dst []Item, q Rect, limit, nodes int) (items []Item, rest *Scan) {
	if limit <= 0 {
		limit = math.MaxInt
	}
	s := t.pool.Get().(*searcher)
	if !t.enter(s) {
		t.pool.Put(s)
		return dst, nil
	}
	base, most := len(dst), uint64(max(nodes, 1))
	end := limit + min(base, math.MaxInt-limit)
	for try := 0; ; try++ {
		moves := t.begin(s)
		found, ok := t.walk(s, dst, &q, moves, end, most)
		if ok && (len(s.stack) == 0 || len(found) >= end) {
			t.exit(s, 1)
			t.pool.Put(s)
			return found[:min(len(found), end)], nil
		}
		if ok || try == maxRestarts {
			rest = t.newScan(s, &q, limit, false)
			if ok {
				rest.live, rest.moves, rest.visited = true, moves, s.reads
				rest.found.add(t, found[base:])
			}
			t.exit(s, 1)
			rest.uncounted = 0
			return dst, rest
		}
		s.restarts++
		runtime.Gosched()
	}
}

// CountSome is Count for an answer that takes about so many nodes at most. If
// it takes more it returns 0 and a Scan that goes on from there; see
// SearchSome.
func (t *Tree) CountSome(q Rect, nodes int) (n int, rest *Scan) {
	s := t.pool.Get().(*searcher)
	if !t.enter(s) {
		t.pool.Put(s)
		return 0, nil
	}
	most := uint64(max(nodes, 1))
	for try := 0; ; try++ {
		moves := t.begin(s)
		n, ok := t.walkCount(s, &q, moves, most)
		if ok && len(s.stack) == 0 {
			t.exit(s, 1)
			t.pool.Put(s)
			return n, nil
		}
		if ok || try == maxRestarts {
			rest = t.newScan(s, &q, 0, true)
			if ok {
				rest.live, rest.moves, rest.visited = true, moves, s.reads
				rest.found.total = n
			}
			t.exit(s, 1)
			rest.uncounted = 0
			return 0, rest
		}
		s.restarts++
		runtime.Gosched()
	}
}
