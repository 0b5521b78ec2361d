package rstar

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// tx is the one transaction of the writer, reused. Everything changes in private copies
// of nodes (edit) until commit publishes the lines that differ; after a tx that fails a
// new one simply begins, and nothing has changed. Guarded by Tree.mu.
type tx struct {
	t *Tree

	// The tree as this tx sees it.
	root   uint32
	height int
	count  uint64
	used   uint64 // chunks ever used, header included
	nodes  [maxHeight]int64
	free   int      // number of freeChunks that are still free
	freed  []uint32 // chunks that this tx has freed
	move   bool     // entries move between nodes, or a node is freed
	spare  bool     // deletes may use the reserve

	dirty []dirtyNode
	mark  []int32 // per chunk: 1 + its place in dirty, or 0
	bufs  []node  // private copies, reused

	reinserted uint32  // levels that had their forced reinsertion
	overflow   []entry // the fanout+1 entries of an overfull node
	shared     []entry // those of a leaf and its neighbour
	items      [maxLeafFanout]Item
	orphans    []entry // stack of entries to insert again
	levels     []int   // their levels
	split      splitScratch
	pick       pickScratch
	path       path // of the object a write is about
	looks      int  // nodes that find has read so far: tests bound it
	quick      quick

	usable uint64 // chunks that may be used (Options.Grow); it only grows

	// Committed state.
	header     [lanes]uint64
	freeChunks []uint32
	committed  struct {
		root   uint32
		height int
		count  uint64
		used   uint64
		nodes  [maxHeight]int64
	}
}

// dirtyNode is a chunk with a private copy.
type dirtyNode struct {
	chunk uint32
	fresh bool // the slab's content is arbitrary
}

// path leads from the root to a node: slot is the place in the parent.
type path struct {
	n    int
	step [maxHeight]struct {
		chunk uint32
		slot  int
	}
}

func (p *path) push(chunk uint32, slot int) {
	p.step[p.n].chunk, p.step[p.n].slot = chunk, slot
	p.n++
}

// init writes an empty tree into the slab.
func (x *tx) init(t *Tree) error {
	x.t = t
	x.usable = t.chunks
	if t.opts.Grow != nil {
		x.usable = 0
		if err := x.grow(minSlabChunks); err != nil {
			return err
		}
	}
	x.quick.scratch = make(node, t.nodeWords)
	x.committed.used = 1
	x.begin()
	h := t.words[:lanes]
	x.root, x.height, x.move = x.allocAt(0), 1, true
	x.commit(false)
	h[0] = initialVersion
	h[2] = uint64(LayoutVersion) | uint64(t.opts.NodeBytes)<<32
	h[3], h[4] = t.chunks, t.opts.BootID
	atomic.StoreUint64(&h[laneMeta], magic)
	return nil
}

// begin starts over from the committed tree.
func (x *tx) begin() {
	for _, d := range x.dirty {
		x.mark[d.chunk] = 0
	}
	c := &x.committed
	x.root, x.height, x.count, x.used, x.nodes = c.root, c.height, c.count, c.used, c.nodes
	x.free = len(x.freeChunks)
	x.dirty, x.freed = x.dirty[:0], x.freed[:0]
	x.orphans, x.levels = x.orphans[:0], x.levels[:0]
	x.move, x.spare, x.reinserted = false, false, 0
}

// node returns a node for reading.
func (x *tx) node(chunk uint32) node {
	if int(chunk) < len(x.mark) {
		if m := x.mark[chunk]; m != 0 {
			return x.bufs[m-1]
		}
	}
	return x.t.at(chunk)
}

// edit returns the private copy of a node, for changing.
func (x *tx) edit(chunk uint32) node {
	if m := x.mark[chunk]; m != 0 {
		return x.bufs[m-1]
	}
	n := x.addDirty(chunk, false)
	copy(n, x.t.at(chunk))
	return n
}

func (x *tx) addDirty(chunk uint32, fresh bool) node {
	x.dirty = append(x.dirty, dirtyNode{chunk, fresh})
	i := len(x.dirty)
	x.mark[chunk] = int32(i)
	if i > len(x.bufs) {
		x.bufs = append(x.bufs, make(node, x.t.nodeWords))
	}
	return x.bufs[i-1]
}

