package rstar

import "math"

// Nearest neighbours in order of distance: Hjaltason and Samet, "Distance
// browsing in spatial databases", TODS 1999. A heap holds nodes and
// objects by distance; what comes out next is the nearest.
//
// Objects are ordered by exactly the distance that is handed out. A
// node's key must not exceed the distance of anything below it. Its
// computed distance might, by a rounding of math.Hypot (whose result is
// within about 1 ulp but not strictly monotone), so the key is a little
// less: lowerBound.
//
// # While writers run
//
// Within a pass the argument of publish.go holds: no object is met twice.
// When a pass meets a move, a new one replays: it takes everything out of
// its heap up to the last distance handed out and matches it, by id and
// rectangle, with what was handed out. Handed-out objects that are not
// found again were deleted or moved; as many objects of the same id, met
// later, are taken for the moved ones and left out. Objects nearer than
// the last distance that were not handed out have come there meanwhile;
// the order forbids to hand them out.

// cand is an element of the heap: a node (level >= 0, chunk in id) or an
// object (level objectLevel).
type cand struct {
	key   float64
	rect  Rect
	id    uint64
	level int32
}

const objectLevel = -1

// near is an object that was handed out.
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
	live  bool // a pass is under way: the heap is valid

	uncounted uint64 // 1 until the statistics know of this search
	done      []near // handed out, or about to be
	ties      []near // found by a replay at the last distance
	skip      map[uint64]int
}

// Nearest calls yield for the objects in order of their distance from
// (x, y) (see Rect.Distance), nearest first, until yield returns false.
// With a NaN it finds nothing. yield runs without any lock and may change
// the tree.
//
// While writers run, no object is handed out twice, and every object that
// stays where it is during the call is handed out when its turn comes.
// One that is moved during the call is handed out at most once: not, if
// it comes to lie nearer than what was handed out already. Objects are
// told apart by id for that, so of two objects of one id, if one is
// moved or deleted during the call, the other may be left out. Memory: 48
// bytes per object handed out, and the heap, 56 bytes per entry of the
// nodes visited.
func (t *Tree) Nearest(x, y float64, yield func(r Rect, id uint64, dist float64) bool) {
	if math.IsNaN(x) || math.IsNaN(y) {
		return
	}
	b := browse{t: t, s: t.pool.Get().(*searcher), x: x, y: y, uncounted: 1}
	defer t.pool.Put(b.s)
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
	if !b.t.enter(b.s) {
		return false
	}
	goal := len(b.done) + want
	b.t.attempt(b.s, func() bool {
		b.live = b.pass(goal)
		return b.live
	})
	b.t.exit(b.s, b.uncounted)
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
	s := b.s
	if !b.live {
		root, moves := b.t.readHeader()
		b.moves = moves
		s.near.heap = s.near.heap[:0]
		s.push(cand{id: uint64(root.chunk), level: root.level})
		if !b.replay() {
			return false
		}
	}
	for len(b.done) < goal && len(b.ties) > 0 {
		b.done = append(b.done, b.ties[0])
		b.ties = b.ties[1:]
	}
	for len(b.done) < goal && len(s.near.heap) > 0 {
		c := s.pop()
		if c.level != objectLevel {
			if !b.expand(c) {
				return false
			}
			continue
		}
		if b.skip[c.id] > 0 {
			b.skip[c.id]--
			continue
		}
		if c.key >= b.last() {
			b.done = append(b.done, near{Item{c.rect, c.id}, c.key})
		}
	}
	return true
}

// replay empties the heap up to the last distance handed out.
func (b *browse) replay() bool {
	b.ties, b.skip = b.ties[:0], nil
	if len(b.done) == 0 {
		return true
	}
	gone := make(map[Item]int, len(b.done))
	for i := range b.done {
		gone[b.done[i].item]++
	}
	s, last := b.s, b.last()
	var fresh []near
	for len(s.near.heap) > 0 && s.near.heap[0].key <= last {
		c := s.pop()
		it := Item{c.rect, c.id}
		switch {
		case c.level != objectLevel:
			if !b.expand(c) {
				return false
			}
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

// expand pushes the entries of a node. It returns false on a move.
func (b *browse) expand(c cand) bool {
	s, t := b.s, b.t
	r := ref{uint32(c.id), c.level}
	if uint64(r.chunk) >= t.chunks {
		return false
	}
	n := t.nodeAt(r.chunk)
	for range maxRetries {
		v, count, verdict := t.open(n, r, b.moves)
		if verdict == nodeMoved {
			return false
		}
		if verdict == nodeOK {
			t.at(r.chunk).copyTo(s.near.node)
			if unchanged(n, v) {
				s.reads++
				b.pushEntries(c.level, count)
				return true
			}
		}
		s.retries++
	}
	return false
}

// pushEntries pushes the entries of the private copy.
func (b *browse) pushEntries(level int32, count int) {
	n := b.s.near.node
	for i := 0; i < count; i++ {
		r := n.rect(i)
		c := cand{key: r.Distance(b.x, b.y), id: n.ref(i), level: level - 1}
		if level == 0 {
			c.rect = r // level is objectLevel now
		} else {
			c.key = lowerBound(c.key)
		}
		b.s.push(c)
	}
}

// lowerBound returns a key not above the distance of anything inside a
// box of distance d. 2^-50 is four times the rounding of math.Hypot; the
// subtraction does the same among subnormals; an overflow to +Inf may be
// rounding as well.
func lowerBound(d float64) float64 {
	if math.IsInf(d, 1) {
		return math.MaxFloat64
	}
	return max(0, d*(1-0x1p-50)-4*math.SmallestNonzeroFloat64)
}

// push and pop keep s.near.heap a binary heap by key.
func (s *searcher) push(c cand) {
	s.near.heap = append(s.near.heap, c)
	h, i := s.near.heap, len(s.near.heap)-1
	for i > 0 {
		up := (i - 1) / 2
		if h[up].key <= c.key {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = c
}

func (s *searcher) pop() cand {
	h := s.near.heap
	top, last := h[0], len(h)-1
	c := h[last]
	h = h[:last]
	s.near.heap = h
	i := 0
	for {
		down := 2*i + 1
		if down >= last {
			break
		}
		if down+1 < last && h[down+1].key < h[down].key {
			down++
		}
		if c.key <= h[down].key {
			break
		}
		h[i] = h[down]
		i = down
	}
	if last > 0 {
		h[i] = c
	}
	return top
}

type nearScratch struct {
	heap []cand
	node node
}
