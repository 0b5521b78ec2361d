package feature

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"pgregory.net/rapid"
)

var none = math.NaN()

// sameAltitudes compares bit by bit, and takes all NaN as equal.
func sameAltitudes(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool {
		return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
	})
}

// drawAltitudes has some NaN, or NaN alone, or is nil.
func drawAltitudes(t *rapid.T, n int) []float64 {
	if rapid.IntRange(0, 3).Draw(t, "no z") == 0 {
		return nil
	}
	return rapid.SliceOfN(rapid.OneOf(
		rapid.Just(none), rapid.Just(math.Copysign(0, -1)), rapid.Float64Range(-1e4, 1e4), rapid.Float64(),
	), n, n).Draw(t, "z")
}

// The bytes of Append are read as a View, as the bytes of a part of it, and as
// GeoJSON. Without altitudes they are the same as before altitudes existed.
func TestAltitudesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGeometry(t, "g")
		z := drawAltitudes(t, positionsOf(g, 0))
		if slices.ContainsFunc(z, func(z float64) bool { return math.IsInf(z, 0) }) {
			t.SkipNow()
		}
		p := []byte(`{"a":[1],"b":2}`)
		b, err := AppendZ([]byte("x"), g, z, p)
		if err != nil {
			t.Fatal(err)
		}
		b = b[1:]
		plain, err := Append(nil, g, p)
		if err != nil {
			t.Fatal(err)
		}
		want := someAltitudes(z)
		if want == nil && !bytes.Equal(b, plain) {
			t.Fatalf("%x without altitudes, before %x", b, plain)
		}
		v, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string, v *View) {
			if got := v.Altitudes(nil); !sameAltitudes(got, want) || v.HasAltitudes() != (want != nil) {
				t.Fatalf("%s: altitudes %v, want %v", what, got, want)
			}
			if got := v.Geometry(); !reflect.DeepEqual(got, g) {
				t.Fatalf("%s: %v, want %v", what, got, g)
			}
		}
		check("stored", &v)
		again, err := AppendZ(nil, v.Geometry(), v.Altitudes(nil), v.Properties())
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x, %v, want %x", again, err, b)
		}
		for _, s := range []Selection{{Fields: []string{"b"}}, {NoProperties: true}} {
			some, err := Parse(v.AppendSelected(nil, &s))
			if err != nil {
				t.Fatal(err)
			}
			check("selected", &some)
		}
		if some, err := Parse(v.AppendSelected(nil, &Selection{NoGeometry: true})); err != nil || some.HasAltitudes() {
			t.Fatalf("no geometry: %v", err)
		}
		for _, p := range [][]byte{nil, []byte(`{"c":3}`)} {
			got, err := v.AppendReplacing([]byte("x"), p)
			if err != nil {
				t.Fatal(err)
			}
			want, err := AppendZ([]byte("x"), g, z, p)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%x, %v, want %x", got, err, want)
			}
		}
		text := v.AppendGeoJSON(nil, "x")
		f, err := Decode(text, Options{Space: Planar, Lenient: true})
		if err != nil {
			t.Fatal(err)
		}
		if !sameAltitudes(f.Altitudes, want) || !reflect.DeepEqual(f.Geometry, g) {
			t.Fatalf("%s: altitudes %v, want %v", text, f.Altitudes, want)
		}
	})
}

// Normalise treats a geometry with altitudes as one without. Here each altitude is 100
// times the latitude, also on the edges between positions, and wherever a longitude is
// moved to. So every altitude must be 100 times the latitude afterwards.
func TestNormaliseZ(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGeometry(t, "g")
		scale := rapid.SampledFrom([]float64{1, 11, 30, 47}).Draw(t, "scale")
		shift := float64(rapid.IntRange(-350, 350).Draw(t, "shift"))
		g = moved(g, func(p orb.Point) orb.Point {
			return orb.Point{min(max(p[0]*scale+shift, -360), 360), p[1] * 4}
		})
		var z []float64
		moved(g, func(p orb.Point) orb.Point { z = append(z, 100*p[1]); return p })
		o := Options{Lenient: true}
		want, err := Normalise(g, o)
		got, zs, errZ := NormaliseZ(g, z, o)
		if (err == nil) != (errZ == nil) || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v, %v, want %v, %v", got, errZ, want, err)
		}
		if err != nil || got == nil {
			return
		}
		i := 0
		moved(got, func(p orb.Point) orb.Point {
			atPole := math.Abs(p[1]) == 90
			if z := 100 * p[1]; !(math.Abs(zs[i]-z) < 1e-6) && !(atPole && zs[i] != zs[i]) {
				t.Fatalf("%v: altitude %v at %v of %v", g, zs[i], p, got)
			}
			i++
			return p
		})
		if i != len(zs) {
			t.Fatalf("%d altitudes of %d positions", len(zs), i)
		}
	})
}

