package rstar

import (
	"math"
	"slices"
)

// reinsertPercent is p of the paper's section 4.3: forced reinsertion of 30 %
// of the entries was best for leaves and directory nodes alike.
const reinsertPercent = 30

// Insert adds an object. Equal objects may coexist. The error wraps
// ErrBadRect, ErrSlabFull or ErrClosed; then nothing was changed.
func (t *Tree) Insert(r Rect, id uint64) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if err := t.lock(); err != nil {
		return err
	}
	return t.insertLocked(r, id)
}

// TryInsert is Insert, but does not wait for a Load or a Check: then it returns
// ErrLocked.
func (t *Tree) TryInsert(r Rect, id uint64) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if err := t.tryLock(); err != nil {
		return err
	}
	return t.insertLocked(r, id)
}

// insertLocked unlocks the tree.
func (t *Tree) insertLocked(r Rect, id uint64) error {
	defer t.mu.Unlock()
	x := &t.tx
	x.begin()
	e := entry{rect: r, ref: id, lo: id, hi: id}
	x.choose(&x.path, &e, 0)
	if x.insertQuick(&x.path, &e) {
		return nil
	}
	if err := x.place(&x.path, &e); err != nil {
		x.begin()
		return err
	}
	x.count++
	x.commit(false)
	return nil
}

// insert puts e into a node at level (InsertData and Insert, section 4.3).
func (x *tx) insert(e *entry, level int) error {
	var p path
	x.choose(&p, e, level)
	return x.place(&p, e)
}

// place puts e into the node at the end of p, which was chosen for it.
func (x *tx) place(p *path, e *entry) error {
	d := p.n - 1
	n := x.edit(p.step[d].chunk)
	if n.count() < x.t.fan(n.level()) {
		x.adopt(n, e)
		x.tighten(p, d)
		return nil
	}
	return x.overflows(p, d, e)
}

// overflows handles the full node at depth d of p that is to take e as well
// (OverflowTreatment): once per level forced reinsertion, otherwise a split.
func (x *tx) overflows(p *path, d int, e *entry) error {
	x.move = true
	n := x.edit(p.step[d].chunk)
	level := n.level()
	es := x.gather(n, e)
	if d > 0 && x.t.opts.Strategy.original() && x.reinserted>>level&1 == 0 {
		x.reinserted |= 1 << level
		return x.reinsert(p, d, es)
	}
	if d > 0 && level == 0 && x.t.opts.Strategy == Revised && x.shift(p, d, es) {
		return nil
	}
	return x.splitNode(p, d, es)
}

// reinsert takes the entries whose centers lie farthest from the center of
// the node out of it and inserts them again, the closest first (ReInsert,
// "close reinsert"). Ties are broken by id.
func (x *tx) reinsert(p *path, d int, es []entry) error {
	world := mbrOf(es)
	m := metricFor(world)
	slices.SortFunc(es, func(a, b entry) int {
		da, db := m.centerDistance(a.rect, world), m.centerDistance(b.rect, world)
		if da != db {
			return sign(da < db)
		}
		return compareIDs(&a, &b)
	})
	n := x.edit(p.step[d].chunk)
	level, base := n.level(), len(x.orphans)
	keep := len(es) - max(1, x.t.fan(level)*reinsertPercent/100)
	n.fill(es[:keep])
	for _, e := range es[keep:] {
		x.orphans, x.levels = append(x.orphans, e), append(x.levels, level)
	}
	x.tighten(p, d)
	for i := base; i < len(x.orphans); i++ {
		e := x.orphans[i] // a copy: the stack may grow
		if err := x.insert(&e, level); err != nil {
			return err
		}
	}
	x.orphans, x.levels = x.orphans[:base], x.levels[:base]
	return nil
}

// splitNode distributes es over the node at depth d of p and a new one, and puts the
// new one into the parent, which may then overflow, too.
func (x *tx) splitNode(p *path, d int, es []entry) error {
	n := x.edit(p.step[d].chunk)
	right, err := x.alloc(n.level())
	if err != nil {
		return err
	}
	k := x.distribute(n, es, x.t.least(n.level()), math.Inf(1)).k
	n.fill(es[:k])
	right.fill(es[k:])
	re := entry{right.mbr(), uint64(right.chunk()), right.minID(), right.maxID()}
	if d == 0 {
		root, err := x.alloc(x.height)
		if err != nil {
			return err
		}
		root.fill([]entry{{n.mbr(), uint64(n.chunk()), n.minID(), n.maxID()}, re})
		x.root = root.chunk()
		x.height++
		return nil
	}
	x.fit(p, d)
	parent := x.edit(p.step[d-1].chunk)
	if parent.count() < x.t.fan(parent.level()) {
		x.adopt(parent, &re)
		parent.widen(n.minID(), n.maxID())
		x.tighten(p, d-1)
		return nil
	}
	return x.overflows(p, d-1, &re)
}

// tighten makes the ancestors' boxes exact after any change to the node
// at depth d.
func (x *tx) tighten(p *path, d int) {
	for ; d > 0; d-- {
		n := x.node(p.step[d].chunk)
		parent := x.node(p.step[d-1].chunk)
		ids := !parent.covers(n.minID(), n.maxID())
		if ids {
			x.edit(p.step[d-1].chunk).widen(n.minID(), n.maxID())
		}
		if !x.fit(p, d) && !ids {
			return
		}
	}
}

// enlarge makes the ancestors of the node at depth d cover e, which is or
// will be added to it.
func (x *tx) enlarge(p *path, d int, e *entry) {
	for r := e.rect; d > 0; d-- {
		chunk, slot := p.step[d-1].chunk, p.step[d].slot
		parent := x.node(chunk)
		b, ok := parent.frame().encode(r)
		if ok && parent.box(slot).covers(b) && parent.covers(e.lo, e.hi) {
			return // so do all above
		}
		parent = x.edit(chunk)
		if !ok {
			x.reframe(parent, r)
			b, _ = parent.frame().encode(r)
		}
		parent.widen(e.lo, e.hi)
		b = b.union(parent.box(slot))
		parent.setBox(slot, b)
		r = parent.frame().decode(b)
		if !ok {
			r = parent.mbr() // other boxes changed, too
		}
	}
}

// fit makes the parent's box of the node at depth d exact and reports
// whether the parent changed.
func (x *tx) fit(p *path, d int) bool { return x.fitSlot(p, d-1, p.step[d].slot) }

// fitSlot is fit for any child of the node at depth d.
func (x *tx) fitSlot(p *path, d, slot int) bool {
	parent := x.node(p.step[d].chunk)
	r := x.node(uint32(parent.ref(slot))).mbr()
	b, ok := parent.frame().encode(r)
	if ok && b == parent.box(slot) {
		return false
	}
	parent = x.edit(p.step[d].chunk)
	if !ok {
		x.reframe(parent, r)
		b, _ = parent.frame().encode(r)
	}
	parent.setBox(slot, b)
	return true
}

// adopt adds an entry to n, which has room.
func (x *tx) adopt(n node, e *entry) {
	if !n.reaches(e.rect) {
		x.reframe(n, e.rect)
	}
	n.append(e)
}

// reframe gives a node a frame that also reaches r.
func (x *tx) reframe(n node, r Rect) {
	if !n.inner() {
		n.reframeLeaf(r)
		return
	}
	f := frameFor(n.mbr().Union(r))
	n.setFrame(f)
	for i := range n.count() {
		b, _ := f.encode(x.node(uint32(n.ref(i))).mbr())
		n.setBox(i, b)
	}
}
