package feature

// Within, between a geometry and an area
//
// Most pairs are decided exactly by what the rest of this package has:
//
//   - if a part of the geometry lies outside of the area's bound, it is not
//     within;
//   - if no edges meet, each path lies wholly inside or outside, which one
//     vertex tells, and the area's paths (holes) wholly inside or outside of
//     the geometry's polygons;
//   - if an edge crosses the boundary of an area that is one polygon, it is
//     not within.
//
// What is left are boundaries that touch or run along each other: neighbours,
// a country in a hole of another, a geometry within itself. Those go to
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
	switch contact(a, b) {
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
	return library(a, b)
}

type touch int

const (
	apart    touch = iota
	touching       // edges meet, but none cross
	crossed
)

// contact finds out how the edges of a meet the rings of b.
func contact(a, b *View) touch {
	found := apart
	for p := (path{}); a.next(&p); {
		for i := range p.pieces() {
			first, end, box := a.edges(&p, i)
			for q := (path{}); b.next(&q); {
				for k := range q.pieces() {
					from, to, other := b.edges(&q, k)
					if !box.Intersects(other) {
						continue
					}
					found = max(found, a.runContact(&p, first, end, b, &q, from, to, other))
					if found == crossed {
						return found
					}
				}
			}
		}
	}
	return found
}

func (v *View) runContact(p *path, first, end int, b *View, q *path, from, to int, box Box) touch {
	found := apart
	for j := first; j < end; j++ {
		ax, ay, bx, by := v.edge(p, j)
		if max(ax, bx) < box.MinX || box.MaxX < min(ax, bx) ||
			max(ay, by) < box.MinY || box.MaxY < min(ay, by) {
			continue
		}
		for k := from; k < to; k++ {
			cx, cy, dx, dy := b.edge(q, k)
			if !segmentsMeet(ax, ay, bx, by, cx, cy, dx, dy) {
				continue
			}
			found = max(found, touching)
			if orient(ax, ay, bx, by, cx, cy)*orient(ax, ay, bx, by, dx, dy) < 0 &&
				orient(cx, cy, dx, dy, ax, ay)*orient(cx, cy, dx, dy, bx, by) < 0 {
				return crossed
			}
		}
	}
	return found
}

// allInside reports whether one vertex of each path, and each of several
// points, lies inside b.
func allInside(a, b *View) bool {
	for p := (path{}); a.next(&p); {
		end := p.first + 1
		if p.kind == points {
			end = p.end
		}
		for i := p.first; i < end; i++ {
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
