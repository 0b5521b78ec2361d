package datasets

import (
	"fmt"
	"math"
	"strconv"

	"github.com/catfish-index/catfish/internal/places/input"
	"github.com/catfish-index/catfish/rstar"
)

// Scale says how large the queries of a workload are (the paper, section
// V-A). The zero value is not a scale; ParseScale returns one.
type Scale struct {
	edge  float64 // largest edge; 0 for the power law
	power bool
}

// The paper's three scales. Small queries return next to nothing and
// are bound by latency, large ones by bandwidth.
var (
	ScaleSmall = Scale{edge: 0.00001}
	ScaleLarge = Scale{edge: 0.01}
	ScalePower = Scale{power: true}
)

// ParseScale accepts "power" or a number in (0, 1], as in "1e-5" and
// "1e-2". Its errors wrap ErrOption.
func ParseScale(s string) (Scale, error) {
	if s == "power" {
		return ScalePower, nil
	}
	edge, err := strconv.ParseFloat(s, 64)
	if err != nil || !(edge > 0 && edge <= 1) {
		return Scale{}, fmt.Errorf(
			"datasets: %w: scale %s, want power or a number in (0, 1] such as 1e-5",
			ErrOption, input.Quote(s))
	}
	return Scale{edge: edge}, nil
}

// String returns what ParseScale accepts.
func (s Scale) String() string {
	if s.power {
		return "power"
	}
	return strconv.FormatFloat(s.edge, 'g', -1, 64)
}

// Queries returns an endless sequence of query rectangles inside the bounds,
// which a workload takes from its data set (the unit square for generated
// ones). The corner is uniform; both edges are uniform in (0, scale] times
// the side of the bounds, where scale is fixed or, for ScalePower, drawn for
// every query from f(t) ~ t^-0.99 on (0.00001, 0.01]. Equal arguments give
// equal sequences on every machine; give each concurrent client a stream
// number of its own. The returned function is not safe for concurrent use and
// does not allocate.
//
// An error wraps rstar.ErrBadRect if the bounds are not a rectangle or their
// sides overflow float64, ErrOption for the zero Scale.
func Queries(scale Scale, bounds rstar.Rect, seed, streamNumber uint64) (func() rstar.Rect, error) {
	if err := bounds.Validate(); err != nil {
		return nil, fmt.Errorf("datasets: bounds of queries: %w", err)
	}
	if math.IsInf(bounds.MaxX-bounds.MinX, 0) || math.IsInf(bounds.MaxY-bounds.MinY, 0) {
		return nil, fmt.Errorf(
			"datasets: bounds of queries: %w: a side of %v exceeds the largest float64",
			rstar.ErrBadRect, bounds)
	}
	if err := scale.check(); err != nil {
		return nil, err
	}
	s := newStream(seed, purposeQueries, streamNumber)
	return func() rstar.Rect { return s.rect(scale.draw(s), bounds) }, nil
}

func (s Scale) check() error {
	if !s.power && s.edge == 0 {
		return fmt.Errorf("datasets: %w: no scale given", ErrOption)
	}
	return nil
}

// draw returns the largest edge of the next rectangle.
func (s Scale) draw(from *stream) float64 {
	if s.power {
		return scaleLaw.draw(from)
	}
	return s.edge
}
