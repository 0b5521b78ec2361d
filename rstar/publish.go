package rstar

import (
	"math/bits"
	"sync/atomic"
)

// Readers without locks
//
// One writer holds the tree's lock. In the meantime, readers of this process
// and remote ones read the same bytes and take no lock.
//
// # One node
//
// A writer that turns a node from version v (even) to v+2 does, in order:
//
//	(1) version v+1 into the header line and each line to be touched
//	(2) the data lanes of the touched lines
//	(3) version v+2 into all lines, the header line's last
//
//	line        header   touched   untouched
//	before      v        v  old    v
//	(1)         v+1      v+1 old   v
//	(2)         v+1      v+1 ???   v
//	(3)         v+1      v+2 new   v+2
//	after       v+2      v+2 new   v+2
//
// A remote reader gets each line whole, as it was at some instant, and the
// lines in any order. It accepts only if all lines carry one even version. If
// that is v, every touched line was read before (1) reached it: old data. If
// it is v+2, every line was read after (3) reached it: new data. An untouched
// line is the same in both. Versions only grow, so no version occurs twice.
//
// A local reader loads the header's version (even), then what it needs,
// then the version again. Loads stay in order (x86, sync/atomic, barriers
// of scan_arm64.s), stores stay in order (below), so if both are v no store
// of (2) happened in between.
//
// This needs: RDMA reads and CPU stores atomic per cache line (a line
// that is read between two stores shows a prefix of them, and its version
// is stored before its data), and the writer's stores visible in program
// order. x86 keeps the program order of plain stores (TSO); the Go
// compiler need not, so publish_amd64.s does them. Elsewhere, and under
// the race detector, sync/atomic does, which orders more than needed.
//
// The id bounds (lanes 3 and 4 of a node's header) are outside of this:
// readers ignore them, so the writer stores them in place.
//
// # Several nodes
//
// The tree's header holds the move counter M: how many moves are complete. A
// move (split, forced reinsertion, condensing, Update to another leaf, Load,
// new root) publishes every node that it changes or frees with stamp M+1, and
// only then the header's line with M+1 and the new root, all in one line.
//
// A search reads the header line first and accepts a node only if its stamp
// is at most that M; otherwise it begins again. Claim: it then returns
// exactly once every object that was in the tree all the time. Consider an object
// and the path root..leaf to it as of the search's M. As long as no later
// move changes a node of the path, the path remains: other changes only
// enlarge or shrink boxes, and never below what the object needs. If a later
// move changes a node of the path, then either the search had read that node
// before, or it reads it after and sees the stamp. So a search that passes
// read each node of the path before any later move changed it, and the leaf
// with the object in it: the object is not missed. Could the search meet the
// object in a second leaf? That leaf got it by a later move, so it is
// stamped: the object is not returned twice. A freed chunk is stamped, and
// only a move reuses one, so a stale reference leads to a stamp, too. An
// older M is safe as well: it only makes more stamps appear late.
//
// # What moves nothing
//
// An insert publishes the enlarged boxes of ancestors from the root down,
// then the leaf; a delete the leaf, then the shrunk ancestors upwards; an
// Update within its leaf does both, around the leaf. So at any instant a
// path of boxes that cover the object leads to it.

// publish turns the node at dst into src by the steps above. Bit l of
// touched says that the data of line l differ; lines is the node's number
// of lines. Lane 0 of src is ignored. The caller holds the tree's lock.
func (t *Tree) publish(dst, src []uint64, touched uint64, lines int) {
	dst, src = dst[:lines*lanes], src[:lines*lanes]
	odd := dst[0] | 1
	if orderedStores && !t.portable {
		storeOrdered(&dst[0], &src[0], touched, lines, odd)
	} else {
		t.storeAtomic(dst, src, touched, lines, odd)
	}
	if t.onPublish != nil {
		t.onPublish()
	}
}

// storeAtomic is the portable path of publish.
func (t *Tree) storeAtomic(dst, src []uint64, touched uint64, lines int, odd uint64) {
	marks := touched | 1 // the header line's first
	switch mutant {
	case noHeaderMark:
		marks &^= 1
	case noLineMarks:
		marks = 1
	}
	for m := marks; m != 0; m &= m - 1 {
		t.store(&dst[bits.TrailingZeros64(m)*lanes], odd)
	}
	if mutant == headerEarly {
		t.store(&dst[0], odd+1)
	}
	for m := touched; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) * lanes
		for i := l + 1; i < l+lanes; i++ {
			t.store(&dst[i], src[i])
		}
	}
	if mutant == headerFirst {
		t.store(&dst[0], odd+1)
	}
	for l := lines - 1; l >= 0; l-- {
		t.store(&dst[l*lanes], odd+1)
	}
}

// storeIgnored stores a word that no search uses (id bounds, the number of
// objects), so that neither the order of the store nor when it becomes
// visible matters.
func (t *Tree) storeIgnored(w *uint64, v uint64) {
	if orderedStores && !t.portable {
		*w = v
	} else {
		t.store(w, v)
	}
}

// store is one store of the portable path.
func (t *Tree) store(w *uint64, v uint64) {
	atomic.StoreUint64(w, v)
	if t.onStore != nil {
		t.onStore(w, v)
	}
}
