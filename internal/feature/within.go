package feature

import "fmt"

// Within, between a geometry and an area
//
// The rest of this package decides most pairs exactly:
//
//   - if a part of the geometry lies outside of the area's bound, it is not
//     within;
//   - if no edges meet, each path lies wholly inside or outside, which one of its
//     vertices decides, and the area's paths (holes) wholly inside or outside of
//     the geometry's polygons;
//   - if an edge crosses the boundary of an area that is one polygon, it is
//     not within.
//
// The remaining cases are boundaries that touch or run along each other: neighbours, a
// country in a hole of another, a geometry within itself. Those are passed to
// simplefeatures, whose Relate (RelateNG of JTS) computes the DE-9IM matrix.

// liesWithin reports whether a lies within the polygons of b (DE-9IM within).
func liesWithin(a, b *View) (bool, error) {
	if a.typ == Point {
		x, y := a.vertex(0)
		return b.locate(x, y) > 0, nil
	}
	if !b.Bound().covers(a.Bound()) {
		return false, nil
	}
	how, tests := contact(a, b)
	switch how {
	case apart:
		if !allInside(a, b) {
			return false, nil
		}
		if !ringInside(b, a) {
			return true, nil
		}
		// A hole, unless another polygon covers it.
		if b.typ == Polygon {
			return false, nil
		}
	case crossed:
		if b.typ == Polygon {
			return false, nil
		}
	}
	if a.steps.ended() {
		return false, nil
	}
	if err := libraryTakes(a.nvertices+b.nvertices, tests); err != nil {
		return false, err
	}
	return library(a, b)
}

const (
	// maxTouchTests and maxTouchPositions bound the time of the library, which
	// cannot be divided, to some seconds. It takes 6 s for two polygons of
	// 20,000 positions that are wound along each other, which are 8 million
	// tests, and 3 s for two coastlines of 100,000.
	maxTouchTests     = maxCrossingTests / chunkEdges
	maxTouchPositions = 1 << 18
)

// libraryTakes returns an error if the library may take too long.
func libraryTakes(positions, tests int) error {
	switch {
	case positions > maxTouchPositions:
		return fmt.Errorf("%w: whether geometries that touch each other lie within each other: they have %d positions, want at most %d",
			ErrTooLarge, positions, maxTouchPositions)
	case tests > maxTouchTests:
		return fmt.Errorf("%w: whether geometries that touch each other lie within each other takes more than %d comparisons",
			ErrTooLarge, maxCrossingTests)
	}
	return nil
}

type touch int

const (
	apart    touch = iota
	touching       // edges meet, but none cross
	crossed
)

// contact finds how the edges of a meet the rings of b, and how many of them it
// has compared with those of a piece.
func contact(a, b *View) (found touch, tests int) {
	for p := (path{}); a.next(&p); {
		for i := range p.pieces() {
			first, end, box := a.edges(&p, i)
			for q := (path{}); b.next(&q); {
				for k := range q.pieces() {
					from, to, other := b.edges(&q, k)
					if !box.Intersects(other) {
						continue
					}
					run, n := a.runContact(&p, first, end, b, &q, from, to, other)
					found, tests = max(found, run), tests+n
					if found == crossed {
						return found, tests
					}
				}
			}
		}
	}
	return found, tests
}

func (v *View) runContact(p *path, first, end int, b *View, q *path, from, to int, box Box) (found touch, tests int) {
	for j := first; j < end; j++ {
		ax, ay, bx, by := v.edge(p, j)
		if max(ax, bx) < box.MinX || box.MaxX < min(ax, bx) ||
			max(ay, by) < box.MinY || box.MaxY < min(ay, by) {
			continue
		}
		if tests++; !v.steps.count(1) {
			return found, tests
		}
		for k := from; k < to; k++ {
			cx, cy, dx, dy := b.edge(q, k)
			if !segmentsMeet(ax, ay, bx, by, cx, cy, dx, dy) {
				continue
			}
			found = max(found, touching)
			if orient(ax, ay, bx, by, cx, cy)*orient(ax, ay, bx, by, dx, dy) < 0 &&
				orient(cx, cy, dx, dy, ax, ay)*orient(cx, cy, dx, dy, bx, by) < 0 {
				return crossed, tests
			}
		}
	}
	return found, tests
}

// allInside reports whether one vertex of each path, and each of several
// points, lies inside b.
func allInside(a, b *View) bool {
	for p := (path{}); a.next(&p); {
		end := p.first + 1
		if p.kind == points {
			end = p.end
		}
		for i := p.first; i < end && a.steps.count(1); i++ {
			if x, y := a.vertex(i); b.locate(x, y) <= 0 {
				return false
			}
		}
	}
	return true
}

// ringInside reports whether a ring of a lies inside b.
func ringInside(a, b *View) bool {
	for p := (path{}); a.next(&p); {
		if p.kind >= shell {
			if x, y := a.vertex(p.first); b.locate(x, y) > 0 {
				return true
			}
		}
	}
	return false
}
