package rstar

import (
	"errors"
	"fmt"
	"math"
)

// Rect is an axis-parallel rectangle, borders included. A point has equal minima and
// maxima. The caller chooses the unit of coordinates; they are finite, and no minimum
// exceeds its maximum.
type Rect struct{ MinX, MinY, MaxX, MaxY float64 }

// Item is one object: its rectangle and the caller's id.
type Item struct {
	Rect Rect
	ID   uint64
}

// ErrBadRect is wrapped by every error about coordinates that no tree
// accepts. Retrying is useless.
var ErrBadRect = errors.New("rstar: bad rectangle")

// Validate returns an error that wraps ErrBadRect and identifies the value
// when a coordinate is NaN or infinite or a minimum exceeds its maximum.
func (r Rect) Validate() error {
	if r.valid() {
		return nil
	}
	return r.complain()
}

// valid is Validate for the usual case, a valid rectangle; a NaN fails each
// comparison.
func (r Rect) valid() bool {
	return -math.MaxFloat64 <= r.MinX && r.MinX <= r.MaxX && r.MaxX <= math.MaxFloat64 &&
		-math.MaxFloat64 <= r.MinY && r.MinY <= r.MaxY && r.MaxY <= math.MaxFloat64
}

// complain returns an error that says what is wrong with r.
func (r Rect) complain() error {
	for _, c := range [4]struct {
		name string
		v    float64
	}{{"minx", r.MinX}, {"miny", r.MinY}, {"maxx", r.MaxX}, {"maxy", r.MaxY}} {
		if math.IsNaN(c.v) || math.IsInf(c.v, 0) {
			return fmt.Errorf("%w: %s is %v, want a finite number", ErrBadRect, c.name, c.v)
		}
	}
	if r.MinX > r.MaxX {
		return fmt.Errorf("%w: minx %v exceeds maxx %v", ErrBadRect, r.MinX, r.MaxX)
	}
	if r.MinY > r.MaxY {
		return fmt.Errorf("%w: miny %v exceeds maxy %v", ErrBadRect, r.MinY, r.MaxY)
	}
	return nil
}

// Intersects reports whether r and s share a point, borders included.
func (r Rect) Intersects(s Rect) bool {
	return r.MinX <= s.MaxX && s.MinX <= r.MaxX &&
		r.MinY <= s.MaxY && s.MinY <= r.MaxY
}

// Contains reports whether s lies inside r, borders included.
func (r Rect) Contains(s Rect) bool {
	return r.MinX <= s.MinX && s.MaxX <= r.MaxX &&
		r.MinY <= s.MinY && s.MaxY <= r.MaxY
}

// Union returns the minimum bounding rectangle (MBR) of r and s.
func (r Rect) Union(s Rect) Rect {
	return Rect{
		MinX: min(r.MinX, s.MinX), MinY: min(r.MinY, s.MinY),
		MaxX: max(r.MaxX, s.MaxX), MaxY: max(r.MaxY, s.MaxY),
	}
}
