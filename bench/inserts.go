package bench

import (
	"fmt"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

// Inserts says which objects a workload inserts, and where updates move them.
type Inserts string

const (
	// PaperInserts are those of the paper's hybrid workload (section V-B):
	// x and y by t^-0.99 on (0.5, 1], mirrored into the four quadrants, with
	// edges of the queries' scale.
	PaperInserts Inserts = "paper"
	// DataInserts are like the data: from the same generator for uniform and
	// skewed, uniform within the bounds for all other data sets.
	DataInserts Inserts = "data"
)

// InsertKinds lists all kinds, the default first.
var InsertKinds = []Inserts{PaperInserts, DataInserts}

func (k Inserts) validate() error {
	for _, known := range InsertKinds {
		if k == known {
			return nil
		}
	}
	return fmt.Errorf("%w: inserts %q, want %s or %s", harness.ErrConfig, string(k), PaperInserts, DataInserts)
}

// Rects returns an endless sequence of rectangles to insert into the data
// set within bounds. Equal arguments give equal sequences; the generators use
// stream 0 for the data itself. The returned function is not safe for
// concurrent use. Errors wrap harness.ErrConfig.
func (k Inserts) Rects(dataset, scale string, bounds rstar.Rect, seed, stream uint64) (func() rstar.Rect, error) {
	if err := k.validate(); err != nil {
		return nil, err
	}
	next := datasets.UniformRects(seed, stream)
	switch {
	case k == PaperInserts:
		edges, err := datasets.ParseScale(scale)
		if err == nil {
			next, err = datasets.SkewedInserts(edges, seed, stream)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: edges of inserts: %w", harness.ErrConfig, err)
		}
	case dataset == "skewed":
		return datasets.SkewedRects(seed, stream), nil
	}
	return func() rstar.Rect { return stretch(next(), bounds) }, nil
}

// stretch maps the unit square to bounds. The result is valid and lies
// within bounds even where rounding would leave it.
func stretch(r, bounds rstar.Rect) rstar.Rect {
	x := func(v float64) float64 {
		return min(bounds.MinX+v*(bounds.MaxX-bounds.MinX), bounds.MaxX)
	}
	y := func(v float64) float64 {
		return min(bounds.MinY+v*(bounds.MaxY-bounds.MinY), bounds.MaxY)
	}
	return rstar.Rect{
		MinX: x(r.MinX), MinY: y(r.MinY), MaxX: x(r.MaxX), MaxY: y(r.MaxY),
	}
}
