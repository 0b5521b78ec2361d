package feature

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"reflect"
	"testing"

	"github.com/paulmach/orb"
	"pgregory.net/rapid"
)

// The bytes of version 1, which never change.
func TestLayoutGolden(t *testing.T) {
	for _, c := range []struct {
		g    orb.Geometry
		p    string
		want string
	}{
		{nil, "", "0100000000000000"},
		{nil, "{}", "01000001020000007b7d"},
		{orb.Point{1, -2}, `{"a":1}`, "0101000107000000000000000000f03f00000000000000c07b2261223a317d"},
		{orb.LineString{{0, 0}, {1, 2}}, "", "0102000000000000" +
			"00000000000000000000000000000000000000000000f03f0000000000000040" +
			"01000000020000000000000000000000" + "0200000002000000" +
			"00000000000000000000000000000000000000000000f03f0000000000000040"},
	} {
		var p []byte
		if c.p != "" {
			p = []byte(c.p)
		}
		b, err := Append(nil, c.g, p)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(b); got != c.want {
			t.Errorf("%v: got\n%s, want\n%s", c.g, got, c.want)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGeometry(t, "g")
		p := rapid.SampledFrom([][]byte{nil, []byte(`{}`), []byte(`{"a":[1]}`)}).Draw(t, "p")
		prefix := rapid.SliceOf(rapid.Byte()).Draw(t, "prefix")
		b, err := Append(bytes.Clone(prefix), g, p)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Parse(b[len(prefix):])
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Geometry(); !reflect.DeepEqual(got, g) {
			t.Fatalf("got %v, want %v", got, g)
		}
		if got := v.Properties(); !bytes.Equal(got, p) || (got == nil) != (p == nil) {
			t.Fatalf("got %q, want %q", got, p)
		}
		want := g.Bound()
		if got := v.Bound(); got != (Box{want.Min[0], want.Min[1], want.Max[0], want.Max[1]}) {
			t.Fatalf("bound %v, want %v", got, want)
		}
		// The same through GeoJSON.
		f, err := Decode(v.AppendGeoJSON(nil, "x"), Options{Space: Planar, Lenient: true})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(f.Geometry, g) || !bytes.Equal(f.Properties, p) || f.ID != "x" {
			t.Fatalf("GeoJSON: got %+v, want %v", f, g)
		}
	})
}

func TestNested(t *testing.T) {
	var g orb.Geometry = orb.Collection{orb.Point{1, 1}, orb.LineString{{0, 0}, {1, 1}}}
	for range MaxDepth - 1 {
		g = orb.Collection{g, orb.Point{2, 2}}
	}
	if v := stored(t, g, nil); !reflect.DeepEqual(v.Geometry(), g) {
		t.Errorf("got %v, want %v", v.Geometry(), g)
	}
	if _, err := Append(nil, orb.Collection{g}, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("deeper: %v, want ErrTooLarge", err)
	}
}

func TestEmptyParts(t *testing.T) {
	for _, g := range []orb.Geometry{
		orb.MultiPolygon{}, orb.MultiPolygon{{}}, orb.LineString{}, orb.Polygon{{}},
		orb.Collection{}, orb.Collection{orb.MultiPoint{}}, orb.MultiLineString{{}},
	} {
		v := stored(t, g, nil)
		if v.Type() != None || v.Geometry() != nil || len(v.Boxes(nil)) != 0 {
			t.Errorf("%T: stored as %v", g, v.Type())
		}
	}
	g := orb.Collection{orb.MultiPoint{}, orb.Point{1, 2}, orb.Collection{orb.LineString{}}}
	v := stored(t, g, nil)
	if want := (orb.Collection{orb.Point{1, 2}}); !reflect.DeepEqual(v.Geometry(), want) {
		t.Errorf("got %v, want %v", v.Geometry(), want)
	}
}

func TestAppendRefuses(t *testing.T) {
	nan := orb.Point{0, 0}
	nan[0] -= nan[0] / nan[0]
	for _, c := range []struct {
		g    orb.Geometry
		want error
	}{
		{nan, ErrRange},
		{orb.LineString{{0, 0}, nan}, ErrRange},
		{orb.LineString{{0, 0}}, ErrInvalidGeometry},
		{orb.Polygon{{{0, 0}, {1, 0}, {1, 1}, {0, 1}}}, ErrInvalidGeometry},
		{orb.Polygon{{{0, 0}, {1, 0}, {0, 0}}}, ErrInvalidGeometry},
	} {
		if b, err := Append([]byte("x"), c.g, nil); !errors.Is(err, c.want) || string(b) != "x" {
			t.Errorf("%v: %q, %v, want %v", c.g, b, err, c.want)
		}
	}
}

