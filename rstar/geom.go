package rstar

import "math"

// Areas, margins and distances for the tree's decisions. Coordinates may
// be anything finite, so a width may exceed float64, and a product of two
// widths does so beyond 1e154 or vanishes below 1e-162. All decisions of
// one node therefore use one scale: half widths (which cannot overflow)
// times a power of two that brings extreme extents near 1. A power of two
// changes no comparison that plain arithmetic could make. Within
// [minExtent, maxExtent] the factor is 1.
//
// No value below is NaN or infinite: every half width is finite and, when
// scaled, at most about 1; unscaled at most 2^500, so that areas stay
// below 2^1000 and sums over 84 entries below 2^1007.
type metric struct{ s float64 }

const (
	minExtent = 0x1p-400 // areas of boxes 2^-100 of its size are still normal numbers
	maxExtent = 0x1p+500 // areas of it and their sums are finite
)

// metricFor returns the scale for rectangles inside world.
func metricFor(world Rect) metric {
	e := max(world.MaxX/2-world.MinX/2, world.MaxY/2-world.MinY/2)
	if (e >= minExtent && e <= maxExtent) || e == 0 {
		return metric{1}
	}
	_, exp := math.Frexp(e)
	// Exponents below -1000 would need a factor beyond float64.
	return metric{math.Ldexp(1, -max(exp, -1000))}
}

func (m metric) halfWidths(r Rect) (w, h float64) {
	return (r.MaxX/2 - r.MinX/2) * m.s, (r.MaxY/2 - r.MinY/2) * m.s
}

// area is a quarter of the area, scaled; 0 for an empty intersection.
func (m metric) area(r Rect) float64 {
	w, h := m.halfWidths(r)
	return w * h
}

// margin is a quarter of the perimeter, scaled.
func (m metric) margin(r Rect) float64 {
	w, h := m.halfWidths(r)
	return w + h
}

// overlap is the area of the intersection of a and b.
func (m metric) overlap(a, b Rect) float64 {
	if r, ok := intersection(a, b); ok {
		return m.area(r)
	}
	return 0
}

// intersection returns the common part of a and b, if they touch at all.
func intersection(a, b Rect) (r Rect, ok bool) {
	r = Rect{
		max(a.MinX, b.MinX), max(a.MinY, b.MinY),
		min(a.MaxX, b.MaxX), min(a.MaxY, b.MaxY),
	}
	return r, r.MinX <= r.MaxX && r.MinY <= r.MaxY
}

// centerDistance is a quarter of the squared distance of the centers.
func (m metric) centerDistance(a, b Rect) float64 {
	dx := (centerX(a)/2 - centerX(b)/2) * m.s
	dy := (centerY(a)/2 - centerY(b)/2) * m.s
	return dx*dx + dy*dy
}

// The conversions forbid a fused multiply-add. With it, one part of the code
// might compute another center of a subnormal rectangle than another part: a
// leaf's frame must give back the center that it was made with.

func centerX(r Rect) float64 { return float64(r.MinX/2) + float64(r.MaxX/2) }
func centerY(r Rect) float64 { return float64(r.MinY/2) + float64(r.MaxY/2) }
