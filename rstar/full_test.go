package rstar

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDeleteWithoutReserve: a delete or an update that must split while no chunk is
// free at all fails as a whole, though it may have dissolved nodes and inserted half of
// their entries by then.
func TestDeleteWithoutReserve(t *testing.T) {
	tr := newTree(t, Options{NodeBytes: 704, SlabBytes: 704 * minSlabChunks})
	r := rand.New(rand.NewPCG(5, 6))
	var items []Item
	for _, it := range spaces[0].draw(r, 14*minSlabChunks) {
		err := tr.Insert(it.Rect, it.ID)
		if errors.Is(err, ErrSlabFull) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	// without runs f while the slab has no free chunk.
	without := func(f func() (bool, error)) (bool, error) {
		chunks, x := tr.chunks, &tr.tx
		tr.chunks = x.committed.used - uint64(len(x.freeChunks))
		defer func() { tr.chunks = chunks }()
		return f()
	}
	refused := 0
	for len(items) > 100 {
		i := r.IntN(len(items))
		it, place := items[i], items[r.IntN(len(items))].Rect
		move := r.IntN(2) == 0
		ok, err := without(func() (bool, error) {
			if move {
				return tr.Update(it.Rect, place, it.ID)
			}
			return tr.Delete(it.Rect, it.ID)
		})
		switch {
		case errors.Is(err, ErrSlabFull) && !ok:
			refused++
			mustCheck(t, tr)
			if !slices.Contains(search(tr, it.Rect), it) {
				t.Fatalf("%v is lost", it)
			}
			mustDelete(t, tr, it) // the reserve permits it
			items = slices.Delete(items, i, i+1)
		case err != nil || !ok:
			t.Fatalf("%v, move %v: %v, %v", it, move, ok, err)
		case move:
			items[i].Rect = place
		default:
			items = slices.Delete(items, i, i+1)
		}
		if tr.Len() != len(items) {
			t.Fatalf("%d objects, want %d", tr.Len(), len(items))
		}
	}
	if refused == 0 {
		t.Error("nothing was refused: the test shows nothing")
	}
	mustCheck(t, tr)
	slices.SortFunc(items, compareItems)
	if got := search(tr, plane); !slices.Equal(got, items) {
		t.Errorf("%d objects are found, want %d", len(got), len(items))
	}
}
