//go:build !race

package rstar

import (
	"math/rand/v2"
	"testing"
)

// TestNoAllocations: the race detector makes sync.Pool forget, hence the
// build tag.
func TestNoAllocations(t *testing.T) {
	tr := newTree(t, Options{})
	r := rand.New(rand.NewPCG(1, 2))
	items := spaces[0].draw(r, 5000)
	for _, it := range items {
		mustInsert(t, tr, it)
	}
	q := box(0.2, 0.2, 0.3, 0.3)
	buf := tr.SearchAppend(nil, q, 0)
	i := 0
	for name, f := range map[string]func(){
		"SearchAppend": func() { buf = tr.SearchAppend(buf[:0], q, 0) },
		"Count":        func() { tr.Count(q) },
		"Search":       func() { tr.Search(q, func(Rect, uint64) bool { return true }) },
		"Insert, Update and Delete": func() {
			it := items[i%len(items)]
			i++
			mustInsert(t, tr, Item{it.Rect, 1 << 40})
			mustUpdate(t, tr, it.Rect, items[i%len(items)].Rect, 1<<40)
			mustDelete(t, tr, Item{items[i%len(items)].Rect, 1 << 40})
		},
	} {
		for range 500 {
			f()
		}
		if n := testing.AllocsPerRun(500, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if len(buf) == 0 {
		t.Error("nothing found")
	}
}
