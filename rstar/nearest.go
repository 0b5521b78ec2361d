package rstar

import "math"

// Nearest neighbours in order of distance: Hjaltason and Samet, "Distance browsing in
// spatial databases", TODS 1999. A heap holds nodes and objects by distance; the next
// one that it yields is the nearest.
//
// Objects are ordered by exactly the distance that is yielded. A node's key must not
// exceed the distance of any object below it; it is a little less than its distance
// (frameDistance).
//
// # While writers run
//
// Within a pass the argument of publish.go holds: no object is met twice.
// When a pass meets a move, a new pass replays: it takes everything out of
// its heap up to the last distance yielded and matches it, by id and
// rectangle, with what was yielded. Yielded objects that are not found again
// were deleted or moved; the same number of objects of that id, met later,
// are assumed to be the moved ones and skipped. Objects nearer than the last
// distance that were not yielded have appeared there in the meantime; the
// order forbids yielding them.

// near is an object that was yielded.
type near struct {
	item Item
	dist float64
}

// maxBatch bounds the objects found ahead of yield: enough to spread the
// cost of entering the slab, few enough that stopping early wastes little.
const maxBatch = 64

// browse is one call of Nearest.
type browse struct {
	t     *Tree
	s     *searcher
	x, y  float64
	moves uint64
	live  bool   // a pass has begun: the heap is valid
	done  []near // yielded, or about to be
	ties  []near // found by a replay at the last distance
	skip  map[uint64]int

	uncounted uint64 // 1 until the statistics include this search
}

// nearScratch is the memory of a searcher for Nearest.
type nearScratch struct {
	browse  browse
	some    Browse // of NearestSome
	queue   nearQueue
	objects []Item // that the queue refers to (nearroom.go)
	spare   []Item
	pages   []*page
	inPages int      // bytes of all pages; a step of a Browse must not look at each
	free    []uint64 // places in pages
	past    disc     // nodes in it are left out; Browse's
}

// Nearest calls yield for the objects in order of their distance from (x, y)
// (see Rect.Distance), nearest first, until yield returns false. With a NaN
// it finds nothing. yield runs without any lock and may change the tree.
//
// While writers run, no object is yielded twice, and every object that stays where it
// is during the call is yielded, in order. An object that is moved during the call is
// yielded at most once, and not at all if its new place is nearer than objects already
// yielded. Objects are distinguished by id for this purpose, so of two objects of one
// id, if one is moved or deleted during the call, the other may be omitted. Memory: 48
// bytes per object yielded, 100 per object and 16 per node found ahead, and about 4 KB
// for each node that still has pending entries (page.go).
//
// When a pass meets a move, the next one searches again for all objects yielded. Beyond
// some thousands of objects, under steady writes, that costs more than the rest; Browse
// does not have to.
func (t *Tree) Nearest(x, y float64, yield func(r Rect, id uint64, dist float64) bool) {
	if math.IsNaN(x) || math.IsNaN(y) {
		return
	}
	s := t.pool.Get().(*searcher)
	b := &s.near.browse
	*b = browse{t: t, s: s, x: x, y: y, uncounted: 1, done: b.done[:0], ties: b.ties[:0]}
	s.near.past = disc{}
	defer func() {
		s.near.trim()
		t.pool.Put(s)
	}()
	for want := 1; ; want = min(2*want, maxBatch) {
		first := len(b.done)
		if !b.advance(want) {
			return
		}
		for i := first; i < len(b.done); i++ {
			n := &b.done[i]
			if !yield(n.item.Rect, n.item.ID, n.dist) {
				return
			}
		}
		if len(b.done) == first {
			return
		}
	}
}

// advance appends up to want objects to done. It returns false after
// Close.
func (b *browse) advance(want int) bool {
	t := b.t
	if !t.enter(b.s) {
		return false
	}
	goal := len(b.done) + want
	if b.live = b.pass(goal); !b.live {
		b.s.restarts++
		t.attempt(b.s, func() bool {
			b.live = b.pass(goal)
			return b.live
		})
	}
	t.exit(b.s, b.uncounted)
	b.uncounted = 0
	return true
}

