package rstar

import (
	"math"
	"math/bits"
)

// Many searches at once. A single search waits for memory at each level, because its
// next read depends on the present one. Searches of a batch are independent: all go
// down one level together, and while one node is scanned the next ones are on their way
// from memory.
//
//	level 2   q0:[c5]      q1:[c5 c6]         q2:[c6] ...
//	level 1   q0:[c17]     q1:[c18 c40 c41]   q2:[c41 c44] ...
//	leaves    ...
//
// Each search keeps the promises of a single one. A search that meets a move
// is taken out of the batch and made alone afterwards; so is one for which
// there is no room: a batch that returned whole trees takes as much memory as
// one search.

const (
	// batchQueries bounds the working set of a batch, so that it stays in the
	// caches.
	batchQueries = 256
	// batchAhead is the number of nodes that are prefetched while one is scanned: with
	// six, memory latency is covered by the scans of the others.
	batchAhead = 6
	// batchItems bounds the results that a batch holds, in objects, and
	// batchTasks the nodes that it is about to visit: 256 searches with 128
	// results each, which take 0.3 ms, and 1.8 MB. Searches with more gain
	// nothing from batching: for them one wait for memory serves many
	// objects.
	batchItems = 1 << 15
	batchTasks = 1 << 15
)

// task is a node that a search of the batch visits.
type task struct {
	chunk uint32
	query uint32
}

// batch is a searcher's working memory for SearchMany.
type batch struct {
	tasks, next []task
	items       []Item
	of          []uint32 // the query that each item belongs to
	failed      []bool   // searches that met a move, or found no room
	alone       int      // the number of them
	own         []Item   // the objects that one of these has found
}

// SearchMany calls yield for each object that intersects one of the queries,
// with the query's index, in the order of the queries and in no particular
// order within one, until yield returns false. It is meant for many small
// searches, and is faster for them than one by one. Each is complete, sound
// and current as Search is; together they are not a snapshot. yield runs
// without any lock and may change the tree. Memory: 2 MB, or 40 bytes per
// result of the largest one.
func (t *Tree) SearchMany(qs []Rect, yield func(query int, r Rect, id uint64) bool) {
	s := t.pool.Get().(*searcher)
	defer t.pool.Put(s)
	for first := 0; first < len(qs); first += batchQueries {
		part := qs[first:min(first+batchQueries, len(qs))]
		if !t.enter(s) {
			return
		}
		t.together(s, part, math.MaxInt)
		t.exit(s, uint64(len(part)-s.batch.alone))
		if n, _ := s.batch.hand(t, part, first, nil, yield); n < len(part) {
			return
		}
	}
}

// SearchManySome is SearchMany for the first queries, as many as about the given number
// of nodes allows (see Scan.Step). It returns the number of them that are answered: all
// before the one at which yield returned false, if it did. If not all are answered,
// call it again with the others. If rest is not nil, it is a Scan of the next one, for
// which the nodes did not suffice, or which moves prevented; nothing of it was yielded.
// Nodes that are read again after a move count, too.
func (t *Tree) SearchManySome(qs []Rect, nodes int, yield func(query int, r Rect, id uint64) bool) (answered int, rest *Scan) {
	s := t.pool.Get().(*searcher)
	defer t.pool.Put(s)
	nodes = max(nodes, 1)
	for left := nodes; answered < len(qs) && left > 0; {
		part := qs[answered:min(answered+batchQueries, len(qs))]
		if !t.enter(s) {
			return len(qs), nil
		}
		in := t.together(s, part, left)
		left -= int(s.reads)
		t.exit(s, uint64(in-s.batch.alone))
		if in == 0 && answered == 0 {
			return 0, t.Scan(qs[0], 0)
		}
		n, rest := s.batch.hand(t, part[:in], answered, &left, yield)
		answered += n
		if n < len(part) {
			return answered, rest
		}
	}
	return answered, nil
}

