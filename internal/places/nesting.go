package places

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"

	"github.com/catfish-index/catfish/internal/places/input"
)

// Polygons from rings
//
// The roles outer and inner of members are often wrong or missing, so nesting
// decides: a ring within an even number of others is an outer ring, one within
// an odd number a hole of the smallest of them. Rings may touch, but do not
// cross (rings.go); so one point of a ring that is not on another one says
// whether all of it is inside.

// maxSteps bounds the edges that are examined for one relation: about ten
// seconds. A lake of 100,000 nodes with 10,000 islands takes a quarter of it.
const maxSteps = 1 << 32

type nest struct {
	ring  orb.Ring
	bound orb.Bound
	area  float64 // positive
	depth int
	outer int // index of the polygon
}

// polygons arranges rings and sets their orientation: outer ones counterclockwise,
// holes clockwise (RFC 7946, section 3.1.6).
func polygons(rings []orb.Ring) (orb.MultiPolygon, error) {
	all := make([]nest, len(rings))
	for i, r := range rings {
		all[i] = nest{ring: r, bound: r.Bound(), area: max(planar.Area(r), -planar.Area(r))}
	}
	slices.SortStableFunc(all, func(a, b nest) int { return cmp.Compare(b.area, a.area) })
	var out orb.MultiPolygon
	steps := int64(0)
	for i := range all {
		n := &all[i]
		parent := -1
		for j := range i {
			if steps++; !contains(all[j].bound, n.bound) {
				continue
			}
			if inside(n.ring, all[j].ring, &steps) {
				n.depth++
				parent = j // Later rings are smaller.
			}
			if steps > maxSteps {
				return nil, fmt.Errorf("%w: %d rings nested in each other need more than"+
					" %d steps", input.ErrTooLarge, len(rings), int64(maxSteps))
			}
		}
		if n.depth%2 == 0 {
			n.outer = len(out)
			out = append(out, orb.Polygon{turned(n.ring, orb.CCW)})
			continue
		}
		n.outer = all[parent].outer
		out[n.outer] = append(out[n.outer], turned(n.ring, orb.CW))
	}
	return out, nil
}

func contains(b, inner orb.Bound) bool {
	return b.Min[0] <= inner.Min[0] && b.Min[1] <= inner.Min[1] &&
		b.Max[0] >= inner.Max[0] && b.Max[1] >= inner.Max[1]
}

// turned reverses a ring in place, if it has the other orientation.
func turned(r orb.Ring, want orb.Orientation) orb.Ring {
	if r.Orientation() == -want {
		r.Reverse()
	}
	return r
}

// inside reports whether ring r is in the area of ring s. Corners may be on s;
// if all are, the middles of the edges decide.
func inside(r, s orb.Ring, steps *int64) bool {
	for _, p := range r {
		if side := sideOf(p, s, steps); side != 0 {
			return side > 0
		}
	}
	for i := 1; i < len(r); i++ {
		middle := orb.Point{(r[i-1][0] + r[i][0]) / 2, (r[i-1][1] + r[i][1]) / 2}
		if side := sideOf(middle, s, steps); side != 0 {
			return side > 0
		}
	}
	return false
}

// sideOf returns 1 for a point inside a ring, -1 outside, 0 on it: the number
// of edges that a ray to the right crosses is odd inside.
func sideOf(p orb.Point, ring orb.Ring, steps *int64) int {
	*steps += int64(len(ring))
	side := -1
	for i := 1; i < len(ring); i++ {
		a, b := ring[i-1], ring[i]
		if p == a || p == b {
			return 0
		}
		if max(a[1], b[1]) < p[1] || min(a[1], b[1]) > p[1] || max(a[0], b[0]) < p[0] {
			continue
		}
		cross := (b[0]-a[0])*(p[1]-a[1]) - (b[1]-a[1])*(p[0]-a[0])
		if cross == 0 && min(a[0], b[0]) <= p[0] {
			return 0
		}
		if (a[1] > p[1]) != (b[1] > p[1]) && (cross > 0) == (b[1] > a[1]) {
			side = -side
		}
	}
	return side
}
