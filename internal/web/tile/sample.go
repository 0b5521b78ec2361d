package tile

import (
	"context"
	"math"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/rstar"
)

// Samples
//
// A filter must read a feature to judge it. If a tile's area has more boxes
// than MaxFiltered, it looks at a sample: at the features of one in n boxes, and
// each that passes counts as n. A hash of the box alone selects it, so the same
// state of a collection gives the same sample. Features with equal boxes are in
// it together.
//
// Features large enough to be seen as shapes are always looked at, and count
// once, unless there are more of them than a tile draws.

// sample says which features are looked at. The zero value is all.
type sample struct {
	every         int     // one in this number of boxes; 0: all
	width, height float64 // larger boxes, in degrees, are always in it
}

// sampled sets the sample of the tile's area, by one pass over the tree.
func (d *drawing) sampled(ctx context.Context) error {
	d.sample.width, d.sample.height = 2*360/d.area.n/mostCells, 2*(d.area.north-d.area.south)/mostCells
	return d.sampledBeside(ctx)
}

// sampledBeside sets the sample of the boxes that are not large.
func (d *drawing) sampledBeside(ctx context.Context) error {
	s := &d.sample
	n, large := 0, 0
	d.q.Sample = func(r rstar.Rect) bool {
		n++
		if s.large(r) {
			large++
		}
		return false
	}
	err := d.c.SearchWith(ctx, d.q, &d.buffer, func(*store.Found) (bool, error) { return true, nil })
	d.q.Sample = nil
	if err != nil || n <= d.filtered { // Some were deleted meanwhile.
		return err
	}
	if large > d.most {
		s.width, s.height = math.Inf(1), math.Inf(1)
	}
	s.every = (n + d.filtered - 1) / d.filtered
	d.q.Sample = func(r rstar.Rect) bool { return s.large(r) || s.has(r) }
	return nil
}

func (s *sample) large(r rstar.Rect) bool { return r.MaxX-r.MinX > s.width || r.MaxY-r.MinY > s.height }

// has reports whether a box is one of those that stand for all.
func (s *sample) has(r rstar.Rect) bool {
	h := uint64(0)
	for _, v := range [...]float64{r.MinX, r.MinY, r.MaxX, r.MaxY} {
		h = (h ^ math.Float64bits(v+0)) * 0x9e3779b97f4a7c15 // not -0
		h ^= h >> 32
	}
	return h%uint64(s.every) == 0
}

// counts returns as how many features one counts whose first box is b; 0:
// another one of its boxes was sampled.
func (s *sample) counts(b feature.Box) uint32 {
	r := rstar.Rect(b)
	switch {
	case s.every == 0 || s.large(r):
		return 1
	case s.has(r):
		return uint32(s.every)
	}
	return 0
}
