package feature

import (
	"math"
	"math/big"
	"testing"

	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"
	"pgregory.net/rapid"
)

// TestOrientExact compares with rational arithmetic, most often near lines.
func TestOrientExact(t *testing.T) {
	rat := func(f float64) *big.Rat { return new(big.Rat).SetFloat64(f) }
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SliceOfN(rapid.Float64Range(-180, 180), 4, 4).Draw(t, "c")
		for i := range c {
			if math.Abs(c[i]) < 1e-100 {
				c[i] = 0 // Products would underflow.
			}
		}
		k := rapid.Float64Range(-1, 2).Draw(t, "k")
		x, y := c[0]+k*(c[2]-c[0]), c[1]+k*(c[3]-c[1])
		if math.Abs(x) < 1e-100 || math.Abs(y) < 1e-100 {
			x, y = c[2], c[3]
		}
		for range rapid.IntRange(0, 3).Draw(t, "steps") {
			y = math.Nextafter(y, 1000) + 1e-100
		}
		l := new(big.Rat).Mul(new(big.Rat).Sub(rat(c[0]), rat(x)), new(big.Rat).Sub(rat(c[3]), rat(y)))
		r := new(big.Rat).Mul(new(big.Rat).Sub(rat(c[1]), rat(y)), new(big.Rat).Sub(rat(c[2]), rat(x)))
		want := l.Cmp(r)
		if got := orient(c[0], c[1], c[2], c[3], x, y); got != want {
			t.Fatalf("orient: got %d, want %d", got, want)
		}
		if got := orientExact(c[0], c[1], c[2], c[3], x, y); got != want {
			t.Fatalf("orientExact: got %d, want %d", got, want)
		}
	})
}

// TestAgainstLibrary: this package's answers, by points, boxes and polygons,
// equal those of simplefeatures on geometries that touch a lot.
func TestAgainstLibrary(t *testing.T) {
	seen := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		g := drawGeometry(t, "g")
		v, lib := both(t, g)
		x := float64(rapid.IntRange(-7, 7).Draw(t, "x"))
		y := float64(rapid.IntRange(-7, 7).Draw(t, "y"))
		w := float64(rapid.IntRange(1, 5).Draw(t, "w"))
		h := float64(rapid.IntRange(1, 5).Draw(t, "h"))
		ask := func(name string, q *Query, err error, want bool) {
			if err != nil {
				t.Fatal(err)
			}
			got, err := q.Match(&v)
			if err != nil {
				t.Fatal(err)
			}
			seen[got]++
			if got != want {
				t.Fatalf("%s of %v: got %v, want %v", name, g, got, want)
			}
		}
		q, err := NewPoint(Planar, orb.Point{x, y})
		ask("point", q, err, geom.Intersects(lib, geom.NewPointXY(x, y).AsGeometry()))
		areas := []orb.Polygon{rect(x, y, x+w, y+h)}
		if p, ok := drawPolygon(t, "q"); ok {
			areas = append(areas, p)
		}
		for i, p := range areas {
			_, area := both(t, p)
			within, contains := libWithin(t, g, area), libContains(t, g, area)
			want := map[Relation]bool{
				Intersects: geom.Intersects(lib, area), Within: within, Contains: contains,
			}
			for r, want := range want {
				q, err := NewPolygon(Planar, p, r)
				ask("polygon", q, err, want)
				if i == 0 {
					q, err := NewBox(Planar, x, y, x+w, y+h, r)
					ask("box", q, err, want)
				}
			}
		}
	})
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("answers: %v, want some of both", seen)
	}
}

// libWithin and libContains split collections, as library does: the members of
// drawGeometry's do not touch in ways that need more.
func libWithin(t *rapid.T, g orb.Geometry, area geom.Geometry) bool {
	members, ok := g.(orb.Collection)
	if !ok {
		members = orb.Collection{g}
	}
	inside := false
	for _, m := range members {
		_, lib := both(t, m)
		covered, err := geom.CoveredBy(lib, area)
		if err != nil {
			t.Fatal(err)
		}
		within, err := geom.Within(lib, area)
		if err != nil {
			t.Fatal(err)
		}
		if !covered {
			return false
		}
		inside = inside || within
	}
	return inside
}

func libContains(t *rapid.T, g orb.Geometry, area geom.Geometry) bool {
	if members, ok := g.(orb.Collection); ok {
		g = members[2] // the polygon
	}
	_, lib := both(t, g)
	contains, err := geom.Contains(lib, area)
	if err != nil {
		t.Fatal(err)
	}
	return contains
}

