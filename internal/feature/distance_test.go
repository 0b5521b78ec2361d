package feature

import (
	"math"
	"testing"

	"github.com/paulmach/orb"
	"pgregory.net/rapid"
)

func drawLonLat(t *rapid.T, label string) orb.Point {
	return orb.Point{
		rapid.OneOf(rapid.Float64Range(-180, 180), rapid.SampledFrom([]float64{-180, 180, 179.999, -179.999, 0})).Draw(t, label+".lon"),
		rapid.OneOf(rapid.Float64Range(-90, 90), rapid.SampledFrom([]float64{-90, 90, 89.999, -89.999, 0})).Draw(t, label+".lat"),
	}
}

// onSphere is the unit vector of a point.
func onSphere(p orb.Point) (v [3]float64) {
	lon, lat := p[0]*math.Pi/180, p[1]*math.Pi/180
	return [3]float64{math.Cos(lat) * math.Cos(lon), math.Cos(lat) * math.Sin(lon), math.Sin(lat)}
}

// angle is the angle between unit vectors, by their cross and dot products, which is
// exact to 1e-15 everywhere.
func angle(a, b [3]float64) float64 {
	x, y, z := a[1]*b[2]-a[2]*b[1], a[2]*b[0]-a[0]*b[2], a[0]*b[1]-a[1]*b[0]
	return math.Atan2(math.Sqrt(x*x+y*y+z*z), a[0]*b[0]+a[1]*b[1]+a[2]*b[2])
}

// TestDistancePoints compares with the angle between vectors.
func TestDistancePoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawLonLat(t, "a"), drawLonLat(t, "b")
		o, err := NewOrigin(Geographic, a)
		if err != nil {
			t.Fatal(err)
		}
		want := EarthRadius * angle(onSphere(a), onSphere(b))
		if got := o.to(b[0], b[1]); math.Abs(got-want) > 1e-6 {
			t.Fatalf("got %v m, want %v m", got, want)
		}
	})
}

// TestLowerBound: no point of a box is nearer, wherever both are.
func TestLowerBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, a, b := drawLonLat(t, "p"), drawLonLat(t, "a"), drawLonLat(t, "b")
		s := Space(rapid.IntRange(0, 1).Draw(t, "space"))
		box := Box{min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1])}
		o, err := NewOrigin(s, p)
		if err != nil {
			t.Fatal(err)
		}
		bound := o.LowerBound(box)
		best := math.Inf(1)
		for i := range 21 {
			for j := range 21 {
				x := clamp(box.MinX+(box.MaxX-box.MinX)*float64(i)/20, box.MinX, box.MaxX)
				y := clamp(box.MinY+(box.MaxY-box.MinY)*float64(j)/20, box.MinY, box.MaxY)
				best = min(best, o.to(x, y))
			}
		}
		if best < bound {
			t.Fatalf("a point of %v is %v from %v, the bound is %v", box, best, p, bound)
		}
		// Beyond says the same.
		for _, reach := range []float64{0, bound / 2, bound * (1 - 1e-6), bound * (1 + 1e-6), 2 * bound, best, math.Inf(1)} {
			if math.Abs(reach-bound) > 2*slack && o.Beyond(box, reach) != (bound > reach) {
				t.Fatalf("%v of %v: bound %v, beyond %v: %v", box, p, bound, reach, o.Beyond(box, reach))
			}
		}
		if s == Geographic {
			least, most := o.angles(box)
			angle := best / EarthRadius
			if least > grown(angle) || grown(math.Sqrt(most)) < (bound/EarthRadius)*(bound/EarthRadius) {
				t.Fatalf("%v of %v: angle %v, bounds %v and %v", box, p, angle, math.Sqrt(least), math.Sqrt(most))
			}
		}
		// The bound is not far below: half a step of the grid.
		step := max(box.MaxX-box.MinX, box.MaxY-box.MinY) / 20
		if s == Geographic {
			step *= radians * EarthRadius
		}
		if best-bound > 1.5*step+1 {
			t.Fatalf("the bound %v is far below %v", bound, best)
		}
	})
}

