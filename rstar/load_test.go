package rstar

import (
	"math/rand/v2"
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

func TestSortParallel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, procs := range []int{1, 2, 3, 8} {
		keys := make([]strKey, 5*minParallelSort+1)
		for i := range keys {
			keys[i] = strKey{x: r.Uint64N(1000), i: uint32(i)}
		}
		byX := func(a, b strKey) int { return int(a.x) - int(b.x) }
		mergeSort(keys, make([]strKey, len(keys)), byX, procs)
		seen := make([]bool, len(keys))
		for i, k := range keys {
			if i > 0 && keys[i-1].x > k.x || seen[k.i] {
				t.Fatalf("procs %d: key %d out of order or twice", procs, i)
			}
			seen[k.i] = true
		}
	}
}