func both(t *rapid.T, g orb.Geometry) (View, geom.Geometry) {
	b, err := Append(nil, g, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	lib, err := geom.UnmarshalGeoJSON(v.AppendGeometryJSON(nil), geom.NoValidate{})
	if err != nil {
		t.Fatal(err)
	}
	if err := lib.Validate(); err != nil {
		t.Skip("not valid: ", err)
	}
	return v, lib
}

// TestChunks: answers with chunks equal those from all edges of a ring.
func TestChunks(t *testing.T) {
	r := newRand(5)
	for n := 40; n < 400; n += 37 {
		p := star(r, n, 0, 0, 1)
		p = append(p, star(r, 3*chunkEdges, 0, 0, 0.3)[0])
		v := stored(t, p, nil)
		if v.nchunks < 2 {
			t.Fatalf("%d chunks", v.nchunks)
		}
		for range 2000 {
			x, y := 2.2*r.Float64()-1.1, 2.2*r.Float64()-1.1
			if r.IntN(4) == 0 {
				c := p[r.IntN(2)][r.IntN(n)%(3*chunkEdges)%n]
				x, y = c[0], c[1]
			}
			want := min(sideOfRing(p[0], x, y), -sideOfRing(p[1], x, y))
			if got := v.locate(x, y); got != want {
				t.Fatalf("locate(%v, %v) = %d, want %d", x, y, got, want)
			}
			b := Box{x, y, x + 0.1*r.Float64(), y + 0.1*r.Float64()}
			box := stored(t, orb.Bound{Min: orb.Point{b.MinX, b.MinY}, Max: orb.Point{b.MaxX, b.MaxY}}, nil)
			if got, want := v.meetsBox(b), intersects(&v, &box); got != want {
				t.Fatalf("meetsBox(%v) = %v, as polygons %v", b, got, want)
			}
		}
	}
}

// TestBoxesCover: every point of a geometry lies in one of its boxes.
func TestBoxesCover(t *testing.T) {
	r := newRand(6)
	several := 0
	for range 30 {
		m := orb.MultiPolygon{star(r, 500, 0, 0, 5), star(r, 50, 100*r.Float64(), 30, 1)}
		for i := range m[0][0] {
			m[0][0][i][0] += 4 * m[0][0][i][1] // Slanted.
		}
		v := stored(t, m, nil)
		boxes := v.Boxes(nil)
		if len(boxes) > 1 {
			several++
		}
		in := 0
		for range 3000 {
			x, y := 50*r.Float64()-25, 12*r.Float64()-6
			if v.locate(x, y) < 0 {
				continue
			}
			in++
			if !anyHas(boxes, x, y) {
				t.Fatalf("(%v, %v) is in the geometry, not in %v", x, y, boxes)
			}
		}
		for i := range v.nvertices {
			if x, y := v.vertex(i); !anyHas(boxes, x, y) {
				t.Fatalf("vertex (%v, %v) not in %v", x, y, boxes)
			}
		}
		if in == 0 {
			t.Fatal("no point was inside")
		}
	}
	if several < 20 {
		t.Errorf("%d of 30 have several boxes", several)
	}
}

func anyHas(boxes []Box, x, y float64) bool {
	for _, b := range boxes {
		if b.hasPoint(x, y) {
			return true
		}
	}
	return false
}

func TestMatchCases(t *testing.T) {
	ring := orb.Polygon{rect(-10, -10, 10, 10)[0], rect(-1, -1, 1, 1)[0]}
	big := rect(-10, -10, 10, 10)
	for _, c := range []struct {
		name string
		g    orb.Geometry
		area orb.Polygon
		r    Relation
		want bool
	}{
		{"around a hole", rect(-5, -5, 5, 5), ring, Within, false},
		{"around a hole", rect(-5, -5, 5, 5), ring, Intersects, true},
		{"in a hole", rect(-0.5, -0.5, 0.5, 0.5), ring, Intersects, false},
		{"fills a hole", rect(-1, -1, 1, 1), ring, Intersects, true},
		{"fills a hole", rect(-1, -1, 1, 1), ring, Within, false},
		{"beside a hole", rect(1, 1, 5, 5), ring, Within, true},
		{"from corner to corner", orb.LineString{{-10, -10}, {10, 10}}, big, Within, true},
		{"along an edge", orb.LineString{{-10, -10}, {10, -10}}, big, Within, false},
		{"along two edges", orb.LineString{{-10, -10}, {10, -10}, {10, 10}}, big, Within, false},
		{"on an edge", orb.Point{10, 0}, big, Within, false},
		{"on an edge", orb.Point{10, 0}, big, Intersects, true},
		{"one on an edge", orb.MultiPoint{{10, 0}, {0, 0}}, big, Within, true},
		{"one outside", orb.MultiPoint{{11, 0}, {0, 0}}, big, Within, false},
		{"touches a corner", rect(10, 10, 11, 11), big, Intersects, true},
		{"holds it, and a point far away", orb.Collection{rect(-20, -20, 20, 20), orb.Point{50, 50}}, big, Contains, true},
		{"a line cannot", orb.LineString{{-20, 0}, {20, 0}}, big, Contains, false},
	} {
		v := stored(t, c.g, nil)
		q, err := NewPolygon(Planar, c.area, c.r)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := q.Match(&v); got != c.want || err != nil {
			t.Errorf("%s, relation %d: %v, %v, want %v", c.name, c.r, got, err, c.want)
		}
		if len(c.area) > 1 {
			continue
		}
		if q, err = NewBox(Planar, -10, -10, 10, 10, c.r); err != nil {
			t.Fatal(err)
		}
		if got, err := q.Match(&v); got != c.want || err != nil {
			t.Errorf("%s, as a box, relation %d: %v, %v, want %v", c.name, c.r, got, err, c.want)
		}
	}
}
