package peers

import (
	"errors"

	"github.com/peterstace/simplefeatures/rtree"

	"github.com/catfish-index/catfish/rstar"
)

// The R-tree of github.com/peterstace/simplefeatures: bulk load only, at
// most four entries a node.
var simplefeaturesPeer = Peer{
	Name: "simplefeatures", Loads: true, Nearest: true,
	New: func(int) (Index, error) { return new(simplefeaturesIndex), nil },
}

type simplefeaturesIndex struct{ t *rtree.RTree }

func (s *simplefeaturesIndex) Insert([]rstar.Item) error { return ErrNotOffered }
func (s *simplefeaturesIndex) Delete([]rstar.Item) error { return ErrNotOffered }

// Load includes the copy into the library's own type of item: a program
// has to make it, too.
func (s *simplefeaturesIndex) Load(items []rstar.Item) error {
	if s.t != nil {
		return errors.New("simplefeatures: loaded already")
	}
	bulk := make([]rtree.BulkItem, len(items))
	for i := range items {
		bulk[i] = rtree.BulkItem{Box: rtree.Box(items[i].Rect), RecordID: int(items[i].ID)}
	}
	s.t = rtree.BulkLoad(bulk)
	return nil
}

func (s *simplefeaturesIndex) Search(qs []rstar.Rect) func(lo, hi int) Answer {
	return func(lo, hi int) Answer {
		var a Answer
		add := func(id int) error {
			a.Count++
			a.Sum += uint64(id)
			return nil
		}
		for i := lo; i < hi; i++ {
			// The callback never fails, so neither does the search.
			_ = s.t.RangeSearch(rtree.Box(qs[i]), add)
		}
		return a
	}
}

func (s *simplefeaturesIndex) Nearest(at []rstar.Rect, k int) func(lo, hi int, ids []uint64) {
	return func(lo, hi int, ids []uint64) {
		n := 0
		take := func(id int) error {
			ids[n] = uint64(id)
			n++
			if n%k == 0 {
				return rtree.Stop
			}
			return nil
		}
		for i := lo; i < hi; i++ {
			x, y := center(at[i])
			_ = s.t.PrioritySearch(rtree.Box{MinX: x, MinY: y, MaxX: x, MaxY: y}, take)
		}
	}
}

func (s *simplefeaturesIndex) OutsideBytes() int64 { return 0 }

func (s *simplefeaturesIndex) Close() error {
	s.t = nil
	return nil
}
