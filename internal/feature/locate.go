package feature

import "github.com/paulmach/orb"

// Where a point lies, by counting how many edges a ray to the east crosses.
// An edge is crossed if one end lies above the ray and the other not above
// it, and its point at that height lies east, which orient says exactly. So
// the answer is exact: -1 outside, 0 on the boundary, 1 inside.

// edgeTest reports whether the ray from (x, y) crosses the edge from a to b,
// or whether (x, y) lies on it.
func edgeTest(ax, ay, bx, by, x, y float64) (crosses, on bool) {
	if (ay > y) == (by > y) {
		// The remaining edges touch the ray from below.
		on = ay == y && (ax == x || by == y && (ax < x) != (bx < x)) ||
			by == y && bx == x
		return false, on
	}
	if x < ax && x < bx {
		return true, false
	}
	if x > ax && x > bx {
		return false, false
	}
	o := orient(ax, ay, bx, by, x, y)
	return (o > 0) == (by > ay), o == 0
}

// sideOfRing is sideOf for a ring that is not in a View.
func sideOfRing(r orb.Ring, x, y float64) int {
	side := -1
	for i := 1; i < len(r); i++ {
		crosses, on := edgeTest(r[i-1][0], r[i-1][1], r[i][0], r[i][1], x, y)
		if on {
			return 0
		}
		if crosses {
			side = -side
		}
	}
	return side
}

// sideOf returns the side of a point of a ring of v. Of a chunk that lies east
// of the point only both ends matter: the edges between cross the ray an odd
// number of times if and only if the ends lie on different sides of it.
func (v *View) sideOf(p *path, x, y float64) int {
	side := -1
	for i := range p.pieces() {
		first, last, box := v.piece(p, i)
		if y < box.MinY || y > box.MaxY || x > box.MaxX {
			continue
		}
		ax, ay := v.vertex(first)
		if x < box.MinX {
			if _, by := v.vertex(last); (ay > y) != (by > y) {
				side = -side
			}
			continue
		}
		for j := first + 1; j <= last; j++ {
			bx, by := v.vertex(j)
			crosses, on := edgeTest(ax, ay, bx, by, x, y)
			if on {
				return 0
			}
			if crosses {
				side = -side
			}
			ax, ay = bx, by
		}
	}
	return side
}

// locate returns the side of a point of the union of all polygons of v. Where two
// of them touch, it returns boundary, even if both together surround the point.
func (v *View) locate(x, y float64) int {
	if v.typ == None || v.typ == Point || !v.Bound().hasPoint(x, y) {
		return -1
	}
	best, polygon := -1, -1
	for p := (path{}); v.next(&p); {
		switch p.kind {
		case shell:
			best = max(best, polygon)
			polygon = v.sideOf(&p, x, y)
		case hole:
			if polygon > 0 {
				polygon = min(polygon, -v.sideOf(&p, x, y))
			}
		}
	}
	return max(best, polygon)
}
