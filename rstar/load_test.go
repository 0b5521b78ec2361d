package rstar

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// TestLoadWhileSearching: searches see nothing of a bulk load, then all
// of it, also when it fills chunks that searches have just left.
func TestLoadWhileSearching(t *testing.T) {
	const objects = 10000/raceFactor + 10000
	tr := newTree(t, Options{NodeBytes: 704, Memory: alignedHeap(8 << 20)})
	items := spaces[0].draw(rand.New(rand.NewPCG(1, 2)), objects)
	for round := range 2 {
		loaded, counting := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-loaded:
					if got := tr.Count(plane); got != objects {
						t.Errorf("round %d: %d objects after Load", round, got)
					}
					return
				default:
				}
				if got := tr.Count(plane); got != 0 && got != objects {
					t.Errorf("round %d: %d objects during Load", round, got)
				}
				if n == 0 {
					close(counting)
				}
			}
		})
		<-counting
		if err := tr.Load(items); err != nil {
			t.Error(err)
		}
		close(loaded)
		wg.Wait()
		mustCheck(t, tr)
		for _, it := range items {
			mustDelete(t, tr, it)
		}
		mustCheck(t, tr)
	}
}

// TestSorter: the radix sort gives the order by coordinate and id, also
// where integers of the range cannot distinguish coordinates.
func TestSorter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s sorter
	for _, sp := range spaces {
		for _, n := range []int{1, 2, 100, smallSort, smallSort + 1, 20000}[:6-raceFactor/4] {
			items := sp.draw(r, n)
			if n > 100 { // an outlier makes one integer of all others
				items[7].Rect = box(1e200, -1e200, 0, 0)
			}
			r.Shuffle(n, func(i, j int) { items[i], items[j] = items[j], items[i] })
			for _, c := range []coordinate{centerOfX, centerOfY} {
				want := slices.Clone(items)
				slices.SortFunc(want, func(a, b Item) int {
					return cmp.Or(cmp.Compare(c(&a.Rect), c(&b.Rect)), cmp.Compare(a.ID, b.ID))
				})
				for i, p := range s.sort(items, c) {
					if got := items[uint32(p)]; got != want[i] {
						t.Fatalf("%s, %d items: place %d has %v, want %v", sp.name, n, i, got, want[i])
					}
				}
			}
		}
	}
}