// together makes one pass for the first queries, as many as the nodes allow, and
// returns their number.
func (t *Tree) together(s *searcher, qs []Rect, nodes int) (in int) {
	b := &s.batch
	root, moves := t.readHeader()
	b.tasks, b.items, b.of, b.failed = b.tasks[:0], b.items[:0], b.of[:0], b.failed[:0]
	b.alone = 0
	for i := range qs {
		b.tasks = append(b.tasks, task{root.chunk, uint32(i)})
		b.failed = append(b.failed, false)
	}
	in = len(qs)
	for level := root.level; level >= 0 && len(b.tasks) > 0; level-- {
		if len(b.tasks) > nodes {
			in = b.leaveOut(nodes)
		}
		nodes -= len(b.tasks)
		b.next = b.next[:0]
		for i, k := range b.tasks {
			if i+batchAhead < len(b.tasks) {
				t.prefetch(b.tasks[i+batchAhead].chunk, t.firstLines(level))
			}
			if b.failed[k.query] {
				continue
			}
			if len(b.items) >= batchItems || len(b.next) >= batchTasks ||
				!t.visit(s, k, level, moves, &qs[k.query]) {
				b.failed[k.query] = true
				b.alone++
			}
		}
		b.tasks, b.next = b.next, b.tasks
	}
	return in
}

// leaveOut leaves the last queries out, so that at most the given number of tasks
// remains. It returns the number of queries left.
func (b *batch) leaveOut(tasks int) (in int) {
	in = int(b.tasks[tasks].query)
	for tasks > 0 && b.tasks[tasks-1].query == uint32(in) {
		tasks--
	}
	b.tasks = b.tasks[:tasks]
	for _, failed := range b.failed[in:] {
		if failed {
			b.alone--
		}
	}
	b.failed = b.failed[:in]
	return in
}

// visit scans one node for one query. It returns false on a move.
func (t *Tree) visit(s *searcher, k task, level int32, moves uint64, q *Rect) bool {
	if uint64(k.chunk) >= t.chunks {
		return false
	}
	b := &s.batch
	n, r := t.nodeAt(k.chunk), ref{k.chunk, level}
	var m masks
	for range maxRetries {
		v, count, verdict := t.open(n, r, moves)
		if verdict == nodeMoved {
			return false
		}
		if verdict == nodeOK {
			items, next := len(b.items), len(b.next)
			if level == 0 {
				m.scanLeaf(n, count, q)
				b.items = t.shownOf(m.appendItems(b.items, n, t.groups, q), items)
			} else {
				m.scanInner(n, count, q)
				b.next = m.appendTasks(b.next, n, k.query)
			}
			if unchanged(n, v) {
				for range len(b.items) - items {
					b.of = append(b.of, k.query)
				}
				s.reads++
				return true
			}
			b.items, b.next = b.items[:items], b.next[:next]
		}
		s.retries++
	}
	return false
}

// appendTasks appends the children of the internal node at n that are in m.
func (m *masks) appendTasks(dst []task, n *uint64, query uint32) []task {
	for i, b := range m {
		for ; b != 0; b &= b - 1 {
			bit := i*64 + bits.TrailingZeros64(b)
			dst = append(dst, task{groupAt(n, bit/16).half(bit%16 + fieldRef), query})
		}
	}
	return dst
}

// hand passes the results to yield, and makes those searches alone that failed, with
// the nodes that are left for all of them, nil: with any number. It returns the number
// of queries answered: all, unless yield returned false, no nodes are left, or rest
// continues the next one. The first of all always is answered or becomes rest.
func (b *batch) hand(t *Tree, qs []Rect, first int, left *int, yield func(query int, r Rect, id uint64) bool) (n int, rest *Scan) {
	at := 0
	for i := range qs {
		from := at
		for at < len(b.of) && b.of[at] == uint32(i) {
			at++
		}
		found := b.items[from:at]
		switch {
		case b.failed[i] && left != nil:
			if *left <= 0 && first+i > 0 {
				return i, nil
			}
			var reads uint64
			b.own, reads, rest = t.searchSome(b.own[:0], qs[i], nil, 0, *left)
			*left -= int(reads)
			if rest != nil {
				return i, rest
			}
			found = b.own
		case b.failed[i]:
			more := true
			t.Search(qs[i], func(r Rect, id uint64) bool {
				more = yield(first+i, r, id)
				return more
			})
			if !more {
				return i, nil
			}
			continue
		}
		for j := range found {
			if !yield(first+i, found[j].Rect, found[j].ID) {
				return i, nil
			}
		}
	}
	return len(qs), nil
}
