package rstar

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
)

// Bulk load by Sort-Tile-Recursive (STR; Leutenegger, Lopez, Edgington,
// ICDE 1997): sort by the x of centers, cut into vertical slices, sort
// each by y, cut into nodes; the same with the nodes' boxes, level by
// level. With P nodes there are about sqrt(P) slices. Entries are dealt
// evenly: node i of P takes entries n*i/P to n*(i+1)/P. As P = ceil(n/M),
// each takes more than M*(P-1)/P - 1 of them: half when P is 2, full
// nearly when P is large, so the minimum fill is always kept.
//
// Ties go by id, so that equal rectangles come to lie as after inserts
// (choose.go).
//
// Sorting and writing are spread over GOMAXPROCS goroutines. Nodes are
// published one by one as always: their chunks may be freed ones that a
// slow search still looks at.

// strKey is what one entry is sorted by, and its place.
type strKey struct {
	x, y uint64 // order-preserving bits of the center
	id   uint64
	i    uint32
}

// Load fills an empty tree with items, which it neither changes nor
// keeps. Memory: 64 bytes per item meanwhile. Searches go on; they see
// nothing, then everything. The error wraps ErrBadRect (names the first
// bad item), ErrNotEmpty, ErrSlabFull or ErrClosed; then nothing was
// changed.
func (t *Tree) Load(items []Item) error {
	for i := range items {
		if err := items[i].Rect.Validate(); err != nil {
			return fmt.Errorf("item %d, id %d: %w", i, items[i].ID, err)
		}
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

// nodesFor returns how many nodes of a level hold n entries.
func (t *Tree) nodesFor(n, level int) int { return (n + t.fan(level) - 1) / t.fan(level) }

func (x *tx) load(items []Item) error {
	t := x.t
	x.begin()
	need := uint64(0)
	for n, level := len(items), 0; n > 1 || need == 0; level++ {
		n = t.nodesFor(n, level)
		need += uint64(n)
	}
	if left := t.chunks - x.used + uint64(x.free); need+x.reserve() > left ||
		uint64(len(items)) > math.MaxUint32 {
		return fmt.Errorf("%w: %d objects want %d nodes of %d bytes, "+
			"%d are left (%d of them kept for deletes) of SlabBytes %d; "+
			"nothing was changed; make it larger (Options.SlabBytes, --slab-bytes)",
			ErrSlabFull, len(items), need, t.opts.NodeBytes, left, x.reserve(),
			t.opts.SlabBytes)
	}
	x.release(x.root)
	es := x.loadLevel(0, len(items), func(i int) entry {
		it := &items[i]
		return entry{it.Rect, it.ID, it.ID, it.ID}
	})
	x.height = 1
	for len(es) > 1 {
		below := es
		es = x.loadLevel(x.height, len(below), func(i int) entry { return below[i] })
		x.height++
	}
	x.root, x.count = uint32(es[0].ref), uint64(len(items))
	x.commit(false)
	return nil
}

// loadLevel packs n entries into nodes of a level, publishes these and
// returns their entries for the level above. at may be called from many
// goroutines.
func (x *tx) loadLevel(level, n int, at func(int) entry) []entry {
	t := x.t
	keys := make([]strKey, n)
	parallel(n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			e := at(i)
			keys[i] = strKey{
				orderedBits(centerX(e.rect)), orderedBits(centerY(e.rect)),
				e.lo, uint32(i),
			}
		}
	})
	sortParallel(keys, func(a, b strKey) int {
		return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.id, b.id))
	})
	nodes := t.nodesFor(n, level)
	strips := int(math.Ceil(math.Sqrt(float64(nodes))))
	first := func(node int) int { return n * node / nodes }
	es := make([]entry, nodes)
	for i := range es {
		es[i].ref = uint64(x.takeChunk())
	}
	x.nodes[level] += int64(nodes)
	stamp := t.moves.Load() + 1
	parallel(strips, func(lo, hi int) {
		b := make(node, t.nodeWords)
		part := make([]entry, 0, t.fan(level))
		for s := lo; s < hi; s++ {
			from, to := nodes*s/strips, nodes*(s+1)/strips
			slices.SortFunc(keys[first(from):first(to)], func(a, b strKey) int {
				return cmp.Or(cmp.Compare(a.y, b.y), cmp.Compare(a.id, b.id))
			})
			for i := from; i < to; i++ {
				part = part[:0]
				for _, k := range keys[first(i):first(i+1)] {
					part = append(part, at(int(k.i)))
				}
				b[laneMeta], b[laneStamp] = packMeta(level, 0, uint32(es[i].ref)), stamp
				b.fill(part)
				t.publish(t.at(b.chunk()), b, 1<<t.nodeLines-1, t.nodeLines)
				es[i].rect, es[i].lo, es[i].hi = b.mbr(), b.minID(), b.maxID()
			}
		}
	})
	return es
}

// takeChunk takes a free chunk without a private copy.
func (x *tx) takeChunk() uint32 {
	if x.free > 0 {
		x.free--
		return x.freeChunks[x.free]
	}
	x.used++
	x.mark = append(x.mark, make([]int32, int(x.used)-len(x.mark))...)
	return uint32(x.used - 1)
}

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
	parts := min(n, runtime.GOMAXPROCS(0))
	for p := range parts {
		wg.Go(func() { f(n*p/parts, n*(p+1)/parts) })
	}
	wg.Wait()
}

// minParallelSort is where a goroutine costs less than it saves.
const minParallelSort = 1 << 13

// sortParallel sorts keys: halves in parallel, merged.
func sortParallel(keys []strKey, compare func(a, b strKey) int) {
	mergeSort(keys, make([]strKey, len(keys)), compare, runtime.GOMAXPROCS(0))
}

func mergeSort(keys, tmp []strKey, compare func(a, b strKey) int, procs int) {
	if procs < 2 || len(keys) < minParallelSort {
		slices.SortFunc(keys, compare)
		return
	}
	mid := len(keys) / 2
	var wg sync.WaitGroup
	wg.Go(func() { mergeSort(keys[:mid], tmp[:mid], compare, procs/2) })
	mergeSort(keys[mid:], tmp[mid:], compare, procs-procs/2)
	wg.Wait()
	a, b := keys[:mid], keys[mid:]
	for i := range tmp {
		if len(b) == 0 || len(a) > 0 && compare(a[0], b[0]) <= 0 {
			tmp[i], a = a[0], a[1:]
		} else {
			tmp[i], b = b[0], b[1:]
		}
	}
	copy(keys, tmp)
}
