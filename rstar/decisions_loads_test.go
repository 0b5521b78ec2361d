package rstar

import (
	"cmp"
	"math"
	"slices"

	"github.com/catfish-index/catfish/internal/hilbert"
)

// Alternative loaders, for docs/decisions/bulk-load.md, which compares them
// with Load in package rstar_test: test data comes from package datasets,
// which imports this one.

// LoadSTR fills t by Sort-Tile-Recursive bottom-up: strips of all objects are
// cut into leaves, whose boxes are tiled like those of higher levels.
func LoadSTR(t *Tree, items []Item) {
	loadBy(t, items, func(x *tx, w *loader) []entry {
		n := len(items)
		leaves := parts(n, t.fan(0))
		es := x.takeChunks(0, leaves)
		rows := strips(leaves)
		order := w.bySort[0].sort(items, centerOfX)
		for s := range rows {
			from, to := part(leaves, rows, s), part(leaves, rows, s+1)
			base := part(n, leaves, from)
			strip := w.gather(&w.strip, items, order[base:part(n, leaves, to)])
			byY := w.bySort[1].sort(strip, centerOfY)
			for i := from; i < to; i++ {
				w.publishLeaf(&es[i], strip, byY[part(n, leaves, i)-base:part(n, leaves, i+1)-base])
			}
		}
		return es
	}, func(x *tx, _ *loader, level int, below []entry) []entry {
		return x.loadLevel(level, below)
	})
}

// LoadHilbert fills t with the objects in the order of the Hilbert curve
// through their centers, cut into runs (Kamel and Faloutsos, CIKM 1993);
// higher levels take nodes in the same order.
func LoadHilbert(t *Tree, items []Item) {
	loadBy(t, items, func(x *tx, w *loader) []entry {
		n := len(items)
		order := hilbertOrder(items)
		leaves := parts(n, t.fan(0))
		es := x.takeChunks(0, leaves)
		for i := range es {
			w.publishLeaf(&es[i], items, order[part(n, leaves, i):part(n, leaves, i+1)])
		}
		return es
	}, func(x *tx, w *loader, level int, below []entry) []entry {
		n := len(below)
		nodes := parts(n, t.fan(level))
		es := x.takeChunks(level, nodes)
		for i := range es {
			w.publish(level, &es[i], below[part(n, nodes, i):part(n, nodes, i+1)])
		}
		return es
	})
}

// loadBy is Load with different leaves and levels above them. t must be empty
// and have room for the items.
func loadBy(t *Tree, items []Item, leaves func(*tx, *loader) []entry,
	above func(x *tx, w *loader, level int, below []entry) []entry,
) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := &t.tx
	x.begin()
	x.release(x.root)
	w := newLoader(t)
	es := leaves(x, w)
	x.height = 1
	for len(es) > 1 {
		es = above(x, w, x.height, es)
		x.height++
	}
	x.root, x.count = uint32(es[0].ref), uint64(len(items))
	x.commit(false)
}

// hilbertOrder returns the items' indexes in the order of the curve, ties
// by id.
func hilbertOrder(items []Item) []uint64 {
	world := emptyRect
	for i := range items {
		world = world.Union(items[i].Rect)
	}
	cell := func(v, lo, hi float64) uint32 {
		if hi == lo {
			return 0
		}
		return uint32((v - lo) / (hi - lo) * math.MaxUint32)
	}
	keys, order := make([]uint64, len(items)), make([]uint64, len(items))
	for i := range items {
		r := items[i].Rect
		keys[i] = hilbert.Of(cell(centerX(r), world.MinX, world.MaxX),
			cell(centerY(r), world.MinY, world.MaxY))
		order[i] = uint64(i)
	}
	slices.SortFunc(order, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(items[a].ID, items[b].ID))
	})
	return order
}

// LeafBoxes returns the boxes of a tree's leaves.
func LeafBoxes(t *Tree) []Rect {
	t.mu.Lock()
	defer t.mu.Unlock()
	var boxes []Rect
	for todo := []uint32{t.tx.committed.root}; len(todo) > 0; {
		n := t.at(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		if !n.inner() {
			boxes = append(boxes, n.mbr())
			continue
		}
		for i := range n.count() {
			todo = append(todo, uint32(n.ref(i)))
		}
	}
	return boxes
}
