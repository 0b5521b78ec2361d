package rstar

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tidwall/rtree"
)

// TestAgainstTidwall: a history on a tree of real height gives the same
// answers as tidwall/rtree.
func TestAgainstTidwall(t *testing.T) {
	const objects = 20000
	r := rand.New(rand.NewPCG(11, 12))
	items := spaces[0].draw(r, objects)
	tr := newTree(t, Options{})
	var peer rtree.RTreeG[uint64]
	corners := func(q Rect) (lo, hi [2]float64) {
		return [2]float64{q.MinX, q.MinY}, [2]float64{q.MaxX, q.MaxY}
	}
	if err := tr.Load(items[:objects/2]); err != nil {
		t.Fatal(err)
	}
	for i, it := range items {
		lo, hi := corners(it.Rect)
		peer.Insert(lo, hi, it.ID)
		if i >= objects/2 {
			mustInsert(t, tr, it)
		}
	}
	for i := 0; i < objects; i += 3 {
		lo, hi := corners(items[i].Rect)
		peer.Delete(lo, hi, items[i].ID)
		mustDelete(t, tr, items[i])
	}
	mustCheck(t, tr)
	for n := range 500 {
		q := box(r.Float64(), r.Float64(), float64(n)/5000, r.Float64()/10)
		lo, hi := corners(q)
		var want []Item
		peer.Search(lo, hi, func(lo, hi [2]float64, id uint64) bool {
			want = append(want, Item{Rect{lo[0], lo[1], hi[0], hi[1]}, id})
			return true
		})
		slices.SortFunc(want, compareItems)
		if got := search(tr, q); !slices.Equal(got, want) {
			t.Fatalf("query %v: %d objects, tidwall finds %d", q, len(got), len(want))
		}
	}
}
