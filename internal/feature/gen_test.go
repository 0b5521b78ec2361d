package feature

import (
	"math"
	"math/rand/v2"
	"sort"

	"github.com/paulmach/orb"
	"pgregory.net/rapid"
)

// Geometries of small whole numbers, so that they often touch, overlap along
// edges and share corners.

// drawStar is a simple ring on a grid: corners sorted by angle around a
// centre, at most one for each angle. ok is false if too few are left.
func drawStar(t *rapid.T, label string) (orb.Ring, bool) {
	cx := float64(rapid.IntRange(-4, 4).Draw(t, label+".x"))
	cy := float64(rapid.IntRange(-4, 4).Draw(t, label+".y"))
	n := rapid.IntRange(3, 8).Draw(t, label+".n")
	byAngle := map[float64]orb.Point{}
	var angles []float64
	for range n {
		dx := float64(rapid.IntRange(-3, 3).Draw(t, label+".dx"))
		dy := float64(rapid.IntRange(-3, 3).Draw(t, label+".dy"))
		a := math.Atan2(dy, dx)
		if _, ok := byAngle[a]; !ok && (dx != 0 || dy != 0) {
			byAngle[a] = orb.Point{cx + dx, cy + dy}
			angles = append(angles, a)
		}
	}
	var ring orb.Ring
	sort.Float64s(angles)
	for i, a := range angles {
		next := angles[(i+1)%len(angles)]
		if turn := math.Mod(next-a+4*math.Pi, 2*math.Pi); turn >= math.Pi-1e-9 {
			return nil, false // The centre would not see all of it.
		}
		ring = append(ring, byAngle[a])
	}
	if len(ring) < 3 {
		return nil, false
	}
	return append(ring, ring[0]), true
}

// drawPolygon is a star, or a rectangle with a star as its hole.
func drawPolygon(t *rapid.T, label string) (orb.Polygon, bool) {
	ring, ok := drawStar(t, label)
	if !ok {
		return nil, false
	}
	p := orb.Polygon{ring}
	if rapid.Bool().Draw(t, label+".hole") {
		w := float64(rapid.IntRange(1, 3).Draw(t, label+".w"))
		hole := make(orb.Ring, len(ring))
		copy(hole, ring)
		// The star is the hole of a rectangle around it.
		b := orb.MultiPoint(hole).Bound()
		p = orb.Polygon{rect(b.Min[0]-w, b.Min[1]-1, b.Max[0]+1, b.Max[1]+w)[0], hole}
	}
	return p, true
}

// drawGeometry draws a geometry of any type.
func drawGeometry(t *rapid.T, label string) orb.Geometry {
	point := func() orb.Point {
		return orb.Point{
			float64(rapid.IntRange(-7, 7).Draw(t, label+".px")),
			float64(rapid.IntRange(-7, 7).Draw(t, label+".py")),
		}
	}
	line := func() orb.LineString {
		l := orb.LineString{point(), point()}
		for rapid.Bool().Draw(t, label+".more") && len(l) < 6 {
			l = append(l, point())
		}
		for i := range l {
			if l[i] != l[0] {
				return l
			}
		}
		return append(l, orb.Point{l[0][0] + 1, l[0][1]})
	}
	polygon := func() orb.Polygon {
		p, ok := drawPolygon(t, label)
		if !ok {
			c := point()
			p = rect(c[0], c[1], c[0]+2, c[1]+3)
		}
		return p
	}
	switch rapid.IntRange(0, 6).Draw(t, label+".type") {
	case 0:
		return point()
	case 1:
		return orb.MultiPoint{point(), point(), point()}
	case 2:
		return line()
	case 3:
		return orb.MultiLineString{line(), line()}
	case 4:
		// Apart by construction.
		a, b := polygon(), polygon()
		for _, r := range b {
			for i := range r {
				r[i][0] += 40
			}
		}
		return orb.MultiPolygon{a, b}
	case 5:
		return orb.Collection{point(), line(), polygon()}
	}
	return polygon()
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
