package feature

import (
	"errors"
	"math"
)

// Errors of this package, for errors.Is. A returned error wraps one of them and
// names the place and the value.
var (
	// ErrSyntax: the text is not JSON, or not GeoJSON.
	ErrSyntax = errors.New("invalid GeoJSON")
	// ErrRange: a coordinate is not finite or outside of its space.
	ErrRange = errors.New("coordinate out of range")
	// ErrInvalidGeometry: a geometry breaks the rules of its type, for
	// example a ring that is not closed or crosses itself.
	ErrInvalidGeometry = errors.New("invalid geometry")
	// ErrTooLarge: a limit of Options, or of the layout, is exceeded.
	ErrTooLarge = errors.New("too large")
	// ErrCorrupt: the bytes were not written by Append.
	ErrCorrupt = errors.New("corrupt feature")
)

// Space says what coordinates mean.
type Space uint8

const (
	// Geographic: x is the longitude in degrees, y the latitude. Longitudes
	// wrap. Distances are metres.
	Geographic Space = iota
	// Planar: x and y in any one unit, which is also that of distances.
	Planar
)

func (s Space) String() string {
	if s == Planar {
		return "planar"
	}
	return "geographic"
}

// EarthRadius is the mean radius R1 = (2a+b)/3 of the WGS 84 ellipsoid, in
// metres. Distances on a sphere of this radius differ from those on the
// ellipsoid by up to 0.6 %.
const EarthRadius = 6371008.8

// Box is an axis-parallel rectangle, edges included. It has the fields of
// rstar.Rect, to which it converts.
type Box struct{ MinX, MinY, MaxX, MaxY float64 }

// emptyBox covers nothing; extending it by a point gives that point.
func emptyBox() Box {
	return Box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
}

// extend returns the smallest box around b and c.
func (b Box) extend(c Box) Box {
	return Box{
		min(b.MinX, c.MinX), min(b.MinY, c.MinY),
		max(b.MaxX, c.MaxX), max(b.MaxY, c.MaxY),
	}
}

// Intersects reports whether b and c share a point.
func (b Box) Intersects(c Box) bool {
	return b.MinX <= c.MaxX && c.MinX <= b.MaxX &&
		b.MinY <= c.MaxY && c.MinY <= b.MaxY
}

// covers reports whether c lies in b, edges included.
func (b Box) covers(c Box) bool {
	return b.MinX <= c.MinX && c.MaxX <= b.MaxX &&
		b.MinY <= c.MinY && c.MaxY <= b.MaxY
}

func (b Box) hasPoint(x, y float64) bool {
	return b.MinX <= x && x <= b.MaxX && b.MinY <= y && y <= b.MaxY
}

// degenerate boxes have no area.
func (b Box) degenerate() bool { return b.MinX == b.MaxX || b.MinY == b.MaxY }

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
