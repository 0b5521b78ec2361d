package rstar

import (
	"errors"
)

// Update moves one object from rectangle old to rectangle new and reports
// whether there was one; if not, nothing is inserted. A search sees the
// object at exactly one of the two places. The error wraps ErrBadRect,
// ErrSlabFull or ErrClosed; then nothing was changed.
func (t *Tree) Update(old, new Rect, id uint64) (bool, error) {
	if err := old.Validate(); err != nil {
		return false, err
	}
	if err := new.Validate(); err != nil {
		return false, err
	}
	if err := t.lock(); err != nil {
		return false, err
	}
	return t.updateLocked(Item{old, id}, Item{new, id})
}

// TryUpdate is Update, but does not wait for a Load or a Check: then it returns
// ErrLocked.
func (t *Tree) TryUpdate(old, new Rect, id uint64) (bool, error) {
	if err := errors.Join(old.Validate(), new.Validate()); err != nil {
		return false, err
	}
	if err := t.tryLock(); err != nil {
		return false, err
	}
	return t.updateLocked(Item{old, id}, Item{new, id})
}

// updateLocked unlocks the tree.
func (t *Tree) updateLocked(old, new Item) (bool, error) {
	defer t.mu.Unlock()
	x := &t.tx
	x.begin()
	slot, ok := x.find(old.Rect, old.ID)
	if !ok || old == new {
		return ok, nil
	}
	e := new.entry()
	if x.staysInLeaf(&e) {
		x.updateInLeaf(&e, slot)
		return true, nil
	}
	x.move, x.spare = true, true
	err := x.remove(&x.path, slot)
	x.spare = false
	if err == nil {
		err = x.insert(&e, 0)
	}
	if err != nil {
		x.begin()
		return false, err
	}
	x.collapse()
	x.commit(true)
	return true, nil
}

// staysInLeaf reports whether an object of the leaf at the end of x.path
// may stay in it with its new rectangle: the leaf's box covers it, or an
// insertion would choose that leaf.
func (x *tx) staysInLeaf(e *entry) bool {
	d := x.path.n - 1
	if d == 0 {
		return true
	}
	parent := x.node(x.path.step[d-1].chunk)
	if parent.rect(x.path.step[d].slot).Contains(e.rect) {
		return true
	}
	var p path
	x.choose(&p, e, 0)
	return p.step[p.n-1].chunk == x.path.step[d].chunk
}

// updateInLeaf changes the rectangle and id of an object in its leaf in two
// commits: first enlarged ancestors, then the leaf and ancestors that shrink.
func (x *tx) updateInLeaf(e *entry, slot int) {
	p := x.path
	x.enlarge(&p, p.n-1, e)
	if len(x.dirty) > 0 {
		x.commit(false)
	}
	n := x.edit(p.step[p.n-1].chunk)
	if !n.reaches(e.rect) {
		n.reframeLeaf(e.rect)
	}
	n.setRect(slot, e.rect)
	if old := n.ref(slot); old != e.ref {
		n.setRef(slot, e.ref)
		n.widen(e.lo, e.hi)
		x.forgetID(&p, old)
	}
	x.tighten(&p, p.n-1)
	x.commit(true)
}

// forgetID makes the id bounds tight on a path in whose leaf an id was deleted or
// replaced.
func (x *tx) forgetID(p *path, id uint64) {
	for d := p.n - 1; d >= 0; d-- {
		if n := x.node(p.step[d].chunk); id == n.minID() || id == n.maxID() {
			x.tightenIDs(x.edit(p.step[d].chunk))
		}
	}
}

// Replace takes the objects of old out of the tree and adds those of new, in one step:
// a search sees all of the first or all of the second. It reports whether all of old
// were in the tree; if not, nothing is changed. The error wraps ErrBadRect, ErrSlabFull
// or ErrClosed; then nothing was changed, either. One for one is as fast as Update.
func (t *Tree) Replace(old, new []Item) (bool, error) {
	for _, l := range [][]Item{old, new} {
		for _, it := range l {
			if err := it.Rect.Validate(); err != nil {
				return false, err
			}
		}
	}
	if err := t.lock(); err != nil {
		return false, err
	}
	switch {
	case len(old) == 1 && len(new) == 1:
		return t.updateLocked(old[0], new[0])
	case len(old) == 1 && len(new) == 0:
		return t.deleteLocked(old[0].Rect, old[0].ID)
	case len(old) == 0 && len(new) == 1:
		return true, t.insertLocked(new[0].Rect, new[0].ID)
	}
	defer t.mu.Unlock()
	return t.tx.replace(old, new)
}

func (x *tx) replace(old, new []Item) (bool, error) {
	x.begin()
	x.move, x.spare = true, true
	ok, err := true, error(nil)
	for i := 0; i < len(old) && ok && err == nil; i++ {
		var slot int
		if slot, ok = x.find(old[i].Rect, old[i].ID); ok {
			err = x.remove(&x.path, slot)
			x.collapse()
			x.count--
		}
	}
	x.spare = false
	for i := 0; i < len(new) && ok && err == nil; i++ {
		e := new[i].entry()
		x.reinserted = 0
		err = x.insert(&e, 0)
		x.count++
	}
	if !ok || err != nil {
		x.begin()
		return ok, err
	}
	x.commit(true)
	return true, nil
}

func (it Item) entry() entry { return entry{rect: it.Rect, ref: it.ID, lo: it.ID, hi: it.ID} }
