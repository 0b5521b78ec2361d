package rstar

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// collectNearest finishes a search that NearestSome began.
func collectNearest(t *testing.T, tree *Tree, x, y float64, k, nodes int) (near []Neighbor, calls int) {
	t.Helper()
	near, rest := tree.NearestSome(nil, x, y, k, nodes)
	if rest == nil {
		return near, 0
	}
	defer rest.Close()
	for done := false; !done && len(near) < k; calls++ {
		near, done = rest.Next(near, k-len(near), nodes)
	}
	if err := rest.Err(); err != nil {
		t.Fatal(err)
	}
	return near, calls
}

// NearestSome, and the Browse that it returns, find the objects that Nearest finds.
func TestNearestSome(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	tree, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	for i := range uint64(20_000) {
		x, y := rng.Float64(), rng.Float64()
		if err := tree.Insert(Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}, i); err != nil {
			t.Fatal(err)
		}
	}
	long := 0
	for range 50 {
		x, y := 2*rng.Float64()-0.5, 2*rng.Float64()-0.5
		for _, k := range []int{1, 10, 3000} {
			var want []float64
			tree.Nearest(x, y, func(_ Rect, _ uint64, d float64) bool {
				want = append(want, d)
				return len(want) < k
			})
			near, calls := collectNearest(t, tree, x, y, k, 32)
			long += calls
			var got []float64
			for _, n := range near {
				got = append(got, n.Dist)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%d nearest to (%g, %g): %d objects, want %d", k, x, y, len(got), len(want))
			}
		}
	}
	if long == 0 {
		t.Fatal("nothing was made in steps")
	}
	if near, rest := tree.NearestSome(nil, math.NaN(), 0, 1, 1); len(near) != 0 || rest != nil {
		t.Fatal("something is near a NaN")
	}
}

// Of very many objects at one place, each step takes few.
func TestNearestSomeIsBounded(t *testing.T) {
	items := make([]Item, 100_000)
	for i := range items {
		items[i].ID = uint64(i)
	}
	tree, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if err := tree.Load(items); err != nil {
		t.Fatal(err)
	}
	const nodes = 64
	before := tree.Stats().NodeReads
	near, rest := tree.NearestSome(nil, 1, 1, 1, nodes)
	if n := tree.Stats().NodeReads - before; n > nodes+nodes/8 {
		t.Errorf("%d nodes were read, want about %d", n, nodes)
	}
	if rest == nil {
		t.Fatalf("found %v at once", near)
	}
	rest.Close()
	if near, _ := collectNearest(t, tree, 1, 1, 5, nodes); len(near) != 5 {
		t.Fatalf("%d of 5", len(near))
	}
	// The memory of these objects is given back.
	s := tree.pool.Get().(*searcher)
	if n := s.near.bytes(); n > 2*keptBytes {
		t.Errorf("%d bytes are kept", n)
	}
	tree.pool.Put(s)
}
