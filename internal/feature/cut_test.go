package feature

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/paulmach/orb"
)

func TestCutLines(t *testing.T) {
	for _, c := range []struct{ in, want orb.Geometry }{
		{orb.LineString{{0, 0}, {180, 0}}, orb.LineString{{0, 0}, {180, 0}}},
		{orb.LineString{{170, 0}, {-170, 10}}, orb.MultiLineString{{{170, 0}, {180, 5}}, {{-180, 5}, {-170, 10}}}},
		{orb.LineString{{-170, 0}, {170, 10}}, orb.MultiLineString{{{-170, 0}, {-180, 5}}, {{180, 5}, {170, 10}}}},
		{orb.LineString{{170, 0}, {190, 10}}, orb.MultiLineString{{{170, 0}, {180, 5}}, {{-180, 5}, {-170, 10}}}},
		{orb.LineString{{190, 0}, {200, 10}}, orb.LineString{{-170, 0}, {-160, 10}}},
		{orb.LineString{{170, 0}, {180, 5}, {170, 10}}, orb.LineString{{170, 0}, {180, 5}, {170, 10}}},
		{orb.LineString{{180, 0}, {190, 5}}, orb.LineString{{-180, 0}, {-170, 5}}},
		{orb.LineString{{180, 0}, {185, 0}, {175, 0}},
			orb.MultiLineString{{{-180, 0}, {-175, 0}, {-180, 0}}, {{180, 0}, {175, 0}}}},
		// A longitude that is moved there and back stays the same number.
		{orb.LineString{{170, 0}, {-100.1, 0}, {-10.3, 5}},
			orb.MultiLineString{{{170, 0}, {180, 0}}, {{-180, 0}, {-100.1, 0}, {-10.3, 5}}}},
		{orb.MultiPoint{{190, 1}, {5, 5}}, orb.MultiPoint{{-170, 1}, {5, 5}}},
		{orb.Point{-185.5, 1}, orb.Point{174.5, 1}},
		{orb.Point{-180, 1}, orb.Point{-180, 1}},
	} {
		got, err := Normalise(c.in, Options{})
		if err != nil {
			t.Errorf("%v: %v", c.in, err)
		} else if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.in, got, c.want)
		}
	}
}

