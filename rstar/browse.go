package rstar

import (
	"fmt"
	"math"
	"unsafe"
)

// The nearest objects in steps
//
// A Browse is to Nearest what a Scan is to Search. Its queue is that of
// nearest.go, and what publish.go says of passes holds here, too.
//
// # After a move
//
// Nearest searches again for all that it has yielded, in order to find out which
// objects were moved meanwhile. For many objects that takes longer than the time until
// the next move. So a Browse remembers only how far it has come:
//
//	    . - - - .
//	  /   .---.   \       distance d of the last object
//	 |   /     \   |      boxes that lie wholly nearer than d are left out,
//	 |  |   x   |  |      others are read again; objects nearer than d
//	 |   \  d  /   |      are dropped, those at d matched with the ones
//	  \   '---'   /       yielded at d, and those beyond yielded
//	    ' - - - '
//
// A new pass so reads the nodes that the circle of radius d crosses, and those above
// them: after k objects some 4*sqrt(k/30) nodes instead of k/30, 200 for k = 65,536.
// Claim: an object that is in the tree all the time, at one place, is yielded exactly
// once. Each pass meets all such objects in the order of their distances. One nearer
// than d was yielded before the pass that came to d continued. One farther was not
// yielded yet, and is not in a box that is left out. For one at d both may be, and it
// is matched.
//
// The price: a Browse does not recognise an object that Update has moved.

// Neighbor is an object found by Browse, with its distance (Rect.Distance).
type Neighbor struct {
	Item
	Dist float64
}

// Browse finds the objects in the order of their distance from a point,
// nearest first, in steps. It belongs to one goroutine at a time.
//
// While writers run, an object that stays where it is during that time is returned
// exactly once, in order. One that Update moves meanwhile may be returned at both
// places, or not at all; Nearest recognises it, at the price that its time grows with
// the square of the number of objects.
//
// Memory: about 4 KB for each node that has pending entries, and 100 bytes for
// each object that was found ahead: 1 MB for 65,536 objects.
type Browse struct {
	b      browse // state of expand and takeFrom
	done   bool
	live   bool // a pass has begun: the queue is valid
	passes int  // that met a move since an object was found
	again  int  // passes that began when objects had been returned
	err    error

	last float64      // distance of the last object
	ties []Item       // returned at this distance
	seen map[Item]int // those of them that the pass has not met
}

// Browse begins to search for the objects nearest to (x, y); with a NaN it finds none.
func (t *Tree) Browse(x, y float64) *Browse {
	s := t.pool.Get().(*searcher)
	return &Browse{b: browse{t: t, s: s, x: x, y: y, uncounted: 1}, done: math.IsNaN(x) || math.IsNaN(y)}
}

// Next appends up to want objects to dst, the next nearest ones, but continues only for
// about as long as Scan.Step needs for this number of nodes: each object that is taken
// counts as one, and each node as eight. If it returns fewer than want, call it again,
// until done says that there are none left, or Err why. Nothing is locked between the
// calls.
//
// After a move it may return early. When four passes have met moves before
// they found an object, it takes the writer's lock until it has found one;
// after four more it waits for the lock, for the time of one write.
func (b *Browse) Next(dst []Neighbor, want, nodes int) (_ []Neighbor, done bool) {
	if b.done {
		return dst, true
	}
	t, s := b.b.t, b.b.s
	if !t.enter(s) {
		b.fail(fmt.Errorf("%w: a nearest search in steps was not finished", ErrClosed))
		return dst, true
	}
	dst = b.next(dst, want, max(nodes, 1))
	t.exit(s, b.b.uncounted)
	b.b.uncounted = 0
	return dst, b.done
}

// workOfNode is the number of objects that are taken from the queue in the time that it
// takes to copy a node and to compute its distances: 0.8 us of 0.1 us each, which is
// the time of a Scan for a node.
const workOfNode = 8

// Err is nil, or wraps ErrClosed or ErrCheck; see Scan.Err.
func (b *Browse) Err() error { return b.err }

// Parts is the number of passes that have found the objects so far. If it is 1, one
// that Update has moved meanwhile was returned once, too, if it is near enough.
func (b *Browse) Parts() int { return b.again + 1 }