// moved calls f for each position, in order, and builds the geometry of its results.
func moved(g orb.Geometry, f func(orb.Point) orb.Point) orb.Geometry {
	line := func(ps []orb.Point) []orb.Point {
		var out []orb.Point
		for _, p := range ps {
			out = append(out, f(p))
		}
		return out
	}
	polygon := func(p orb.Polygon) orb.Polygon {
		var out orb.Polygon
		for _, r := range p {
			out = append(out, line(r))
		}
		return out
	}
	switch g := g.(type) {
	case orb.Point:
		return f(g)
	case orb.MultiPoint:
		return orb.MultiPoint(line(g))
	case orb.LineString:
		return orb.LineString(line(g))
	case orb.MultiLineString:
		var out orb.MultiLineString
		for _, l := range g {
			out = append(out, line(l))
		}
		return out
	case orb.Polygon:
		return polygon(g)
	case orb.MultiPolygon:
		var out orb.MultiPolygon
		for _, p := range g {
			out = append(out, polygon(p))
		}
		return out
	}
	var out orb.Collection
	for _, m := range g.(orb.Collection) {
		out = append(out, moved(m, f))
	}
	return out
}

// TestDecodeAltitudes goes from text to text.
func TestDecodeAltitudes(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{`{"type":"Point","coordinates":[1,2,700.25]}`, ""},
		{`{"type":"Point","coordinates":[1,2,-0]}`, ""},
		{`{"type":"Point","coordinates":[1,2,1e-300]}`, ""},
		{`{"type":"Point","coordinates":[1,2,3,4,"m"]}`, "error"},
		{`{"type":"Point","coordinates":[1,2,1e999]}`, "error"},
		{`{"type":"Point","coordinates":[1,2,null]}`, "error"},
		{`{"type":"Point","coordinates":[1,2,3,4,5]}`, `{"type":"Point","coordinates":[1,2,3]}`},
		{`{"type":"Point","coordinates":[1,2,3],"coordinates":[4,5]}`, `{"type":"Point","coordinates":[4,5]}`},
		{`{"type":"Point","coordinates":[4,5],"coordinates":[1,2,3]}`, `{"type":"Point","coordinates":[1,2,3]}`},
		{`{"coordinates":[1,2,3],"type":"Point"}`, `{"type":"Point","coordinates":[1,2,3]}`},
		{`{"type":"LineString","coordinates":[[0,0,9],[1,1]],"type":"LineString"}`, `{"type":"LineString","coordinates":[[0,0,9],[1,1]]}`},
		{`{"type":"Point","coordinates":[1,2,3],"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[4,5]}]}`,
			`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[4,5]}]}`},
		{`{"type":"LineString","coordinates":[[1,2],[3,4,5],[6,7]]}`, ""},
		{`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]},{"type":"GeometryCollection","geometries":[` +
			`{"type":"MultiPoint","coordinates":[[1,2,3],[4,5]]}]},{"type":"Point","coordinates":[6,7,8]}]}`, ""},
		// A hole without a shell is left out, with its altitudes.
		{`{"type":"MultiPolygon","coordinates":[[[],[[0,0,1],[1,0,1],[1,1,1],[0,0,1]]],[[[5,5,2],[6,5,3],[6,6,4],[5,5,5]]]]}`,
			`{"type":"MultiPolygon","coordinates":[[[[5,5,2],[6,5,3],[6,6,4],[5,5,5]]]]}`},
		// Cut at 180 degrees, at the altitude of the edge, if both ends have altitudes.
		{`{"type":"LineString","coordinates":[[170,0,0],[-170,0,100]]}`,
			`{"type":"MultiLineString","coordinates":[[[170,0,0],[180,0,50]],[[-180,0,50],[-170,0,100]]]}`},
		{`{"type":"LineString","coordinates":[[170,0,7],[-170,0]]}`,
			`{"type":"MultiLineString","coordinates":[[[170,0,7],[180,0]],[[-180,0],[-170,0]]]}`},
		{`{"type":"LineString","coordinates":[[170,0,1e+308],[-170,0,-1e+308]]}`,
			`{"type":"MultiLineString","coordinates":[[[170,0,1e+308],[180,0]],[[-180,0],[-170,0,-1e+308]]]}`},
		{`{"type":"Point","coordinates":[181,2,3]}`, `{"type":"Point","coordinates":[-179,2,3]}`},
		// The pole has none.
		{`{"type":"Polygon","coordinates":[[[0,80,1],[120,80,1],[-120,80,1],[0,80,1]]]}`,
			`{"type":"MultiPolygon","coordinates":[[[[180,90],[0,90],[0,80,1],[120,80,1],[180,80,1],[180,90]]],` +
				`[[[-180,80,1],[-120,80,1],[0,80,1],[0,90],[-180,90],[-180,80,1]]]]}`},
	} {
		want := c.out
		if want == "" {
			want = c.in
		}
		f, err := Decode([]byte(`{"type":"Feature","geometry":`+c.in+`}`), Options{})
		if want == "error" {
			if !errors.Is(err, ErrSyntax) {
				t.Errorf("%s: %v", c.in, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		b, err := AppendZ(nil, f.Geometry, f.Altitudes, nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(v.AppendGeometryJSON(nil)); got != want {
			t.Errorf("%s: got\n%s, want\n%s", c.in, got, want)
		}
		if g, z, err := DecodeGeometryZ([]byte(c.in), Options{}); err != nil || !reflect.DeepEqual(g, f.Geometry) || !sameAltitudes(z, f.Altitudes) {
			t.Errorf("%s alone: %v, %v, %v", c.in, g, z, err)
		}
	}
	// An open ring is closed at the altitude where it began.
	f, err := Decode([]byte(`{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[5,5,2],[6,5,3],[6,6,4]]]}}`), Options{Lenient: true})
	if err != nil || !slices.Equal(f.Altitudes, []float64{2, 3, 4, 2}) {
		t.Errorf("%v, %v", f.Altitudes, err)
	}
}

// TestAltitudesLayout: the bytes do not change.
func TestAltitudesLayout(t *testing.T) {
	for _, c := range []struct {
		g    orb.Geometry
		z    []float64
		want string
	}{
		{orb.Point{1, 2}, []float64{3}, "0101000302000000" + "000000000000f03f" + "0000000000000040" + "0000000000000840" + "7b7d"},
		{orb.LineString{{1, 2}, {3, 4}}, []float64{none, 5}, "0102000302000000" +
			"000000000000f03f" + "0000000000000040" + "0000000000000840" + "0000000000001040" +
			"01000000" + "02000000" + "00000000" + "00000000" + "02000000" + "02000000" +
			"000000000000f03f" + "0000000000000040" + "0000000000000840" + "0000000000001040" +
			"010000000000f87f" + "0000000000001440" + "7b7d"},
	} {
		b, err := AppendZ(nil, c.g, c.z, []byte(`{}`))
		if got := hex.EncodeToString(b); err != nil || got != c.want {
			t.Errorf("%v: %v, got\n%s, want\n%s", c.g, err, got, c.want)
		}
	}
}

// TestAltitudesRefused by Append and by Parse.
func TestAltitudesRefused(t *testing.T) {
	line := orb.LineString{{1, 2}, {3, 4}}
	for name, c := range map[string]struct {
		g    orb.Geometry
		z    []float64
		is   error
		says string
	}{
		"too few":  {line, []float64{1}, ErrInvalidGeometry, "1 altitudes for 2 positions"},
		"too many": {orb.Point{1, 2}, []float64{1, 2}, ErrInvalidGeometry, "2 altitudes for 1 positions"},
		"nowhere":  {nil, []float64{1}, ErrInvalidGeometry, "1 altitudes for 0 positions"},
		"infinite": {line, []float64{1, math.Inf(-1)}, ErrRange, "the altitude of position 1 is -Inf"},
	} {
		_, err := AppendZ(nil, c.g, c.z, nil)
		_, _, normalised := NormaliseZ(c.g, c.z, Options{})
		for _, err := range []error{err, normalised} {
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %q", name, err, c.says)
			}
		}
	}
	b, err := AppendZ(nil, line, []float64{1, 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, lie := range map[string]func() []byte{
		"no room":           func() []byte { return b[:len(b)-16] },
		"half of the room":  func() []byte { return b[:len(b)-8] },
		"infinite":          func() []byte { return appendF64(b[:len(b)-8:len(b)-8], math.Inf(1)) },
		"of no geometry":    func() []byte { return []byte{LayoutVersion, 0, 0, flagAltitudes, 0, 0, 0, 0} },
		"of one flag more":  func() []byte { c := bytes.Clone(b); c[3] |= 4; return c },
		"but none in flags": func() []byte { c := bytes.Clone(b); c[3] = 0; return c },
	} {
		if _, err := Parse(lie()); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}

// No test looks at altitudes: features that differ only in altitude are found
// alike, and are not the same.
func TestAltitudesAreNotSearched(t *testing.T) {
	g := star(newRand(3), 60, 0, 0, 3)
	z := make([]float64, positionsOf(g, 0))
	for i := range z {
		z[i] = float64(i) * 1000
	}
	flat := stored(t, g, nil)
	b, err := AppendZ(nil, g, z, nil)
	if err != nil {
		t.Fatal(err)
	}
	high, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	o, _ := NewOrigin(Geographic, orb.Point{5, 5})
	if flat.Bound() != high.Bound() || !slices.Equal(flat.Boxes(nil), high.Boxes(nil)) || o.Distance(&flat) != o.Distance(&high) ||
		!intersects(&flat, &high) || flat.SameGeometry(&high) || !high.SameGeometry(&high) {
		t.Error("altitudes were looked at, or not compared")
	}
}
