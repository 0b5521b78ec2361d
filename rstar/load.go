package rstar

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// Bulk load: Sort-Tile-Recursive (STR; Leutenegger, Lopez, Edgington, ICDE
// 1997). The parents of leaves are tiled top-down, as in OMT (Lee and Lee,
// CAiSE 2003), so that the tiles of leaves do not straddle those of their
// parents:
//
//	all objects by x   |s0   |s1   |s2   |   vertical strips
//	a strip by y       a strip is cut into parents
//	a parent by x      a parent's objects are cut into columns
//	a column by y      a column is cut into leaves
//
// Higher levels, of which there are few nodes, are tiled bottom-up: the boxes
// of the level below are sorted by x into strips, these by y into nodes.
// docs/decisions/bulk-load.md compares the alternatives.
//
// Objects are distributed evenly: part i of P takes objects n*i/P to
// n*(i+1)/P. As P is ceil(n/M), each takes more than M*(P-1)/P - 1 of them:
// half when P is 2, nearly full when P is large, so the minimum fill always
// holds.
//
// Ties are broken by id, so that equal rectangles are placed as after inserts
// (choose.go).
//
// Strips are spread over GOMAXPROCS goroutines. Nodes are published one by
// one as always: their chunks may be freed ones that a slow search still
// reads.

// Load fills an empty tree with items, which it neither changes nor retains. Memory:
// about 20 bytes per item during the load. Searches continue; they see nothing, then
// everything. The error wraps ErrBadRect (and identifies the first bad item),
// ErrNotEmpty, ErrSlabFull or ErrClosed; then nothing was changed.
func (t *Tree) Load(items []Item) error {
	if i := firstBad(items); i < len(items) {
		return fmt.Errorf("item %d, id %d: %w", i, items[i].ID, items[i].Rect.Validate())
	}
	if err := t.lock(); err != nil {
		return err
	}
	defer t.mu.Unlock()
	if t.tx.committed.count != 0 {
		return fmt.Errorf("%w: it has %d objects", ErrNotEmpty, t.tx.committed.count)
	}
	if len(items) == 0 {
		return nil
	}
	return t.tx.load(items)
}

// firstBad returns the index of the first item that no tree accepts, or the
// number of items.
func firstBad(items []Item) int {
	var first atomic.Int64
	first.Store(int64(len(items)))
	parallel(len(items), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			if items[i].Rect.valid() {
				continue
			}
			for old := first.Load(); int64(i) < old && !first.CompareAndSwap(old, int64(i)); {
				old = first.Load()
			}
			return
		}
	})
	return int(first.Load())
}

// parts returns the number of parts of at most size that n needs.
func parts(n, size int) int { return (n + size - 1) / size }

// part returns where part i of p begins.
func part(n, p, i int) int { return int(int64(n) * int64(i) / int64(p)) }

// tiling is the division of n objects into parents and leaves.
type tiling struct {
	n, parents, strips, leafSize int
}

func newTiling(t *Tree, n int) tiling {
	l := tiling{n: n, leafSize: t.fan(0)}
	l.parents = parts(n, t.fan(0)*t.fan(1))
	l.strips = strips(l.parents)
	return l
}

// strips returns the number of strips in which the given number of tiles is arranged.
func strips(tiles int) int { return int(math.Ceil(math.Sqrt(float64(tiles)))) }

// parent returns where parent i's objects begin.
func (l *tiling) parent(i int) int { return part(l.n, l.parents, i) }

// leaves returns the number of leaves of parent i.
func (l *tiling) leaves(i int) int { return parts(l.parent(i+1)-l.parent(i), l.leafSize) }

func (x *tx) load(items []Item) error {
	t := x.t
	x.begin()
	l := newTiling(t, len(items))
	leaves, need := t.loadNodes(len(items))
	if left := x.left(); need+x.reserve() > left || uint64(len(items)) > math.MaxUint32 {
		return fmt.Errorf("%w: %d objects need %d nodes of %d bytes, "+
			"%d are left (%d of them kept for deletes) of a slab of %d bytes; "+
			"no object was loaded; make it larger (Options.SlabBytes, --slab-bytes)",
			ErrSlabFull, len(items), need, t.opts.NodeBytes, left, x.reserve(),
			t.opts.SlabBytes)
	}
	if n := need + x.reserve(); x.ready() < n && x.usable < t.chunks {
		if err := x.grow(x.used - uint64(x.free) + n); err != nil {
			return fmt.Errorf("%w: it has %d bytes and cannot grow: %w; no object was loaded",
				ErrSlabFull, x.usable*uint64(t.opts.NodeBytes), err)
		}
	}
	x.release(x.root)
	es := x.loadObjects(items, &l, leaves)
	for len(es) > 1 {
		es = x.loadLevel(x.height, es)
		x.height++
	}
	x.root, x.count = uint32(es[0].ref), uint64(len(items))
	x.commit(false)
	return nil
}

// takeChunks returns entries for n new nodes of a level, with their chunks.
func (x *tx) takeChunks(level, n int) []entry {
	es := make([]entry, n)
	for i := range es {
		if x.free > 0 {
			x.free--
			es[i].ref = uint64(x.freeChunks[x.free])
		} else {
			es[i].ref = x.used
			x.used++
		}
	}
	if more := int(x.used) - len(x.mark); more > 0 {
		x.mark = append(x.mark, make([]int32, more)...)
	}
	x.nodes[level] += int64(n)
	return es
}