// TestDistanceDense: the distance to an edge is that to the nearest of many
// points of it, and never below the bound of its box.
func TestDistanceDense(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, a := drawLonLat(t, "p"), drawLonLat(t, "a")
		b := drawLonLat(t, "b")
		if rapid.Bool().Draw(t, "short") {
			b = orb.Point{clamp(a[0]+(b[0]/200), -180, 180), clamp(a[1]+(b[1]/200), -90, 90)}
		}
		if a == b {
			t.Skip("no edge")
		}
		o, err := NewOrigin(Geographic, p)
		if err != nil {
			t.Fatal(err)
		}
		bytes, err := Append(nil, orb.LineString{a, b}, nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Parse(bytes)
		if err != nil {
			t.Fatal(err)
		}
		got := o.Distance(&v)
		if bound := o.LowerBound(v.Bound()); got < bound {
			t.Fatalf("distance %v m, below the bound %v m", got, bound)
		}
		// A grid, then a finer one around its best point.
		want, at, width := math.Inf(1), 0.5, 0.5
		for range 8 {
			centre := at
			for i := -500; i <= 500; i++ {
				k := min(max(centre+width*float64(i)/500, 0), 1)
				if d := o.to(a[0]+k*(b[0]-a[0]), a[1]+k*(b[1]-a[1])); d < want {
					want, at = d, k
				}
			}
			width /= 100
		}
		tolerance := 1e-3
		if want > 0.99*math.Pi*EarthRadius {
			tolerance = 0.2 // The haversine is flat there.
		}
		if got > want+tolerance {
			t.Fatalf("distance %v m from %v to %v-%v, but a point is at %v m", got, p, a, b, want)
		}
	})
}

// The distance to a shape is that to the nearest of its edges, each computed
// alone: no nearer edge is skipped.
func TestDistanceOfEdges(t *testing.T) {
	r := newRand(5)
	for range 2000 {
		scale := []float64{1e-4, 0.1, 20}[r.IntN(3)]
		x, y := r.Float64()*300-150, r.Float64()*140-70
		line := orb.LineString{}
		for range 2 + r.IntN(80) {
			line = append(line, orb.Point{min(max(x+r.NormFloat64()*scale, -180), 180), min(max(y+r.NormFloat64()*scale, -90), 90)})
		}
		at := orb.Point{x + r.NormFloat64()*scale, clamp(y+r.NormFloat64()*scale/2, -90, 90)}
		if r.IntN(3) == 0 { // up to half the globe away
			at = orb.Point{r.Float64()*360 - 180, r.Float64()*180 - 90}
		}
		o, err := NewOrigin(Geographic, at)
		if err != nil {
			t.Fatal(err)
		}
		v := viewOf(t, Planar, line) // as drawn: not cut at 180 degrees
		want := math.Inf(1)
		for i := range line[1:] {
			edge := viewOf(t, Planar, line[i:i+2])
			want = min(want, o.Distance(&edge))
		}
		if got := o.Distance(&v); got != want {
			t.Fatalf("distance %v m, that of the nearest edge is %v m: %v", got, want, line)
		}
	}
}

func TestDistanceCases(t *testing.T) {
	degree := EarthRadius * math.Pi / 180
	for _, c := range []struct {
		name string
		g    orb.Geometry
		p    orb.Point
		want float64
	}{
		{"across 180", orb.Point{179, 0}, orb.Point{-179, 0}, 2 * degree},
		{"180 has two names", orb.Point{180, 5}, orb.Point{-180, 5}, 0},
		{"over the pole", orb.Point{0, 89}, orb.Point{180, 89}, 2 * degree},
		{"at the pole", orb.Point{123, 90}, orb.Point{-7, 90}, 0},
		{"antipode", orb.Point{0, 0}, orb.Point{180, 0}, 180 * degree},
		{"inside", rect(0, 0, 10, 10), orb.Point{5, 5}, 0},
		{"on the edge", rect(0, 0, 10, 10), orb.Point{10, 5}, 0},
		{"in a hole", orb.Polygon{rect(-10, -10, 10, 10)[0], rect(-2, -1, 2, 1)[0]}, orb.Point{0, 0}, degree},
		{"a polygon beyond 180", rect(170, -5, 190, 5), orb.Point{-175, 0}, 0},
		{"near a polygon beyond 180", rect(170, -5, 190, 5), orb.Point{-169, 0}, degree},
		{"on 180, by its other name", rect(-180, -5, -170, 5), orb.Point{180, 0}, 0},
		{"on 180 in it", rect(170, -5, 190, 5), orb.Point{180, 0}, 0},
	} {
		o, err := NewOrigin(Geographic, c.p)
		if err != nil {
			t.Fatal(err)
		}
		v := viewOf(t, Geographic, c.g)
		if got := o.Distance(&v); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %v m, want %v m", c.name, got, c.want)
		}
		for _, b := range v.Boxes(nil) {
			if o.LowerBound(b) > c.want && len(v.Boxes(nil)) == 1 {
				t.Errorf("%s: bound %v m, distance %v m", c.name, o.LowerBound(b), c.want)
			}
		}
	}
	empty := View{}
	o, _ := NewOrigin(Planar, orb.Point{})
	if got := o.Distance(&empty); !math.IsInf(got, 1) {
		t.Errorf("no geometry: %v, want +Inf", got)
	}
	v := stored(t, orb.LineString{{3, -1}, {3, 1}}, nil)
	if got := o.Distance(&v); got != 3 {
		t.Errorf("plane: %v, want 3", got)
	}
}

