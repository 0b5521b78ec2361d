package tile

import (
	"math"

	"github.com/paulmach/orb"
)

// Thin areas
//
// A wall of 1 by 16 metres is longer than a pixel, so it is no point, and
// thinner than the tolerance of outlines, which leaves a line back and forth:
// nothing. PostGIS' ST_AsMVTGeom leaves such areas out, tippecanoe draws a
// square for some of those that are too small, so that the sum of the covered
// area is preserved. Here each feature of a tile is in it, as clicks and counts
// expect: with a finer outline if that has an area, and otherwise as a point.

const (
	// fine is the tolerance of a thin outline, in units: less than the half
	// unit by which rounding to units moves it.
	fine = 0.25
	// noArea is below the area that a ring covers for each position, in units,
	// if it covers any: clipping at borders leaves edges there and back, whose
	// sum is rounding alone, of products of 4224 units.
	noArea = 1e-8
)

// thin draws a shell of which simplifying left nothing. Its holes are not drawn.
func (s *shaper) thin(ring []orb.Point, c *worldCopy) {
	// In a crowded tile, where lines are coarser, bytes are scarce: draw a point.
	if s.coarse == 1 {
		if s.project(ring, c, fine); s.polygon(1) {
			return
		}
	}
	if s.covers(ring, c) {
		s.keep(orb.MultiPoint(ring).Bound().Center(), c)
	}
}

// covers reports whether a closed ring has an area, however small.
func (s *shaper) covers(ring []orb.Point, c *worldCopy) bool {
	first := s.a.project(ring[0], c.shift)
	last, area := orb.Point{}, 0.0
	for _, p := range ring[1:] {
		q := s.a.project(p, c.shift)
		q[0], q[1] = q[0]-first[0], q[1]-first[1]
		area += last[0]*q[1] - q[0]*last[1]
		last = q
	}
	return math.Abs(area) > noArea*float64(len(ring))
}
