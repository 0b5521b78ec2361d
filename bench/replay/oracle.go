package replay

import (
	"fmt"
	"slices"

	"github.com/tidwall/rtree"

	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/rstar"
)

// oracle is another index with the same data, with no code of Catfish:
// tidwall's R-tree. A linear scan would take minutes for a replay of seconds;
// the tests compare the two.
type oracle struct {
	tree  rtree.RTreeG[uint64]
	items []rstar.Item // of the last query
	ids   []uint64
}

func newOracle(src *datasets.Source) (*oracle, error) {
	o := new(oracle)
	err := src.Items(func(it rstar.Item) bool {
		o.insert(it.Rect, it.ID)
		return true
	})
	return o, err
}

func box(r rstar.Rect) (lo, hi [2]float64) {
	return [2]float64{r.MinX, r.MinY}, [2]float64{r.MaxX, r.MaxY}
}

func (o *oracle) insert(r rstar.Rect, id uint64) {
	lo, hi := box(r)
	o.tree.Insert(lo, hi, id)
}

// remove reports whether the object existed.
func (o *oracle) remove(r rstar.Rect, id uint64) bool {
	lo, hi := box(r)
	before := o.tree.Len()
	o.tree.Delete(lo, hi, id)
	return o.tree.Len() < before
}

// check compares an answer with its own to request number i, and applies the
// request's change to itself.
func (o *oracle) check(i int, rec *querylog.Record, got *answer) error {
	want := answer{}
	switch rec.Kind {
	case querylog.Search, querylog.Count:
		o.search(rec.Rect)
		want.count = uint64(len(o.items))
		if limited(rec) {
			return o.checkLimited(i, rec, got)
		}
		if rec.Kind == querylog.Search {
			want.sum = sumOf(rec, o.items)
		}
	case querylog.Nearest:
		o.nearest(rec)
		want = answer{count: uint64(len(o.items)), sum: sumOf(rec, o.items)}
	case querylog.Insert:
		o.insert(rec.Rect, rec.ID)
		want.count = 1
	case querylog.Delete:
		if o.remove(rec.Rect, rec.ID) {
			want.count = 1
		}
	case querylog.Update:
		if o.remove(rec.Rect, rec.ID) {
			want.count = 1
			o.insert(rec.To, rec.ID)
		}
	}
	if got.count != want.count {
		return fmt.Errorf("%w: request %d, %v %v, found %d objects, the oracle %d",
			ErrVerify, i, rec.Kind, rec.Rect, got.count, want.count)
	}
	if got.sum != want.sum {
		return fmt.Errorf("%w: request %d, %v %v, found %d other objects than the oracle",
			ErrVerify, i, rec.Kind, rec.Rect, got.count)
	}
	return nil
}

func (o *oracle) search(q rstar.Rect) {
	o.items = o.items[:0]
	lo, hi := box(q)
	o.tree.Search(lo, hi, func(lo, hi [2]float64, id uint64) bool {
		o.items = append(o.items, rstar.Item{ID: id, Rect: rstar.Rect{
			MinX: lo[0], MinY: lo[1], MaxX: hi[0], MaxY: hi[1],
		}})
		return true
	})
}

func (o *oracle) nearest(rec *querylog.Record) {
	o.items = o.items[:0]
	distance := func(lo, hi [2]float64, _ uint64, _ bool) float64 {
		return rstar.Rect{MinX: lo[0], MinY: lo[1], MaxX: hi[0], MaxY: hi[1]}.Distance(rec.X, rec.Y)
	}
	o.tree.Nearby(distance, func(lo, hi [2]float64, id uint64, d float64) bool {
		if d > rec.Within || rec.Limit > 0 && len(o.items) == int(rec.Limit) {
			return false
		}
		o.items = append(o.items, rstar.Item{ID: id, Rect: rstar.Rect{
			MinX: lo[0], MinY: lo[1], MaxX: hi[0], MaxY: hi[1],
		}})
		return true
	})
}

// checkLimited: as many as the limit allows, each an object that intersects,
// none twice.
func (o *oracle) checkLimited(i int, rec *querylog.Record, got *answer) error {
	if want := min(uint64(len(o.items)), uint64(rec.Limit)); got.count != want || uint64(len(got.ids)) != want {
		return fmt.Errorf("%w: request %d, search %v, found %d objects, the oracle %d of %d",
			ErrVerify, i, rec.Rect, got.count, want, len(o.items))
	}
	o.ids = o.ids[:0]
	for _, it := range o.items {
		o.ids = append(o.ids, it.ID)
	}
	slices.Sort(o.ids)
	left := o.ids
	for _, id := range got.ids { // They ascend too.
		at, ok := slices.BinarySearch(left, id)
		if !ok {
			return fmt.Errorf("%w: request %d, search %v, found object %d, the oracle did not, or not as often",
				ErrVerify, i, rec.Rect, id)
		}
		left = left[at+1:]
	}
	return nil
}