// TestCircle compares the three relations with distances to many points.
func TestCircle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawLonLat(t, "c")
		radius := rapid.Float64Range(0, 4e6).Draw(t, "radius")
		dx, dy := rapid.Float64Range(0.1, 60).Draw(t, "dx"), rapid.Float64Range(0.1, 40).Draw(t, "dy")
		y := min(max(c[1]+rapid.Float64Range(-40, 40).Draw(t, "y"), -90), 90-dy)
		x := c[0] + rapid.Float64Range(-90, 90).Draw(t, "x")
		g, err := Normalise(rect(x, y, x+dx, y+dy), Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := Append(nil, g, nil)
		if err != nil {
			t.Fatal(err)
		}
		v, _ := Open(b)
		o, _ := NewOrigin(Geographic, c)
		near, far := math.Inf(1), 0.0
		for i := range 61 {
			for j := range 61 {
				d := o.to(x+dx*float64(i)/60, y+dy*float64(j)/60)
				near, far = min(near, d), max(far, d)
			}
		}
		inside := v.locate(o.x, o.y) >= 0
		if inside {
			near = -1
		}
		margin := (dx + dy) / 120 * radians * EarthRadius
		for r, want := range map[Relation][2]bool{
			Intersects: {near <= radius-1e-6, near <= radius+margin},
			Within:     {far <= radius-margin, far <= radius+1e-6},
		} {
			q, err := NewCircle(Geographic, c, radius, r)
			if err != nil {
				t.Fatal(err)
			}
			got, err := q.Match(&v)
			if err != nil {
				t.Fatal(err)
			}
			if got != want[0] && got != want[1] {
				t.Fatalf("relation %d: %v; nearest %v, farthest %v, radius %v", r, got, near, far, radius)
			}
			meets := false
			for _, a := range v.Boxes(nil) {
				for _, b := range q.Boxes() {
					meets = meets || a.Intersects(b)
				}
			}
			if got && !meets {
				t.Fatalf("boxes %v of the circle miss %v", q.Boxes(), v.Boxes(nil))
			}
		}
	})
}

func TestCircleContains(t *testing.T) {
	for _, c := range []struct {
		g      orb.Geometry
		p      orb.Point
		metres float64
		want   bool
	}{
		{rect(170, -10, 190, 10), orb.Point{180, 0}, 1e6, true}, // over the cut
		{rect(170, -10, 190, 10), orb.Point{179, 0}, 1.2e6, false},
		{rect(170, -10, 180, 10), orb.Point{179, 0}, 2e5, false}, // ends at 180
		{rect(-180, 60, 180, 90), orb.Point{5, 90}, 3e6, true},   // a pole
		{rect(-180, 60, 180, 90), orb.Point{5, 89}, 3.5e6, false},
		{orb.Point{0, 0}, orb.Point{0, 0}, 0, false},
	} {
		q, err := NewCircle(Geographic, c.p, c.metres, Contains)
		if err != nil {
			t.Fatal(err)
		}
		v := viewOf(t, Geographic, c.g)
		if got, _ := q.Match(&v); got != c.want {
			t.Errorf("%v contains %v, %v m: %v, want %v", c.g, c.p, c.metres, got, c.want)
		}
	}
}