// loadObjects packs items into leaves and, if there is more than one leaf,
// these into parents, whose entries it returns.
func (x *tx) loadObjects(items []Item, l *tiling, leaves int) []entry {
	t := x.t
	var byX sorter
	order := byX.sort(items, centerOfX)
	leafEntries := x.takeChunks(0, leaves)
	x.height = 1
	firstLeaf := make([]int, l.parents+1)
	for i := range l.parents {
		firstLeaf[i+1] = firstLeaf[i] + l.leaves(i)
	}
	var parents []entry
	if leaves > 1 {
		parents = x.takeChunks(1, l.parents)
		x.height = 2
	}
	parallel(l.strips, func(lo, hi int) {
		w := newLoader(t)
		for s := lo; s < hi; s++ {
			from, to := part(l.parents, l.strips, s), part(l.parents, l.strips, s+1)
			base := l.parent(from)
			strip := w.gather(&w.strip, items, order[base:l.parent(to)])
			byY := w.bySort[0].sort(strip, centerOfY)
			for i := from; i < to; i++ {
				es := leafEntries[firstLeaf[i]:firstLeaf[i+1]]
				w.tile(w.gather(&w.parent, strip, byY[l.parent(i)-base:l.parent(i+1)-base]), es)
				if leaves > 1 {
					w.publish(1, &parents[i], es)
				}
			}
		}
	})
	if leaves == 1 {
		return leafEntries
	}
	return parents
}

// loader is the working memory of one goroutine of a load.
type loader struct {
	t             *Tree
	stamp         uint64
	bySort        [3]sorter
	strip, parent []Item
	column        []Item
	es            []entry
	n             node
}

func newLoader(t *Tree) *loader {
	return &loader{t: t, stamp: t.moves.Load() + 1, n: make(node, t.nodeWords)}
}

// gather copies items in a given order.
func (w *loader) gather(dst *[]Item, items []Item, order []uint64) []Item {
	d := (*dst)[:0]
	for _, p := range order {
		d = append(d, items[uint32(p)])
	}
	*dst = d
	return d
}

// tile packs the objects of one parent into leaves.
func (w *loader) tile(items []Item, leaves []entry) {
	n, columns := len(leaves), strips(len(leaves))
	order := w.bySort[1].sort(items, centerOfX)
	first := func(leaf int) int { return part(len(items), n, leaf) }
	for c := range columns {
		from, to := part(n, columns, c), part(n, columns, c+1)
		base := first(from)
		column := w.gather(&w.column, items, order[base:first(to)])
		byY := w.bySort[2].sort(column, centerOfY)
		for i := from; i < to; i++ {
			w.publishLeaf(&leaves[i], column, byY[first(i)-base:first(i+1)-base])
		}
	}
}

// publishLeaf writes the leaf of e, and its MBR and ids into e.
func (w *loader) publishLeaf(e *entry, items []Item, order []uint64) {
	es := w.es[:0]
	for _, p := range order {
		it := &items[uint32(p)]
		es = append(es, entry{it.Rect, it.ID, it.ID, it.ID})
	}
	w.es = es
	n := w.n
	n[laneMeta], n[laneStamp] = packMeta(0, 0, uint32(e.ref)), w.stamp
	n.fill(es)
	e.rect, e.lo, e.hi = mbrOf(es), n.minID(), n.maxID()
	w.t.publish(w.t.at(uint32(e.ref)), n, 1<<w.t.nodeLines-1, w.t.nodeLines)
}

// publish writes an internal node with the entries es, and its MBR and
// ids into e.
func (w *loader) publish(level int, e *entry, es []entry) {
	n := w.n
	n[laneMeta], n[laneStamp] = packMeta(level, 0, uint32(e.ref)), w.stamp
	n.fill(es)
	e.rect, e.lo, e.hi = n.mbr(), n.minID(), n.maxID()
	w.t.publish(w.t.at(uint32(e.ref)), n, 1<<w.t.nodeLines-1, w.t.nodeLines)
}

// loadLevel packs the entries below into nodes of a level and returns
// their entries.
func (x *tx) loadLevel(level int, below []entry) []entry {
	n := len(below)
	nodes := parts(n, x.t.fan(level))
	es := x.takeChunks(level, nodes)
	// Represented as items whose id is the least of the subtree.
	items := make([]Item, n)
	for i := range below {
		items[i] = Item{below[i].rect, below[i].lo}
	}
	var byX, byY sorter
	w := newLoader(x.t)
	order := byX.sort(items, centerOfX)
	rows := strips(nodes)
	for s := range rows {
		from, to := part(nodes, rows, s), part(nodes, rows, s+1)
		base := part(n, nodes, from)
		column := order[base:part(n, nodes, to)]
		for i, p := range byY.sort(w.gather(&w.strip, items, column), centerOfY) {
			if i == 0 {
				w.es = w.es[:0]
			}
			w.es = append(w.es, below[uint32(column[uint32(p)])])
		}
		for i := from; i < to; i++ {
			w.publish(level, &es[i], w.es[part(n, nodes, i)-base:part(n, nodes, i+1)-base])
		}
	}
	return es
}

func centerOfX(r *Rect) float64 { return centerX(*r) }
func centerOfY(r *Rect) float64 { return centerY(*r) }

// orderedBits maps finite floats to integers of the same order.
func orderedBits(f float64) uint64 {
	b := math.Float64bits(f + 0) // -0 becomes 0
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// parallel calls f on parts of [0, n) from GOMAXPROCS goroutines.
func parallel(n int, f func(lo, hi int)) {
	var wg sync.WaitGroup
	procs := min(n, runtime.GOMAXPROCS(0))
	for p := range procs {
		wg.Go(func() { f(part(n, procs, p), part(n, procs, p+1)) })
	}
	wg.Wait()
}
