package feature

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/paulmach/orb"
)

// maxCrossingTests bounds the time of checkSimple to about a second. A
// coastline of 100,000 positions takes a hundredth of that. Rings constructed
// to be slow take more, since the sweep compares all edges whose extents along
// one axis overlap.
const maxCrossingTests = 1 << 27

// checkSimple returns an error if two edges of rings cross: they share one
// point that is an end of neither. Edges that touch or lie on each other do
// not count.
func checkSimple(rings []orb.Ring) error {
	type edge struct {
		lo, hi float64 // along the sweep
		ring   int32
		index  int32
	}
	bound, n := emptyBox(), 0
	for _, r := range rings {
		bound = bound.extend(boundOf(r))
		n += len(r) - 1
	}
	axis := 0
	if bound.MaxY-bound.MinY > bound.MaxX-bound.MinX {
		axis = 1
	}
	edges := make([]edge, 0, n)
	for i, r := range rings {
		for j := 1; j < len(r); j++ {
			lo, hi := r[j-1][axis], r[j][axis]
			edges = append(edges, edge{min(lo, hi), max(lo, hi), int32(i), int32(j - 1)})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.lo, b.lo) })
	tests := 0
	for i, e := range edges {
		a, b := rings[e.ring][e.index], rings[e.ring][e.index+1]
		for _, f := range edges[i+1:] {
			if f.lo > e.hi {
				break
			}
			if tests++; tests > maxCrossingTests {
				return fmt.Errorf("%w: whether rings cross takes more than %d comparisons",
					ErrTooLarge, maxCrossingTests)
			}
			c, d := rings[f.ring][f.index], rings[f.ring][f.index+1]
			if cross(a, b, c, d) {
				return fmt.Errorf("%w: the edge from %v to %v (ring %d, position %d) "+
					"crosses that from %v to %v (ring %d, position %d)",
					ErrInvalidGeometry, a, b, e.ring, e.index, c, d, f.ring, f.index)
			}
		}
	}
	return nil
}

// cross reports whether the interiors of ab and cd share exactly one point.
func cross(a, b, c, d orb.Point) bool {
	if max(a[0], b[0]) < min(c[0], d[0]) || max(c[0], d[0]) < min(a[0], b[0]) ||
		max(a[1], b[1]) < min(c[1], d[1]) || max(c[1], d[1]) < min(a[1], b[1]) {
		return false
	}
	return orient(a[0], a[1], b[0], b[1], c[0], c[1])*
		orient(a[0], a[1], b[0], b[1], d[0], d[1]) < 0 &&
		orient(c[0], c[1], d[0], d[1], a[0], a[1])*
			orient(c[0], c[1], d[0], d[1], b[0], b[1]) < 0
}