// last is the distance of the last object in done.
func (b *browse) last() float64 {
	if len(b.done) == 0 {
		return 0
	}
	return b.done[len(b.done)-1].dist
}

// pass continues the pass, or begins one, until done has goal objects or
// all were found. It returns false when it met a move; done stays valid.
func (b *browse) pass(goal int) bool {
	s := &b.s.near
	if !b.live {
		root, moves := b.t.readHeader()
		b.moves = moves
		s.begin(root)
		if !b.replay() {
			return false
		}
	}
	for len(b.done) < goal && len(b.ties) > 0 {
		b.done = append(b.done, b.ties[0])
		b.ties = b.ties[1:]
	}
	for len(b.done) < goal && s.queue.ready() {
		c := s.queue.pop()
		if kind := c.ref & kindMask; kind != isObject {
			if !b.follow(c, kind) {
				return false
			}
			continue
		}
		it := &s.objects[c.ref]
		if !b.t.shows(it.Rect) {
			continue
		}
		if b.skip[it.ID] > 0 {
			b.skip[it.ID]--
			continue
		}
		if c.key >= b.last() {
			b.done = append(b.done, near{*it, c.key})
		}
	}
	return true
}

// begin empties the queue for a new pass.
func (s *nearScratch) begin(root ref) {
	s.queue.reset()
	s.objects, s.free = s.objects[:0], s.free[:0]
	for i := range s.pages {
		s.free = append(s.free, uint64(i))
	}
	s.queue.push(nodeCand(0, root))
}

// replay empties the heap up to the last distance yielded.
func (b *browse) replay() bool {
	b.ties, b.skip = b.ties[:0], nil
	if len(b.done) == 0 {
		return true
	}
	gone := make(map[Item]int, len(b.done))
	for i := range b.done {
		gone[b.done[i].item]++
	}
	s, last := &b.s.near, b.last()
	var fresh []near
	for s.queue.ready() && s.queue.least() <= last {
		c := s.queue.pop()
		if kind := c.ref & kindMask; kind != isObject {
			if !b.follow(c, kind) {
				return false
			}
			continue
		}
		it := s.objects[c.ref]
		switch {
		case !b.t.shows(it.Rect):
		case gone[it] > 1:
			gone[it]--
		case gone[it] == 1:
			delete(gone, it)
		default:
			fresh = append(fresh, near{it, c.key})
		}
	}
	b.skip = make(map[uint64]int, len(gone))
	for it, n := range gone {
		b.skip[it.ID] += n
	}
	for _, f := range fresh {
		switch {
		case b.skip[f.item.ID] > 0:
			b.skip[f.item.ID]--
		case f.dist == last:
			b.ties = append(b.ties, f)
		}
	}
	return true
}

// follow handles nodes and pages. It returns false on a move.
func (b *browse) follow(c cand, kind uint64) bool {
	if kind == isPage {
		b.takeFrom(c.ref &^ kindMask)
		return true
	}
	return b.expand(c.node())
}

// expand copies a node and pushes its entries within the horizon. It returns
// false on a move.
func (b *browse) expand(r ref) bool {
	s, t := b.s, b.t
	if uint64(r.chunk) >= t.chunks {
		return false
	}
	i := s.near.newPage(t)
	p := s.near.pages[i]
	n := t.nodeAt(r.chunk)
	for range maxRetries {
		v, count, verdict := t.open(n, r, b.moves)
		if verdict == nodeMoved {
			return false
		}
		if verdict == nodeOK {
			p.copyFrom(n, r.level, count)
			if unchanged(n, v) {
				s.reads++
				if count == 0 {
					return true // an empty tree's root
				}
				p.measure(b.x, b.y)
				if r.level <= 1 && s.near.queue.near == 0 {
					s.near.queue.widen(p.horizon())
				}
				b.takeFrom(i)
				return true
			}
		}
		s.retries++
	}
	return false
}

// takeFrom pushes a page's entries within the horizon and, if any are left,
// the page itself with the key of the nearest.
func (b *browse) takeFrom(i uint64) {
	s := &b.s.near
	p := s.pages[i]
	if rest, any := p.take(b.t, s); any {
		s.queue.push(cand{rest, isPage | i})
	} else {
		s.free = append(s.free, i)
	}
}
