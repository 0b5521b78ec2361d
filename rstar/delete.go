package rstar

import (
	"math/bits"
)

// Delete removes one object with this rectangle and id and reports whether
// there was one. The error wraps ErrBadRect, ErrClosed or, in a slab with no
// reserve left, ErrSlabFull; then nothing was changed.
func (t *Tree) Delete(r Rect, id uint64) (bool, error) {
	if err := r.Validate(); err != nil {
		return false, err
	}
	if err := t.lock(); err != nil {
		return false, err
	}
	return t.deleteLocked(r, id)
}

// TryDelete is Delete, but does not wait for a Load or a Check: then it returns
// ErrLocked.
func (t *Tree) TryDelete(r Rect, id uint64) (bool, error) {
	if err := r.Validate(); err != nil {
		return false, err
	}
	if err := t.tryLock(); err != nil {
		return false, err
	}
	return t.deleteLocked(r, id)
}

// deleteLocked unlocks the tree.
func (t *Tree) deleteLocked(r Rect, id uint64) (bool, error) {
	defer t.mu.Unlock()
	x := &t.tx
	x.begin()
	slot, ok := x.find(r, id)
	if !ok {
		return false, nil
	}
	if x.deleteQuick(&x.path, slot) {
		return true, nil
	}
	x.spare = true
	if err := x.remove(&x.path, slot); err != nil {
		x.begin()
		return false, err
	}
	x.collapse()
	x.count--
	x.commit(true)
	return true, nil
}

// find sets x.path to a leaf with the object and returns its slot
// (FindLeaf of Guttman, SIGMOD 1984, which the paper keeps). It skips
// subtrees whose id bounds exclude the id.
func (x *tx) find(r Rect, id uint64) (slot int, ok bool) {
	x.path.n = 0
	x.path.push(x.root, -1)
	return x.findBelow(x.node(x.root), r, id)
}

func (x *tx) findBelow(n node, r Rect, id uint64) (slot int, ok bool) {
	x.looks++
	var m masks
	if !n.inner() {
		// Entries that cover r: an equal rectangle does, and hardly any
		// other.
		m.scanLeaf(&n[0], n.count(), &Rect{r.MaxX, r.MaxY, r.MinX, r.MinY})
		for i, b := range m[:2] {
			for ; b != 0; b &= b - 1 {
				bit := i*64 + bits.TrailingZeros64(b)
				slot = bit/lanes*leafGroup + bit%lanes - 1
				if n.ref(slot) == id && n.rect(slot) == r {
					return slot, true
				}
			}
		}
		return 0, false
	}
	in := inside(r)
	m.scanInner(&n[0], n.count(), &in)
	for i, b := range m {
		for ; b != 0; b &= b - 1 {
			bit := i*64 + bits.TrailingZeros64(b)
			slot := bit/(2*lanes)*innerGroup + bit%(2*lanes) - 2
			child := uint32(n.ref(slot))
			if n.level() == 1 {
				x.t.prefetch(child, x.t.nodeLines)
			}
			cn := x.node(child)
			if !cn.covers(id, id) {
				continue
			}
			x.path.push(child, slot)
			if at, ok := x.findBelow(cn, r, id); ok {
				return at, true
			}
			x.path.n--
		}
	}
	return 0, false
}

// remove takes the entry at slot out of the leaf at the end of p and
// condenses the tree. Nodes that fall below the minimum fill are merged with
// a sibling, or dissolved and their entries inserted again at their level,
// highest level first (CondenseTree of Guttman, section 3.3; the original
// strategy always dissolves them). Boxes above are made tight.
func (x *tx) remove(p *path, slot int) error {
	leaf := x.edit(p.step[p.n-1].chunk)
	id := leaf.ref(slot)
	leaf.remove(slot)
	for d := p.n - 1; d >= 0; d-- {
		n := x.node(p.step[d].chunk)
		if id == n.minID() || id == n.maxID() {
			n = x.edit(p.step[d].chunk)
			x.tightenIDs(n)
		}
		if d == 0 {
			break
		}
		slot := p.step[d].slot
		if n.count() < x.t.least(n.level()) {
			if x.t.opts.Strategy == Revised && x.merge(p, d) {
				continue
			}
			for i := 0; i < n.count(); i++ {
				x.orphans = append(x.orphans, x.entryAt(n, i))
				x.levels = append(x.levels, n.level())
			}
			x.release(p.step[d].chunk)
			x.edit(p.step[d-1].chunk).remove(slot)
		} else {
			x.fit(p, d)
		}
	}
	for len(x.orphans) > 0 {
		last := len(x.orphans) - 1
		e, level := x.orphans[last], x.levels[last]
		x.orphans, x.levels = x.orphans[:last], x.levels[:last]
		if err := x.insert(&e, level); err != nil {
			return err
		}
	}
	return nil
}

// collapse drops roots with a single child.
func (x *tx) collapse() {
	for x.height > 1 {
		n := x.node(x.root)
		if n.count() > 1 {
			return
		}
		child := uint32(n.ref(0))
		x.release(x.root)
		x.root = child
		x.height--
	}
}
