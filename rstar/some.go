package rstar

import (
	"math"
	"runtime"
)

// Searches that are short, as nearly all are, without the cost of a Scan; a longer one
// ends as a Scan.

// SearchSome is SearchAppend for an answer that takes at most about the given number of
// nodes (see Scan.Step). If it takes more it returns dst as it was, and a Scan that
// continues from there. It never waits for a writer: if moves prevent it from making
// the search in one pass it returns a Scan, too.
func (t *Tree) SearchSome(dst []Item, q Rect, limit, nodes int) (items []Item, rest *Scan) {
	items, _, rest = t.searchSome(dst, q, nil, limit, nodes)
	return items, rest
}

// searchSome is SearchSome, and returns the number of nodes that it has read, too. If
// boxes is not nil q is the rectangle around those (SearchAny).
func (t *Tree) searchSome(dst []Item, q Rect, boxes []Rect, limit, nodes int) (items []Item, reads uint64, rest *Scan) {
	if limit <= 0 {
		limit = math.MaxInt
	}
	s := t.pool.Get().(*searcher)
	if !t.enter(s) {
		t.pool.Put(s)
		return dst, 0, nil
	}
	s.boxes = boxes
	base, most := len(dst), uint64(max(nodes, 1))
	end := limit + min(base, math.MaxInt-limit)
	for try := 0; ; try++ {
		moves := t.begin(s)
		found, ok := t.walk(s, dst, &q, moves, end, most)
		if ok && (len(s.stack) == 0 || len(found) >= end) {
			reads = s.reads
			t.exit(s, 1)
			s.boxes = nil
			t.pool.Put(s)
			return found[:min(len(found), end)], reads, nil
		}
		if ok || try == maxRestarts {
			rest = t.newScan(s, &q, limit, false)
			if ok {
				rest.live, rest.moves, rest.visited = true, moves, s.reads
				rest.found.add(t, found[base:])
			}
			reads = s.reads
			t.exit(s, 1)
			rest.uncounted = 0
			return dst, reads, rest
		}
		s.restarts++
		runtime.Gosched()
	}
}

// CountSome is Count for an answer that takes at most about the given number of nodes.
// If it takes more it returns 0 and a Scan that continues from there; see SearchSome.
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

// NearestSome appends to dst the k objects nearest to (x, y), nearest first, if that
// takes at most about the given number of nodes (see Browse.Next). If it takes more, or
// moves prevent it from making the search in one pass, it appends those that were
// found, maybe none, and returns a Browse that continues after them. With a NaN it
// finds nothing.
func (t *Tree) NearestSome(dst []Neighbor, x, y float64, k, nodes int) (near []Neighbor, rest *Browse) {
	s := t.pool.Get().(*searcher)
	b := &s.near.some
	*b = Browse{b: browse{t: t, s: s, x: x, y: y, uncounted: 1}, ties: b.ties[:0]}
	if math.IsNaN(x) || math.IsNaN(y) || k <= 0 || !t.enter(s) {
		t.pool.Put(s)
		return dst, nil
	}
	goal := len(dst) + min(k, math.MaxInt-len(dst))
	for try := 0; ; try++ {
		b.begin()
		found, ok := b.walk(dst, goal, max(nodes, 1), false)
		if ok && (b.done || len(found) == goal) {
			t.exit(s, 1)
			s.near.trim()
			t.pool.Put(s)
			return found, nil
		}
		if !ok { // The objects found are not the answer of one pass.
			found, b.last, b.ties, b.live = dst, 0, b.ties[:0], false
		}
		if ok || try == maxRestarts {
			rest = new(Browse)
			*rest, b.ties = *b, nil
			t.exit(s, 0)
			return found, rest
		}
		s.restarts++
		runtime.Gosched()
	}
}
