//go:build !race

package rstar

import (
	"math/rand/v2"
	"runtime/debug"
	"testing"
)

// noAllocations asserts that f allocates nothing once buffers have grown.
func noAllocations(t *testing.T, name string, f func()) {
	t.Helper()
	// A collection empties pools, and there is one every two minutes at least.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	// The whole process is counted, in which the runtime may allocate once. What f
	// allocates it allocates each time.
	var n float64
	for range 5 {
		// Not AllocsPerRun(500, f), which rounds fewer than 500 down to none.
		n = testing.AllocsPerRun(1, func() {
			for range 500 {
				f()
			}
		})
		if n == 0 {
			return
		}
	}
	t.Errorf("%s: %v allocations in 500 runs", name, n)
}

// TestNoAllocations: the race detector makes sync.Pool forget, hence the
// build tag.
func TestNoAllocations(t *testing.T) {
	for _, s := range settings() {
		if s.o.NodeBytes != DefaultNodeBytes {
			continue
		}
		t.Run(s.String(), func(t *testing.T) {
			s.use(t)
			tr := newTree(t, s.o)
			items := spaces[0].draw(rand.New(rand.NewPCG(1, 2)), 5000)
			for _, it := range items {
				mustInsert(t, tr, it)
			}
			noAllocationsSearching(t, tr)
			noAllocationsInSome(t, tr)
			noAllocationsWriting(t, tr, items)
			// A stamp of the future makes every pass end in a restart, the
			// last one under the writer's lock.
			root := tr.at(tr.tx.root)
			before := tr.Stats().Restarts
			root[laneStamp] += 1 << 40
			noAllocationsSearching(t, tr)
			root[laneStamp] -= 1 << 40
			if tr.Stats().Restarts == before {
				t.Error("no restart")
			}
		})
	}
}

func noAllocationsSearching(t *testing.T, tr *Tree) {
	t.Helper()
	q := box(0.2, 0.2, 0.3, 0.3)
	buf := tr.SearchAppend(make([]Item, 0, 5000), q, 0)
	noAllocations(t, "SearchAppend", func() { buf = tr.SearchAppend(buf[:0], q, 0) })
	noAllocations(t, "SearchAppend with a limit", func() { buf = tr.SearchAppend(buf[:0], q, 5) })
	noAllocations(t, "Count", func() { tr.Count(q) })
	noAllocations(t, "Search", func() {
		tr.Search(q, func(Rect, uint64) bool { return true })
	})
	qs := []Rect{q, box(0.5, 0.5, 0.01, 0.01), q}
	noAllocations(t, "SearchMany", func() {
		tr.SearchMany(qs, func(int, Rect, uint64) bool { return true })
	})
	noAllocations(t, "Nearest", func() {
		left := 10
		tr.Nearest(0.4, 0.6, func(Rect, uint64, float64) bool {
			left--
			return left > 0
		})
	})
}

// noAllocationsInSome: searches that are short make no Scan.
func noAllocationsInSome(t *testing.T, tr *Tree) {
	t.Helper()
	q := box(0.2, 0.2, 0.3, 0.3)
	buf := make([]Item, 0, 5000)
	noAllocations(t, "SearchSome", func() {
		var rest *Scan
		if buf, rest = tr.SearchSome(buf[:0], q, 0, 1000); rest != nil {
			t.Fatal("a small search did not end")
		}
	})
	noAllocations(t, "CountSome", func() {
		if _, rest := tr.CountSome(q, 1000); rest != nil {
			t.Fatal("a small count did not end")
		}
	})
	qs := []Rect{q, box(0.5, 0.5, 0.01, 0.01), q}
	noAllocations(t, "SearchManySome", func() {
		n, rest := tr.SearchManySome(qs, 1000, func(int, Rect, uint64) bool { return true })
		if n != len(qs) || rest != nil {
			t.Fatalf("%d small searches ended, want %d", n, len(qs))
		}
	})
}

func noAllocationsWriting(t *testing.T, tr *Tree, items []Item) {
	t.Helper()
	i := 0
	noAllocations(t, "Insert, Update and Delete", func() {
		it := items[i%len(items)]
		i++
		mustInsert(t, tr, Item{it.Rect, 1 << 40})
		mustUpdate(t, tr, it.Rect, items[i%len(items)].Rect, 1<<40)
		mustDelete(t, tr, Item{items[i%len(items)].Rect, 1 << 40})
	})
}

// TestAppendFits: results that fit exactly do not make dst grow, although the
// high bits leave more candidates than objects that intersect.
func TestAppendFits(t *testing.T) {
	tr := newTree(t, Options{})
	for id := range uint64(20) {
		x := 0.5 + float64(id)/1024 // the same high bits, in the first root's frame
		mustInsert(t, tr, Item{Rect{x, x, x, x}, id})
	}
	dst, q := make([]Item, 0, 3), Rect{0.5, 0.5, 0.5 + 2.5/1024, 1}
	noAllocations(t, "SearchAppend", func() {
		if got := tr.SearchAppend(dst, q, 0); len(got) != 3 || &got[0] != &dst[:1][0] {
			t.Fatalf("%d results, want 3 in dst's own memory", len(got))
		}
	})
}