func TestCutPolygons(t *testing.T) {
	hole := rect(175, -5, 185, 5)[0]
	small := rect(181, 6, 182, 7)[0]
	world := orb.Polygon{{{-180, -90}, {180, -90}, {180, 90}, {-180, 90}, {-180, -90}}}
	for _, c := range []struct {
		name    string
		in      orb.Geometry
		in1     []orb.Point
		out     []orb.Point
		pieces  int
		degrees float64 // area in square degrees
	}{
		{"unwrapped", rect(170, -10, 190, 10), []orb.Point{{175, 0}, {-175, 0}, {180, 0}, {-180, 1}},
			[]orb.Point{{0, 0}, {169, 0}, {-169, 0}}, 2, 400},
		{"wrapped", orb.Polygon{{{170, -10}, {-170, -10}, {-170, 10}, {170, 10}, {170, -10}}},
			[]orb.Point{{175, 0}, {-175, 0}}, []orb.Point{{0, 0}}, 2, 400},
		{"a wide window, as written", orb.Polygon{{{-170, -10}, {170, -10}, {170, 10}, {-170, 10}, {-170, -10}}},
			[]orb.Point{{0, 0}}, []orb.Point{{175, 0}}, 1, 6800},
		{"all beyond", rect(190, -10, 200, 10), []orb.Point{{-165, 0}}, []orb.Point{{165, 0}}, 1, 200},
		{"the world", world, []orb.Point{{0, 0}, {180, 90}, {-180, -90}}, nil, 1, 360 * 180},
		{"a hole that is cut", orb.Polygon{rect(170, -10, 190, 10)[0], hole},
			[]orb.Point{{172, 0}, {-172, 0}, {180, 8}}, []orb.Point{{178, 0}, {-178, 0}, {180, 0}}, 2, 300},
		{"a hole to the east", orb.Polygon{rect(170, -10, 190, 10)[0], small, orb.Ring(rect(-175, -8, -174, -7)[0])},
			[]orb.Point{{172, 0}}, []orb.Point{{-178.5, 6.5}, {-174.5, -7.5}}, 2, 398},
		{"the north pole", orb.Polygon{{{0, 80}, {90, 80}, {180, 80}, {-90, 80}, {0, 80}}},
			[]orb.Point{{12, 85}, {-179, 85}, {180, 90}, {0, 90}}, []orb.Point{{0, 79}, {0, -90}}, 1, 3600},
		{"the south pole, westwards", orb.Polygon{{{0, -80}, {-120, -80}, {120, -80}, {0, -80}}},
			[]orb.Point{{12, -85}, {-179, -85}}, []orb.Point{{0, -79}, {0, 90}}, 1, 3600},
		{"corners on 180", orb.Polygon{{{180, -5}, {185, 0}, {180, 5}, {175, 0}, {180, -5}}},
			[]orb.Point{{177, 0}, {-177, 0}}, []orb.Point{{176, 3}}, 2, 50},
		{"two teeth", orb.Polygon{{{170, 0}, {190, 0}, {190, 4}, {175, 4}, {175, 6}, {190, 6}, {190, 10}, {170, 10}, {170, 0}}},
			[]orb.Point{{-175, 2}, {-175, 8}, {172, 5}}, []orb.Point{{-175, 5}, {178, 5}}, 3, 170},
	} {
		// Sliding the start of the ring must not matter.
		for slide := range 3 {
			g := c.in
			if p, ok := g.(orb.Polygon); ok {
				p = append(orb.Polygon{}, p...)
				r := p[0][:len(p[0])-1]
				r = append(append(orb.Ring{}, r[slide%len(r):]...), r[:slide%len(r)]...)
				p[0] = append(r, r[0])
				g = p
			}
			got, err := Normalise(g, Options{})
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			v := stored(t, got, nil)
			pieces, area := 1, 0.0
			polygons, ok := got.(orb.MultiPolygon)
			if ok {
				pieces = len(polygons)
			} else {
				polygons = orb.MultiPolygon{got.(orb.Polygon)}
			}
			for _, p := range polygons {
				for i, r := range p {
					for k := 1; k < len(r); k++ {
						if r[k] == r[k-1] {
							t.Errorf("%s: %v comes twice", c.name, r[k])
						}
					}
					a := math.Abs(signedArea(r))
					if i > 0 {
						a = -a
					}
					area += a
				}
			}
			// A ring around a pole may begin anywhere, and so be cut or not.
			if pieces != c.pieces && c.degrees != 3600 || math.Abs(area-c.degrees) > 1e-9 {
				t.Errorf("%s: %d pieces of %v square degrees, want %d, %v: %v",
					c.name, pieces, area, c.pieces, c.degrees, got)
			}
			for _, p := range c.in1 {
				if !v.hasPoint(p[0], p[1]) {
					t.Errorf("%s: %v is not in %v", c.name, p, got)
				}
			}
			for _, p := range c.out {
				if v.hasPoint(p[0], p[1]) {
					t.Errorf("%s: %v is in %v", c.name, p, got)
				}
			}
		}
	}
}

// TestCutRandom: a star across 180 degrees has the same points before and after
// it is cut, and keeps its input longitudes.
func TestCutRandom(t *testing.T) {
	r := newRand(9)
	for range 200 {
		x := 175 + 10*r.Float64()
		p := star(r, 5+r.IntN(40), x, 20, 12)
		given := map[orb.Point]bool{}
		wrapped := orb.Polygon{make(orb.Ring, len(p[0]))}
		for i, c := range p[0] {
			wrapped[0][i] = orb.Point{wrapLongitude(c[0]), c[1]}
			given[wrapped[0][i]] = true
		}
		g, err := Normalise(wrapped, Options{})
		if err != nil {
			t.Fatal(err)
		}
		v := stored(t, g, nil)
		kept := 0
		for i := range v.nvertices {
			a, b := v.vertex(i)
			if given[orb.Point{a, b}] {
				kept++
			} else if math.Abs(a) != 180 {
				t.Fatalf("(%v, %v) was not given", a, b)
			}
		}
		if kept < len(given) {
			t.Fatalf("%d of %d positions kept", kept, len(given))
		}
		for range 300 {
			a, b := x+26*r.Float64()-13, 20+26*r.Float64()-13
			if got, want := v.hasPoint(wrapLongitude(a), b), sideOfRing(p[0], a, b) >= 0; got != want {
				t.Fatalf("(%v, %v): %v, want %v", a, b, got, want)
			}
		}
	}
}

