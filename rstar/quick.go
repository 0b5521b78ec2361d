package rstar

import "math/bits"

// Quick writes: those that change one leaf and perhaps boxes above it. They are the
// majority, and need no private copies of whole nodes (tx.go): the lines that change
// are assembled in one scratch node, whose other lines are not read, and published from
// there.
//
//	insert  boxes that must grow, from the root down, then the entry
//	delete  the entry, then boxes that may shrink, upwards
//
// So they move nothing (publish.go). A write that does not fit that form
// becomes a transaction.

// boxChange is a new box for one child.
type boxChange struct {
	depth  int
	box    box32
	change bool // the box changes; else only the id bounds
}

// quick is the writer's memory for quick writes.
type quick struct {
	scratch node // only the lines just loaded are valid
	up      [maxHeight]boxChange
}

// load copies the lines of set from n to the scratch.
func (q *quick) load(n node, set uint64) {
	for m := set; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) * lanes
		copy(q.scratch[l:l+lanes], n[l:l+lanes])
	}
}

// insertQuick adds e to the leaf at the end of p, which was just chosen for
// it, if the leaf has room and the boxes above stay within their frames;
// otherwise it changes nothing.
func (x *tx) insertQuick(p *path, e *entry) bool {
	t, q := x.t, &x.quick
	leaf := t.at(p.step[p.n-1].chunk)
	c := leaf.count()
	if c == x.t.fan(0) || !leaf.reaches(e.rect) {
		return false
	}
	n := 0
	for d, r := p.n-1, e.rect; d > 0; d-- {
		parent := t.at(p.step[d-1].chunk)
		f, was := parent.frame(), parent.box(p.step[d].slot)
		b, ok := x.pick.box, x.pick.known && d == p.n-1
		if !ok {
			b, ok = f.encode(r)
		}
		if !ok {
			return false
		}
		grows := !was.covers(b)
		if !grows && parent.covers(e.lo, e.hi) {
			break // so do all above
		}
		b = b.union(was)
		q.up[n] = boxChange{d, b, grows}
		n++
		r = f.decode(b)
	}
	if mutant != enlargeLate {
		x.enlargeQuick(p, e, n)
	}
	set := objectLines(c, t.groups) | 1
	q.load(leaf, set)
	q.scratch.setRect(c, e.rect)
	q.scratch.setRef(c, e.ref)
	q.scratch.setCount(c + 1)
	t.publish(leaf, q.scratch, set, t.nodeLines)
	x.storeIDs(leaf, min(leaf.minID(), e.lo), max(leaf.maxID(), e.hi))
	if mutant == enlargeLate {
		x.enlargeQuick(p, e, n)
	}
	x.commitQuick(x.committed.count + 1)
	return true
}

// enlargeQuick publishes the first n of the boxes that must grow for e, from
// the root down.
func (x *tx) enlargeQuick(p *path, e *entry, n int) {
	for i := n - 1; i >= 0; i-- {
		u := &x.quick.up[i]
		parent := x.t.at(p.step[u.depth-1].chunk)
		if u.change {
			x.publishBox(parent, p.step[u.depth].slot, u.box)
		}
		x.storeIDs(parent, min(parent.minID(), e.lo), max(parent.maxID(), e.hi))
	}
}

// publishBox publishes a new box for child slot of n.
func (x *tx) publishBox(n node, slot int, b box32) {
	q := &x.quick
	set := childLines(slot)
	q.load(n, set)
	q.scratch.setBox(slot, b)
	x.t.publish(n, q.scratch, set, x.t.nodeLines)
}

// storeIDs sets the id bounds of a node in place.
func (x *tx) storeIDs(n node, lo, hi uint64) {
	if n.minID() != lo {
		x.t.storeIgnored(&n[laneMinID], lo)
	}
	if n.maxID() != hi {
		x.t.storeIgnored(&n[laneMaxID], hi)
	}
}

// commitQuick publishes the number of objects.
func (x *tx) commitQuick(count uint64) {
	x.committed.count, x.count = count, count
	x.publishCount()
	x.t.size.Store(int64(count))
}

// deleteQuick removes the object at slot from the leaf at the end of p, if
// the leaf keeps its minimum fill; otherwise it changes nothing.
func (x *tx) deleteQuick(p *path, slot int) bool {
	t, q := x.t, &x.quick
	leaf := t.at(p.step[p.n-1].chunk)
	c := leaf.count()
	if p.n > 1 && c-1 < t.least(0) || mutant == shrinkEarly {
		return false
	}
	gone, id := leaf.rect(slot), leaf.ref(slot)
	last := c - 1
	set := objectLines(slot, t.groups) | objectLines(last, t.groups) | 1
	q.load(leaf, set)
	q.scratch.copyEntry(slot, leaf, last)
	q.scratch.empty(last)
	q.scratch.setCount(last)
	t.publish(leaf, q.scratch, set, t.nodeLines)
	x.commitQuick(x.committed.count - 1)

	shrink := true // the child's MBR may have shrunk: it lost gone's border
	for d := p.n - 1; d >= 0; d-- {
		n := t.at(p.step[d].chunk)
		ids := id == n.minID() || id == n.maxID()
		if ids {
			x.storeIDBounds(n)
		}
		if d == 0 {
			break
		}
		if shrink {
			gone, shrink = x.shrinkQuick(p, d, n, gone)
		}
		if !shrink && !ids {
			break
		}
	}
	return true
}

// shrinkQuick makes the parent's box of n, the node at depth d, exact after n
// lost a part with the borders of gone. It returns the previous box, and
// whether it changed.
func (x *tx) shrinkQuick(p *path, d int, n node, gone Rect) (Rect, bool) {
	parent, slot := x.t.at(p.step[d-1].chunk), p.step[d].slot
	f, was := parent.frame(), parent.box(slot)
	b, _ := f.encode(gone)
	if was.minX < b.minX && was.minY < b.minY && b.maxX < was.maxX && b.maxY < was.maxY {
		return gone, false // it was strictly inside
	}
	now, _ := f.encode(n.mbr())
	if now == was {
		return gone, false
	}
	x.publishBox(parent, slot, now)
	return f.decode(was), true
}

// storeIDBounds makes the id bounds of n exact, in place.
func (x *tx) storeIDBounds(n node) {
	lo, hi := ^uint64(0), uint64(0)
	for i, c := 0, n.count(); i < c; i++ {
		ref := n.ref(i)
		if n.inner() {
			child := x.t.at(uint32(ref))
			lo, hi = min(lo, child.minID()), max(hi, child.maxID())
		} else {
			lo, hi = min(lo, ref), max(hi, ref)
		}
	}
	x.storeIDs(n, lo, hi)
}