// exercise calls every method of a View; none may panic.
func exercise(v *View) {
	v.Type()
	v.Bound()
	v.Boxes(nil)
	v.Geometry()
	v.AppendGeoJSON(nil, "id", "a")
	v.Altitudes(nil)
	v.AppendSelected(nil, &Selection{NoProperties: true})
	_, _ = v.AppendReplacing(nil, []byte(`{}`))
	other := View{}
	if b, err := Append(nil, rect(0, 0, 5, 5), nil); err == nil {
		other, _ = Open(b)
	}
	intersects(v, &other)
	contact(v, &other)
	v.meetsBox(Box{0, 0, 1, 1})
	v.hasPoint(1, 1)
	for _, s := range []Space{Geographic, Planar} {
		o := originAt(s, 1, 1)
		o.Distance(v)
		o.toEdges(v, true)
		q := Query{space: s, relation: Within, kind: queryBox, boxes: []Box{{0, 0, 1, 1}, {3, 3, 4, 4}}}
		q.withinBoxes(v)
	}
}

// flatAndHigh are the bytes of a feature without altitudes and with some.
func flatAndHigh(t testing.TB, g orb.Geometry) [][]byte {
	t.Helper()
	z := make([]float64, positionsOf(g, 0))
	for i := range z {
		z[i] = float64(i)
	}
	flat, err := Append(nil, g, []byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	high, err := AppendZ(nil, g, z, []byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	return [][]byte{flat, high}
}

// TestParseHostile changes every byte of good features, and truncates them.
func TestParseHostile(t *testing.T) {
	accepted := 0
	for _, g := range []orb.Geometry{
		nil, orb.Point{1, 2}, orb.MultiPoint{{1, 2}, {3, 4}},
		orb.Polygon{rect(0, 0, 9, 9)[0], rect(1, 1, 2, 2)[0]},
		orb.Collection{orb.Point{1, 2}, orb.Collection{rect(0, 0, 1, 1)}, orb.LineString{{0, 0}, {1, 1}}},
		star(newRand(1), 40, 0, 0, 1), orb.MultiPolygon{rect(0, 0, 1, 1), rect(50, 50, 51, 51)},
	} {
		for _, good := range flatAndHigh(t, g) {
			for i := range good {
				if _, err := Parse(good[:i]); !errors.Is(err, ErrCorrupt) {
					t.Errorf("%T cut at %d: %v, want ErrCorrupt", g, i, err)
				}
				for _, to := range []byte{0, 1, 7, 0x7f, 0xff, good[i] + 1, good[i] - 1, good[i] ^ 0x80} {
					b := bytes.Clone(good)
					b[i] = to
					if v, err := Parse(b); err == nil {
						accepted++
						exercise(&v)
					} else if !errors.Is(err, ErrCorrupt) {
						t.Errorf("byte %d: %v, want ErrCorrupt", i, err)
					}
				}
			}
		}
	}
	if accepted == 0 {
		t.Error("no changed byte was accepted: nothing was tried")
	}
}

// TestParseRefuses: one wrong field each.
func TestParseRefuses(t *testing.T) {
	le := binary.LittleEndian
	polygon := func() []byte {
		b, err := Append(nil, orb.Polygon{rect(0, 0, 9, 9)[0], rect(1, 1, 2, 2)[0]}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, lie := range map[string]func(b []byte){
		"version":           func(b []byte) { b[0] = 2 },
		"type":              func(b []byte) { b[1] = 8 },
		"a polygon's paths": func(b []byte) { b[1] = byte(LineString) },
		"flags":             func(b []byte) { b[3] = 2 },
		"an open ring":      func(b []byte) { b[len(b)-1] ^= 1 },
		"a short ring":      func(b []byte) { le.PutUint32(b[56:], 7) },
		"a hole first":      func(b []byte) { b[60] = byte(hole) },
		"two shells":        func(b []byte) { b[68] = byte(shell) },
		"a path's end":      func(b []byte) { le.PutUint32(b[64:], 11) },
		"chunks":            func(b []byte) { b[68] |= 8 },
		"NaN":               func(b []byte) { le.PutUint64(b[len(b)-24:], 0x7ff8<<48) },
		"an infinite bound": func(b []byte) { le.PutUint64(b[8:], 0x7ff0<<48) },
	} {
		b := polygon()
		if _, err := Parse(b); err != nil {
			t.Fatal(err)
		}
		lie(b)
		if _, err := Parse(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}

func TestParseShortLine(t *testing.T) {
	b, err := Append(nil, orb.MultiPoint{{1, 2}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b[1], b[60] = byte(LineString), byte(line)
	if _, err := Parse(b); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a line of one vertex: %v, want ErrCorrupt", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, g := range []orb.Geometry{
		nil, orb.Point{1, 2}, rect(0, 0, 9, 9),
		orb.Collection{orb.Point{1, 2}, orb.LineString{{0, 0}, {1, 1}}},
		star(newRand(1), 40, 0, 0, 1), orb.MultiPolygon{rect(0, 0, 1, 1), rect(50, 50, 51, 51)},
	} {
		for _, b := range flatAndHigh(f, g) {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Parse(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%v, want ErrCorrupt", err)
			}
			return
		}
		exercise(&v)
	})
}