func TestUnwrapRefuses(t *testing.T) {
	spiral := orb.Ring{}
	for i := range 25 {
		spiral = append(spiral, orb.Point{wrapLongitude(float64(i) * 90), float64(i)})
	}
	spiral = append(spiral, orb.Point{0, 30}, spiral[0])
	if _, err := Normalise(orb.Polygon{spiral}, Options{}); !errors.Is(err, ErrInvalidGeometry) {
		t.Errorf("spiral: %v, want ErrInvalidGeometry", err)
	}
}

// TestCountries checks known facts about real borders.
func TestCountries(t *testing.T) {
	all := countries(t, "testdata/countries.geojson")
	where := func(x, y float64) (codes string) {
		q, err := NewPoint(Geographic, orb.Point{x, y})
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			if ok, _ := q.Match(&all[i].view); ok {
				codes += all[i].code + " "
			}
		}
		return codes
	}
	for _, c := range []struct {
		x, y float64
		want string
	}{
		{28.2, -29.5, "LS "}, // Lesotho, in South Africa's hole
		{28.05, -26.2, "ZA "},
		{12.46, 43.94, "SM "}, // San Marino, in Italy's hole
		{12.4533, 41.9033, "VA "},
		{12.6, 41.9, "IT "},
		{9.55, 47.15, "LI "},
		{-175, 66, "RU "}, // Chukotka, beyond 180 degrees
		{175, 66, "RU "},
		{185, 66, "RU "},
		{-60.9, 14.6, "FR "}, // Martinique, a part far away
		{0, 0, ""},
	} {
		if got := where(c.x, c.y); got != c.want {
			t.Errorf("(%v, %v) is in %q, want %q", c.x, c.y, got, c.want)
		}
	}
	for i := range all {
		v := &all[i].view
		switch all[i].code {
		case "RU-CHU":
			if v.Type() != None {
				t.Errorf("RU-CHU is %v, want none", v.Type())
			}
			continue
		case "RU", "FJ":
			for _, b := range v.Boxes(nil) {
				if b.MaxX-b.MinX > 180 {
					t.Errorf("%s has a box as wide as %v", all[i].code, b)
				}
			}
		}
		// Every country is within itself, and contains itself.
		for _, r := range []Relation{Intersects, Within, Contains} {
			q := &Query{space: Geographic, relation: r, kind: queryPolygon, area: *v}
			if ok, err := q.Match(v); !ok || err != nil {
				t.Errorf("%s and itself, relation %d: %v, %v", all[i].code, r, ok, err)
			}
		}
	}
}

func TestBoxQueries(t *testing.T) {
	fiji := viewOf(t, Geographic, rect(177, -19, 181, -16))
	point := viewOf(t, Geographic, orb.Point{180, 0})
	var again Query // set again from the last case's query
	for _, c := range []struct {
		w, s, e, n float64
		r          Relation
		v          *View
		want       bool
	}{
		{170, -20, -170, -10, Intersects, &fiji, true},
		{170, -20, -170, -10, Within, &fiji, true},
		{170, -20, 190, -10, Within, &fiji, true},
		{170, -20, 180, -10, Within, &fiji, false},
		{-180, -20, -179.5, -10, Intersects, &fiji, true},
		{-170, -20, 170, -10, Intersects, &fiji, false},
		{178, -18, -179.5, -17, Contains, &fiji, true},
		{178, -18, -178, -17, Contains, &fiji, false},
		{170, -1, 180, 1, Intersects, &point, true},
		{-180, -1, -170, 1, Intersects, &point, true},
		{170, -1, -170, 1, Within, &point, false}, // Known: on the seam's edge.
		{-180, -90, 180, 90, Intersects, &point, true},
		{180, 0, 180, 0, Within, &point, true},
	} {
		q, err := NewBox(Geographic, c.w, c.s, c.e, c.n, c.r)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.SetBox(Geographic, c.w, c.s, c.e, c.n, c.r); err != nil {
			t.Fatal(err)
		}
		for _, q := range []*Query{q, &again} {
			if got, err := q.Match(c.v); got != c.want || err != nil {
				t.Errorf("%v %v %v %v relation %d: %v, %v, want %v", c.w, c.s, c.e, c.n, c.r, got, err, c.want)
			}
		}
		if !slices.Equal(q.Boxes(), again.Boxes()) {
			t.Errorf("boxes %v, set anew %v", q.Boxes(), again.Boxes())
		}
	}
	for _, c := range []struct {
		s           Space
		w, so, e, n float64
	}{{Planar, 1, 0, 0, 1}, {Geographic, 0, 1, 1, 0}, {Geographic, 0, -91, 1, 0}} {
		if _, err := NewBox(c.s, c.w, c.so, c.e, c.n, Within); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}