// reserve is the number of chunks that inserts leave free, so that a delete, which may
// have to split while it inserts orphans again, does not fail on a full slab: one
// level's orphans, each with a split, twice over.
func (x *tx) reserve() uint64 { return 2 * uint64(x.t.least(1)) }

// alloc returns an empty node at level in a free chunk.
func (x *tx) alloc(level int) (node, error) {
	if n := len(x.freed); n > 0 {
		chunk := x.freed[n-1]
		x.freed = x.freed[:n-1]
		x.nodes[level]++
		b := x.edit(chunk)
		b.reset(level, chunk, emptyRect)
		return b, nil
	}
	var err error
	if x.ready() <= x.reserve() && x.usable < x.t.chunks {
		err = x.grow(x.used + x.reserve() + 1)
	}
	if left := x.ready(); left == 0 || left <= x.reserve() && !x.spare {
		if err != nil {
			return nil, x.cannotGrow(err)
		}
		return nil, x.t.fullError()
	}
	return x.node(x.allocAt(level)), nil
}

// ready is the number of chunks that can be used at once.
func (x *tx) ready() uint64 { return x.usable - x.used + uint64(x.free) }

// grow makes the first chunks of the slab usable, as many as there are.
func (x *tx) grow(chunks uint64) error {
	size := int64(x.t.opts.NodeBytes)
	usable, err := x.t.opts.Grow(int64(min(chunks, x.t.chunks)) * size)
	if err == nil {
		x.usable = min(uint64(usable/size), x.t.chunks)
	}
	return err
}

func (x *tx) cannotGrow(err error) error {
	return fmt.Errorf("%w: it cannot grow beyond %d bytes: %w; this change was not made",
		ErrSlabFull, x.usable*uint64(x.t.opts.NodeBytes), err)
}

func (t *Tree) fullError() error {
	return fmt.Errorf("%w: it has %d bytes; this change was not made; "+
		"make it larger (Options.SlabBytes, --slab-bytes)", ErrSlabFull, t.opts.SlabBytes)
}

// allocAt takes a free chunk, of which there must be one.
func (x *tx) allocAt(level int) uint32 {
	var chunk uint32
	if x.free > 0 {
		x.free--
		chunk = x.freeChunks[x.free]
	} else {
		chunk = uint32(x.used)
		x.used++
	}
	for len(x.mark) <= int(chunk) {
		x.mark = append(x.mark, 0)
	}
	n := x.addDirty(chunk, true)
	n.reset(level, chunk, emptyRect)
	x.nodes[level]++
	return chunk
}

// release frees a node. Its chunk is stamped at commit, like everything that
// a move changes.
func (x *tx) release(chunk uint32) {
	n := x.edit(chunk)
	x.nodes[n.level()]--
	n.reset(freeLevel, chunk, emptyRect)
	x.freed = append(x.freed, chunk)
	x.move = true
}

// commit publishes the tx. Nodes of a tx that moves nothing are published in
// the order of their levels: from the root down if boxes grow, upwards if
// they shrink (publish.go).
func (x *tx) commit(upwards bool) {
	t := x.t
	switch {
	case mutant == counterEarly && x.move:
		x.publishHeader(t.moves.Load() + 1)
	case mutant == enlargeLate && !upwards, mutant == shrinkEarly && upwards:
		upwards = !upwards
	}
	if !x.move && len(x.dirty) > 1 {
		x.publishPath(upwards)
	} else {
		for i, d := range x.dirty {
			x.publishNode(d, x.bufs[i])
		}
	}
	moves := t.moves.Load()
	if x.move && mutant != counterStays {
		moves++
	}
	if x.move {
		x.publishHeader(moves)
	}
	x.publishCount()
	x.freeChunks = append(x.freeChunks[:x.free], x.freed...)
	c := &x.committed
	c.root, c.height, c.count, c.used, c.nodes = x.root, x.height, x.count, x.used, x.nodes
	t.moves.Store(moves)
	t.size.Store(int64(x.count))
	t.height.Store(int32(x.height))
	if x.move {
		for l := range c.nodes {
			t.nodes[l].Store(c.nodes[l])
		}
	}
	x.begin()
}

