package placement

import (
	"math"

	"github.com/catfish-index/catfish/rstar"
)

// Around is a rectangle that has all points up to a distance from (x, y), however the distance
// was rounded.
func Around(x, y, distance float64) rstar.Rect {
	d := distance * (1 + 0x1p-40)
	low := func(c float64) float64 { return max(math.Nextafter(c-d, math.Inf(-1)), -math.MaxFloat64) }
	high := func(c float64) float64 { return min(math.Nextafter(c+d, math.Inf(1)), math.MaxFloat64) }
	return rstar.Rect{MinX: low(x), MinY: low(y), MaxX: high(x), MaxY: high(y)}
}
