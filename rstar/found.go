package rstar

import "unsafe"

// The objects that a Scan has found. An answer may be the whole tree, and a slice that
// grows is copied: 200 MB at once. So they lie in blocks, which the trees' Scans share,
// and which are taken one by one.

// block is a part of an answer.
type block struct {
	n     int
	items [blockItems]Item
}

// blockItems is the number of objects in 32 KiB, the largest size for which the
// allocator has a class. It must be some times the fan-out of a leaf, since a block may
// be left with room for less than one.
const blockItems = (32<<10 - 8) / 40

const blockBytes = int(unsafe.Sizeof(block{}))

// found is the blocks of one answer. Those after the one that is filled are
// left by passes that failed.
type found struct {
	blocks []*block
	at     int // the one that is filled
	total  int // objects in all
	taken  int // blocks that take has returned

	// Where the cell began.
	markAt, markN, markTotal int
}

// room returns a block with room for a leaf; if only the number counts, an
// empty one.
func (f *found) room(t *Tree, counting bool) *block {
	if len(f.blocks) == 0 {
		f.blocks = append(f.blocks, t.newBlock())
	}
	b := f.blocks[f.at]
	switch {
	case counting:
		b.n = 0
	case len(b.items)-b.n < t.fan(0):
		f.at++
		if f.at == len(f.blocks) {
			f.blocks = append(f.blocks, t.newBlock())
		}
		b = f.blocks[f.at]
		b.n = 0
	}
	return b
}

// keep makes items the contents of the block that room has returned; those after mark
// are new, and at most left of these stay.
func (f *found) keep(items []Item, mark, left int) {
	n := min(len(items)-mark, left)
	f.blocks[f.at].n = mark + n
	f.total += n
}

// add appends objects that a search has found.
func (f *found) add(t *Tree, items []Item) {
	for len(items) > 0 {
		b := f.room(t, false)
		n := copy(b.items[b.n:], items)
		f.keep(b.items[:b.n+n], b.n, n)
		items = items[n:]
	}
}

// mark says that a cell begins, and rewind that it begins again.
func (f *found) mark() {
	f.markAt, f.markN, f.markTotal = f.at, 0, f.total
	if len(f.blocks) > 0 {
		f.markN = f.blocks[f.at].n
	}
}

func (f *found) rewind() {
	f.at, f.total = f.markAt, f.markTotal
	if len(f.blocks) > 0 {
		f.blocks[f.at].n = f.markN
	}
}

// take returns the next objects, and the block before to the tree.
func (f *found) take(t *Tree) []Item {
	for f.taken < len(f.blocks) {
		if f.taken > 0 {
			t.freeBlock(f.blocks, f.taken-1)
		}
		b := f.blocks[f.taken]
		f.taken++
		if b.n > 0 {
			return b.items[:b.n]
		}
	}
	f.release(t)
	return nil
}

// trim frees the blocks that are not needed.
func (f *found) trim(t *Tree) {
	for i := f.at + 1; i < len(f.blocks); i++ {
		t.freeBlock(f.blocks, i)
	}
	f.blocks = f.blocks[:min(f.at+1, len(f.blocks))]
}

// release frees all blocks.
func (f *found) release(t *Tree) {
	for i := range f.blocks {
		t.freeBlock(f.blocks, i)
	}
	f.blocks, f.at, f.taken = nil, 0, 0
}

// bytes is the size of the blocks.
func (f *found) bytes() int {
	return (len(f.blocks)-max(f.taken-1, 0))*blockBytes + 8*cap(f.blocks)
}

func (t *Tree) newBlock() *block {
	if b, ok := t.blocks.Get().(*block); ok {
		b.n = 0
		return b
	}
	return new(block)
}

func (t *Tree) freeBlock(bs []*block, i int) {
	if bs[i] != nil {
		t.blocks.Put(bs[i])
		bs[i] = nil
	}
}

// Take returns the next objects of the answer, in no particular order, and nil when it
// has returned all of them, before the end, or for a count. They are valid until the
// next call of Take or Close, which gives their memory back, so that an answer that is
// sent piece by piece shrinks meanwhile.
func (c *Scan) Take() []Item {
	if !c.done || c.counting {
		return nil
	}
	return c.found.take(c.t)
}

// AppendItems appends to dst the objects that Take has not returned.
func (c *Scan) AppendItems(dst []Item) []Item {
	for part := c.Take(); part != nil; part = c.Take() {
		dst = append(dst, part...)
	}
	return dst
}

// Held is the number of bytes of memory that the Scan takes at present, for the objects
// that it has found and the nodes still to be visited. It grows by a leaf's objects, at
// most 3.4 KB, for each node visited.
func (c *Scan) Held() int {
	if c.s == nil {
		return 0
	}
	return c.found.bytes() + int(unsafe.Sizeof(*c)) +
		cap(c.s.stack)*int(unsafe.Sizeof(ref{})) + cap(c.todo)*int(unsafe.Sizeof(Rect{}))
}
