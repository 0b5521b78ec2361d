package placement

import (
	"fmt"
	"math"

	"github.com/catfish-index/catfish/internal/hilbert"
	"github.com/catfish-index/catfish/rstar"
)

// Bounds say where the boxes of a range may be: inside of Box, and no farther from their
// centres, which are in the range, than half the greatest width and height. A run of a
// Hilbert curve fills no rectangle, so that Box alone is met by many searches that have no
// result in the range.
type Bounds struct {
	Box   rstar.Rect `json:"box"`
	HalfX float64    `json:"half_x"`
	HalfY float64    `json:"half_y"`
}

// BoundsOf returns those of one valid box.
func BoundsOf(box rstar.Rect) Bounds {
	return Bounds{box, half(box.MinX, box.MaxX), half(box.MinY, box.MaxY)}
}

// half of the distance, or the next number above it: never less.
func half(from, to float64) float64 {
	if from == to {
		return 0
	}
	return min(math.Nextafter(to/2-from/2, math.Inf(1)), math.MaxFloat64)
}

// Union returns the bounds of what b or c bound.
func (b Bounds) Union(c Bounds) Bounds {
	return Bounds{b.Box.Union(c.Box), max(b.HalfX, c.HalfX), max(b.HalfY, c.HalfY)}
}

// Largest are bounds that permit boxes anywhere, of at most this width and height.
func Largest(width, height float64) Bounds {
	const far = math.MaxFloat64
	return Bounds{rstar.Rect{MinX: -far, MinY: -far, MaxX: far, MaxY: far}, half(0, width), half(0, height)}
}

// fits returns an error that wraps ErrBounds if a valid box is beyond the bounds.
func (b *Bounds) fits(box rstar.Rect) error {
	switch is := BoundsOf(box); {
	case is.HalfX > b.HalfX || is.HalfY > b.HalfY:
		return fmt.Errorf("%w: it is %v wide and %v high, and boxes here are at most %v and %v",
			ErrBounds, box.MaxX-box.MinX, box.MaxY-box.MinY, 2*b.HalfX, 2*b.HalfY)
	case !b.Box.Contains(box):
		return fmt.Errorf("%w: %v, and boxes here are inside of %v", ErrBounds, box, b.Box)
	}
	return nil
}

// check returns what is wrong with the bounds.
func (b *Bounds) check() error {
	if err := b.Box.Validate(); err != nil {
		return err
	}
	for _, h := range []float64{b.HalfX, b.HalfY} {
		if !(h >= 0 && h <= math.MaxFloat64) {
			return fmt.Errorf("half of a width is %v, want a finite number, 0 or more", h)
		}
	}
	return nil
}

// meets reports whether a box in the bounds, whose centre is at a position of a run
// through the world, may intersect an area.
func (b *Bounds) meets(world rstar.Rect, from, to uint64, area rstar.Rect) bool {
	if !b.Box.Intersects(area) {
		return false
	}
	// The centres of boxes that intersect it. Sums and cells grow with their arguments, also
	// when they are rounded; see cell.
	return hilbert.Meets(from, to, hilbert.Rect{
		MinX: cell(float64(area.MinX/2)-float64(b.HalfX/2), world.MinX, world.MaxX),
		MinY: cell(float64(area.MinY/2)-float64(b.HalfY/2), world.MinY, world.MaxY),
		MaxX: cell(float64(area.MaxX/2)+float64(b.HalfX/2), world.MinX, world.MaxX),
		MaxY: cell(float64(area.MaxY/2)+float64(b.HalfY/2), world.MinY, world.MaxY),
	})
}
