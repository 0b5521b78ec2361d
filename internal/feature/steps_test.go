package feature

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/paulmach/orb"
)

// spiral has 16 positions a turn, and turns that are 0.01 apart.
func spiral(n int, offset float64) orb.LineString {
	l := make(orb.LineString, n)
	for i := range l {
		turn := float64(i) / 16
		s, c := math.Sincos(turn * 2 * math.Pi)
		l[i] = orb.Point{(turn + 2 + offset) * c / 100, (turn + 2 + offset) * s / 100}
	}
	return l
}

// strip is an area along a spiral.
func strip(n int, offset float64) orb.Polygon {
	ring := orb.Ring(spiral(n, offset))
	back := spiral(n, offset+0.2)
	slices.Reverse(back)
	ring = append(ring, back...)
	return orb.Polygon{append(ring, ring[0])}
}

// A test of two geometries that are wound into each other compares nearly each
// part with each. It is divided, and ends at an error of Pause.
func TestMatchInSteps(t *testing.T) {
	const n = 4000
	line, area := stored(t, spiral(n-100, 0.6), nil), stored(t, strip(n, 0), nil)
	areaOf := func(positions int, offset float64, r Relation) *Query {
		q, err := NewPolygon(Geographic, strip(positions, offset), r)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	contains := areaOf(n-100, 0.5, Contains)
	for name, q := range map[string]*Query{"intersects": areaOf(n, 0, Intersects), "within": areaOf(n, 0, Within), "contains": contains} {
		v := &line
		if q == contains {
			v = &area
		}
		pauses := 0
		ok, err := q.MatchIn(v, &Steps{Pause: func() error { pauses++; return nil }})
		if ok || err != nil {
			t.Errorf("%s: %t, %v", name, ok, err)
		}
		// Half of the pairs of chunks are compared, edge by edge.
		chunks := n / chunkEdges
		if least := chunks * 2 * chunks / 4 * chunkEdges / stepUnits; pauses < least {
			t.Errorf("%s: %d pauses, want %d at least", name, pauses, least)
		}
		enough, left := errors.New("enough"), 3
		ok, err = q.MatchIn(v, &Steps{Pause: func() error {
			if left--; left == 0 {
				return enough
			}
			return nil
		}})
		if ok || !errors.Is(err, enough) || left != 0 {
			t.Errorf("%s: told to end it says %t, %v, and asked %d times more", name, ok, err, -left)
		}
	}
}

// Steps change no answer, and small geometries are not divided.
func TestMatchInEqualsMatch(t *testing.T) {
	rng := newRand(5)
	var queries []*Query
	for _, r := range []Relation{Intersects, Within, Contains} {
		for _, n := range []int{8, 300} {
			q, err := NewPolygon(Geographic, star(rng, n, 1, 1, 3), r)
			if err != nil {
				t.Fatal(err)
			}
			box, err := NewBox(Geographic, -1, -1, 2, 2, r)
			if err != nil {
				t.Fatal(err)
			}
			circle, err := NewCircle(Geographic, orb.Point{1, 1}, 2e5, r)
			if err != nil {
				t.Fatal(err)
			}
			queries = append(queries, q, box, circle)
		}
	}
	pauses := 0
	steps := &Steps{Pause: func() error { pauses++; return nil }}
	many := make(orb.MultiPoint, 3000)
	for range 30 {
		for i := range many {
			many[i] = orb.Point{rng.Float64(), rng.Float64()}
		}
		x, y, size := rng.Float64()*4-2, rng.Float64()*4-2, rng.Float64()*4
		for _, g := range []orb.Geometry{
			orb.Point{x, y}, many, star(rng, 6, x, y, size), star(rng, 2000, x, y, size), orb.LineString(star(rng, 2000, x, y, size)[0]),
		} {
			v := stored(t, g, nil)
			for i, q := range queries {
				want, err := q.Match(&v)
				if err != nil {
					t.Fatal(err)
				}
				before := pauses
				got, err := q.MatchIn(&v, steps)
				if err != nil || got != want {
					t.Errorf("query %d of a %v: %t, %v, want %t", i, v.Type(), got, err, want)
				}
				if v.nvertices < chunkEdges && q.area.nvertices < chunkEdges && pauses != before {
					t.Errorf("query %d of a %v of %d positions paused", i, v.Type(), v.nvertices)
				}
			}
		}
	}
	if pauses == 0 {
		t.Error("none paused")
	}
}

// A test that only the library can decide, and would take long, is an error: of
// polygons that are wound along each other, or of very many positions.
func TestTouchingTooLarge(t *testing.T) {
	g := orb.Polygon{circle(maxTouchPositions/2 + 1)}
	q, err := NewPolygon(Geographic, g, Within)
	if err != nil {
		t.Fatal(err)
	}
	v := stored(t, g, nil)
	if ok, err := q.Match(&v); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d positions: %t, %v", 2*v.nvertices, ok, err)
	}
	const n = 1000
	v = stored(t, strip(n, 0), nil) // It lies within itself, and each half of it along the other.
	how, tests := contact(&v, &v)
	if least := n / chunkEdges * n / chunkEdges * chunkEdges; how != touching || tests < least {
		t.Errorf("%d, %d tests, want %d at least", how, tests, least)
	}
	if err := libraryTakes(100, maxTouchTests+1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d tests: %v", maxTouchTests+1, err)
	}
	g = orb.Polygon{circle(2000)}
	if q, err = NewPolygon(Geographic, g, Within); err != nil {
		t.Fatal(err)
	}
	v = stored(t, g, nil)
	if ok, err := q.Match(&v); !ok || err != nil {
		t.Errorf("a circle of 2,000 positions lies within itself: %t, %v", ok, err)
	}
}

func circle(n int) orb.Ring {
	r := make(orb.Ring, n)
	for i := range r {
		s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		r[i] = orb.Point{c, s}
	}
	return append(r, r[0])
}
