package rstar

import (
	"math"
	"sort"
)

// LoadRoom returns the number of objects that Load can put into the tree while it is
// empty, 0 after Close. Single inserts fill nodes less: they stop earlier.
func (t *Tree) LoadRoom() int {
	if t.lock() != nil {
		return 0
	}
	defer t.mu.Unlock()
	left := t.tx.left()
	// No tree has more objects than room in its chunks.
	most := min(int64(left)*int64(t.fan(0)), math.MaxUint32)
	return sort.Search(int(most), func(i int) bool {
		_, need := t.loadNodes(i + 1)
		return need+t.tx.reserve() > left
	})
}

// RoomFor reports whether n more objects can be inserted, whatever they are: nil, or an
// error that wraps ErrSlabFull or ErrClosed. It may refuse some that would find room.
// It reserves nothing: any writer may use the room that it has found.
func (t *Tree) RoomFor(n int) error {
	if err := t.lock(); err != nil {
		return err
	}
	defer t.mu.Unlock()
	// Each may split a leaf, and one in a half-full node's worth a node above.
	need := uint64(n) + uint64(n)/uint64(t.least(1)) + maxHeight
	return t.tx.reserved(need)
}

func (x *tx) reserved(need uint64) error {
	x.begin()
	need += x.reserve()
	var err error
	if x.ready() < need && x.usable < x.t.chunks {
		err = x.grow(x.used + need)
	}
	switch {
	case x.ready() >= need:
		return nil
	case err != nil:
		return x.cannotGrow(err)
	}
	return x.t.fullError()
}

// left is the number of chunks that are not in use.
func (x *tx) left() uint64 { return x.t.chunks - x.used + uint64(x.free) }

// loadNodes returns the number of leaves that Load makes of n > 0 objects, and the
// number of all nodes.
func (t *Tree) loadNodes(n int) (leaves int, all uint64) {
	// Parts differ by one object at most (see part): n % parents of them have one more.
	parents := newTiling(t, n).parents
	each, more := n/parents, n%parents
	leaves = (parents-more)*parts(each, t.fan(0)) + more*parts(each+1, t.fan(0))
	all = uint64(leaves)
	for n, level := leaves, 1; n > 1; level++ {
		if n = parts(n, t.fan(level)); level == 1 {
			n = parents
		}
		all += uint64(n)
	}
	return leaves, all
}
