package rstar

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// TestHas: Has is asked about present, absent and deleted objects, while the tree is
// changed.
func TestHas(t *testing.T) {
	tr, err := New(Options{SlabBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(18, 4))
	// Few places, so that rectangles are equal with other ids, and the other way
	// round.
	item := func() Item {
		x, y := float64(rng.IntN(20)), float64(rng.IntN(20))
		return Item{Rect{x, y, x + float64(rng.IntN(2)), y}, uint64(rng.IntN(8))}
	}
	have := map[Item]int{}
	for range 5000 {
		it := item()
		if rng.IntN(2) == 0 {
			if err := tr.Insert(it.Rect, it.ID); err != nil {
				t.Fatal(err)
			}
			have[it]++
		} else if ok, err := tr.Delete(it.Rect, it.ID); err != nil || ok != (have[it] > 0) {
			t.Fatal(it, ok, err)
		} else if ok {
			have[it]--
		}
		it = item()
		if ok, err := tr.Has(it.Rect, it.ID); err != nil || ok != (have[it] > 0) {
			t.Fatalf("%v: %t, %v, want %d of it", it, ok, err, have[it])
		}
	}
	if err := tr.Check(); err != nil {
		t.Error(err)
	}
	if _, err := tr.Has(Rect{MinX: math.NaN()}, 1); !errors.Is(err, ErrBadRect) {
		t.Error(err)
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Has(Rect{}, 1); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
