package tile

import (
	"context"
	"math"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/whole"
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

// sampled sets the sample of the tile's area, by one pass over the tree.
func (d *drawing) sampled(ctx context.Context) error {
	d.sample.Width, d.sample.Height = 2*360/d.area.n/mostCells, 2*(d.area.north-d.area.south)/mostCells
	return d.sampledBeside(ctx)
}

// sampledBeside sets the sample of the boxes that are not large.
func (d *drawing) sampledBeside(ctx context.Context) error {
	s := &d.sample
	n, large, err := d.c.CountLarge(ctx, d.q, s)
	if err != nil || n <= d.filtered { // Some were deleted meanwhile.
		return err
	}
	if large > d.most {
		s.Width, s.Height = math.Inf(1), math.Inf(1)
	}
	s.Every = (n + d.filtered - 1) / d.filtered
	return nil
}

// standsFor returns as how many features one counts whose first box is b; 0:
// another one of its boxes was sampled.
func standsFor(s *whole.Sample, b feature.Box) uint32 {
	r := rstar.Rect(b)
	switch {
	case s.Every == 0 || s.Large(r):
		return 1
	case s.Has(r):
		return uint32(s.Every)
	}
	return 0
}