// Held is the number of bytes of memory that the Browse takes at present.
func (b *Browse) Held() int {
	if b.b.s == nil {
		return 0
	}
	return b.b.s.near.bytes() + int(unsafe.Sizeof(*b)) + cap(b.ties)*int(unsafe.Sizeof(Item{}))
}

// Close gives the memory back, at any time. A Browse that is not closed is
// ordinary garbage.
func (b *Browse) Close() {
	s := b.b.s
	if s == nil {
		return
	}
	s.near.trim()
	b.done, b.ties, b.seen, b.b.s = true, nil, nil, nil
	b.b.t.pool.Put(s)
}

func (b *Browse) fail(err error) { b.done, b.live, b.err = true, false, err }

// next continues until it has spent work, or found want objects.
func (b *Browse) next(dst []Neighbor, want, work int) []Neighbor {
	goal := len(dst) + min(want, math.MaxInt-len(dst))
	if !b.live && b.passes >= passesOfCell && b.lock() {
		defer b.b.t.mu.Unlock()
		b.begin()
		if dst, _ = b.walk(dst, goal, work, true); !b.live && !b.done {
			b.fail(fmt.Errorf("%w: a nearest search under the writer's lock met a move", ErrCheck))
		}
		return dst
	}
	if !b.live {
		b.begin()
	}
	first := len(dst)
	dst, ok := b.walk(dst, goal, work, false)
	if len(dst) > first {
		b.passes = 0
	}
	if !ok {
		b.passes++
		b.b.s.restarts++
	}
	return dst
}

func (b *Browse) lock() bool {
	if b.passes < passesOfCell+lockTries {
		return b.b.t.mu.TryLock()
	}
	b.b.t.mu.Lock()
	return true
}

// begin begins a pass.
func (b *Browse) begin() {
	root, moves := b.b.t.readHeader()
	s := &b.b.s.near
	b.b.moves, b.live, b.seen = moves, true, nil
	s.begin(root)
	s.past = disc{b.b.x, b.b.y, b.last}
	s.queue.near = b.last
	if len(b.ties) > 0 {
		b.again++
		b.seen = make(map[Item]int, len(b.ties))
		for _, it := range b.ties {
			b.seen[it]++
		}
	}
}

// walk continues until dst has goal objects or work is spent; if it must find one, not
// before that. It returns false when it met a move.
func (b *Browse) walk(dst []Neighbor, goal, work int, must bool) ([]Neighbor, bool) {
	s, first := &b.b.s.near, len(dst)
	for len(dst) < goal && (work > 0 || must && len(dst) == first) {
		if !s.queue.ready() {
			b.done, b.live = true, false
			return dst, true
		}
		c := s.queue.pop()
		work--
		if kind := c.ref & kindMask; kind != isObject {
			work -= workOfNode - 1
			if !b.b.follow(c, kind) {
				b.live = false
				return dst, false
			}
			continue
		}
		if it := s.objects[c.ref]; b.b.t.shows(it.Rect) && b.isNew(&it, c.key) {
			dst = append(dst, Neighbor{it, c.key})
		}
	}
	if must {
		b.passes = 0
	}
	return dst, true
}

// isNew reports whether an object at distance d was not returned yet, and
// notes that it is.
func (b *Browse) isNew(it *Item, d float64) bool {
	switch {
	case d < b.last:
		return false
	case d > b.last:
		b.last, b.ties, b.seen = d, b.ties[:0], nil
	case b.seen[*it] > 0:
		b.seen[*it]--
		return false
	}
	b.ties = append(b.ties, *it)
	return true
}

// disc is the points nearer than d to (x, y).
type disc struct{ x, y, d float64 }

// holds reports whether every rectangle in r is nearer than d by Rect.Distance, whose
// roundings are less than the margin added here.
func (p *disc) holds(r Rect) bool {
	dx := max(math.Abs(r.MinX-p.x), math.Abs(r.MaxX-p.x))
	dy := max(math.Abs(r.MinY-p.y), math.Abs(r.MaxY-p.y))
	return math.Hypot(dx, dy)*(1+0x1p-40) < p.d
}