// publishPath publishes the dirty nodes, which lie on one path, in the
// order of their levels.
func (x *tx) publishPath(upwards bool) {
	for i := 0; i < x.height; i++ {
		level := x.height - 1 - i
		if upwards {
			level = i
		}
		for j, d := range x.dirty {
			if x.bufs[j].level() == level {
				x.publishNode(d, x.bufs[j])
			}
		}
	}
}

// publishNode publishes the lines of the private copy b that differ.
func (x *tx) publishNode(d dirtyNode, b node) {
	t := x.t
	dst := t.at(d.chunk)
	touched := differing(b, dst)
	if d.fresh {
		touched = 1<<t.nodeLines - 1
	}
	if touched != 0 {
		if x.move && !leavesStamp(dst, b, d.fresh) {
			b[laneStamp] = t.moves.Load() + 1
			touched |= 1
		}
		t.publish(dst, b, touched, t.nodeLines)
	}
	if touched&1 == 0 && (dst.minID() != b.minID() || dst.maxID() != b.maxID()) {
		t.store(&dst[laneMinID], b[laneMinID])
		t.store(&dst[laneMaxID], b[laneMaxID])
	}
}

// differing returns the lines of two nodes of one size that differ in words that
// readers use.
func differing(a, b node) (set uint64) {
	for l := 0; l+lanes <= len(a); l += lanes {
		p, q := (*[lanes]uint64)(a[l:]), (*[lanes]uint64)(b[l:])
		d := (p[1] ^ q[1]) | (p[2] ^ q[2]) | (p[5] ^ q[5]) | (p[6] ^ q[6]) | (p[7] ^ q[7])
		if l > 0 {
			d |= (p[laneMinID] ^ q[laneMinID]) | (p[laneMaxID] ^ q[laneMaxID])
		}
		if d != 0 {
			set |= 1 << (l / lanes)
		}
	}
	return set
}

// publishCount stores the number of objects in the header, in place.
func (x *tx) publishCount() { x.t.storeIgnored(&x.t.words[headerCount], x.count) }

// publishHeader publishes the header's dynamic line.
func (x *tx) publishHeader(moves uint64) {
	x.header[1] = uint64(x.root) | uint64(x.height)<<32
	x.header[3], x.header[4] = moves, x.used
	x.t.publish(x.t.words[headerDynamic:headerDynamic+lanes], x.header[:], 1, 1)
}

// idDistance is the distance of id from the id bounds of a subtree.
func (x *tx) idDistance(chunk uint32, id uint64) uint64 {
	n := x.node(chunk)
	switch {
	case id < n.minID():
		return n.minID() - id
	case id > n.maxID():
		return id - n.maxID()
	}
	return 0
}

// entryAt takes entry i out of n, id bounds included.
func (x *tx) entryAt(n node, i int) entry {
	ref := n.ref(i)
	if n.level() == 0 {
		return entry{n.rect(i), ref, ref, ref}
	}
	// The child's own MBR: the box that n holds of it was rounded.
	c := x.node(uint32(ref))
	return entry{c.mbr(), ref, c.minID(), c.maxID()}
}

// tightenIDs recomputes the id bounds of n from its entries.
func (x *tx) tightenIDs(n node) {
	n[laneMinID], n[laneMaxID] = ^uint64(0), 0
	for i, c := 0, n.count(); i < c; i++ {
		lo := n.ref(i)
		hi := lo
		if n.inner() { // of a child that is a line, other than its MBR
			child := x.node(uint32(lo))
			lo, hi = child.minID(), child.maxID()
		}
		n.widen(lo, hi)
	}
}

// gather puts all entries of n and e into the overflow buffer.
func (x *tx) gather(n node, e *entry) []entry {
	c := n.count()
	x.overflow = slices.Grow(x.overflow[:0], c+1)[:c+1]
	x.take(x.overflow[:c], n)
	x.overflow[c] = *e
	return x.overflow
}

// take fills es with the entries of n.
func (x *tx) take(es []entry, n node) {
	if n.inner() {
		for i := range es {
			es[i] = x.entryAt(n, i)
		}
		return
	}
	m := firstObjects(len(es))
	leafTake(&n[0], x.t.groups, &m, &everywhere, x.items[:len(es)])
	for i := range es {
		e, o := &es[i], &x.items[i]
		e.rect, e.ref, e.lo, e.hi = o.Rect, o.ID, o.ID, o.ID
	}
}
