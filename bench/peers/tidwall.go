package peers

import (
	"fmt"

	"github.com/tidwall/rtree"

	"github.com/catfish-index/catfish/rstar"
)

// github.com/tidwall/rtree, in its generic form: the others box every id
// in an interface. It has no bulk load.
var tidwallPeer = Peer{
	Name: "tidwall", Inserts: true, Deletes: true, Nearest: true,
	New: func(int) (Index, error) { return new(tidwallIndex), nil },
}

type tidwallIndex struct {
	t rtree.RTreeGN[float64, uint64]
}

func corners(r *rstar.Rect) (lo, hi [2]float64) {
	return [2]float64{r.MinX, r.MinY}, [2]float64{r.MaxX, r.MaxY}
}

func (t *tidwallIndex) Insert(items []rstar.Item) error {
	for i := range items {
		lo, hi := corners(&items[i].Rect)
		t.t.Insert(lo, hi, items[i].ID)
	}
	return nil
}

func (t *tidwallIndex) Load([]rstar.Item) error { return ErrNotOffered }

// The library does not report whether Delete found an item; the count shows it
// in the end.
func (t *tidwallIndex) Delete(items []rstar.Item) error {
	want := t.t.Len() - len(items)
	for i := range items {
		lo, hi := corners(&items[i].Rect)
		t.t.Delete(lo, hi, items[i].ID)
	}
	if got := t.t.Len(); got != want {
		return fmt.Errorf("tidwall: %d objects after deletes, want %d", got, want)
	}
	return nil
}

func (t *tidwallIndex) Search(qs []rstar.Rect) func(lo, hi int) Answer {
	return func(lo, hi int) Answer {
		var a Answer
		add := func(_, _ [2]float64, id uint64) bool {
			a.Count++
			a.Sum += id
			return true
		}
		for i := lo; i < hi; i++ {
			from, to := corners(&qs[i])
			t.t.Search(from, to, add)
		}
		return a
	}
}

func (t *tidwallIndex) Nearest(at []rstar.Rect, k int) func(lo, hi int, ids []uint64) {
	return func(lo, hi int, ids []uint64) {
		n := 0
		take := func(_, _ [2]float64, id uint64, _ float64) bool {
			ids[n] = id
			n++
			return n%k != 0
		}
		for i := lo; i < hi; i++ {
			x, y := center(at[i])
			p := [2]float64{x, y}
			t.t.Nearby(rtree.BoxDist[float64, uint64](p, p, nil), take)
		}
	}
}

func (t *tidwallIndex) OutsideBytes() int64 { return 0 }

func (t *tidwallIndex) Close() error {
	t.t.Clear()
	return nil
}
