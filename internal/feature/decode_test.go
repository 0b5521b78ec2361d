package feature

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/paulmach/orb"
)

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		text string
		want Feature
	}{
		{`{"type":"Feature","geometry":null,"properties":null}`, Feature{}},
		{`{"type":"Feature"}`, Feature{}},
		{`{"type":"Feature","id":"a/1","geometry":{"type":"Point","coordinates":[1,2]}}`,
			Feature{ID: "a/1", Geometry: orb.Point{1, 2}}},
		{`{"type":"Feature","id":12345678901234567890,"properties":{}}`,
			Feature{ID: "12345678901234567890", Properties: []byte(`{}`)}},
		{`{"type":"Feature","id":1.50}`, Feature{ID: "1.50"}},
		{`{"type":"Feature","id":null}`, Feature{}},
		{`{"type":"Feature","id":"\u00e9\n"}`, Feature{ID: "é\n"}},
		// The type at the end; bbox, foreign members, and numbers after the altitude are
		// dropped.
		{`{"bbox":[0,0,1,1],"geometry":{"coordinates":[1e0,-2.5E+1,700,8],"type":"Point"},"x":[{}],"type":"Feature"}`,
			Feature{Geometry: orb.Point{1, -25}, Altitudes: []float64{700}}},
		{` { "type" : "Feature", "properties" : { "a b" : [ 1, "x \" y" ] } } `,
			Feature{Properties: []byte(`{"a b":[1,"x \" y"]}`)}},
		{`{"type":"Feature","geometry":{"type":"MultiPolygon","coordinates":[]}}`,
			Feature{Empty: true}},
		{`{"type":"Feature","geometry":{"type":"Point","coordinates":[]}}`, Feature{Empty: true}},
		{`{"type":"Feature","geometry":{"geometries":[{"type":"Point","coordinates":[1,2]},` +
			`{"coordinates":[[1,2],[3,4]],"type":"LineString"}],"type":"GeometryCollection"}}`,
			Feature{Geometry: orb.Collection{orb.Point{1, 2}, orb.LineString{{1, 2}, {3, 4}}}}},
		{`{"type":"Feature","geometry":{"type":"MultiLineString","coordinates":[[[1,2],[3,4]],[]]}}`,
			Feature{Geometry: orb.MultiLineString{{{1, 2}, {3, 4}}}}},
		{`{"type":"Feature","id":"first","id":"last"}`, Feature{ID: "last"}},
	} {
		got, err := Decode([]byte(c.text), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.text, got, c.want)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	geometry := func(typ, coordinates string) string {
		return `{"type":"Feature","geometry":{"type":"` + typ + `","coordinates":` + coordinates + `}}`
	}
	for _, c := range []struct {
		text string
		is   error
		says string
	}{
		{``, ErrSyntax, "the end of the text, want an object"},
		{`[]`, ErrSyntax, "want an object"},
		{`{"type":"Feature"} x`, ErrSyntax, "after the end"},
		{`{"type":"Feature",}`, ErrSyntax, "want a string"},
		{`{"type":"FeatureCollection","features":[]}`, ErrSyntax, `type is "FeatureCollection", want "Feature"`},
		{`{"id":"x"}`, ErrSyntax, `type is "", want "Feature"`},
		{`{"type":"Feature","id":""}`, ErrSyntax, "the id is empty"},
		{`{"type":"Feature","id":true}`, ErrSyntax, "want a string or a number for id"},
		{`{"type":"Feature","id":"` + strings.Repeat("x", 513) + `"}`, ErrTooLarge, "513 bytes, at most 512"},
		{`{"type":"Feature","properties":[1]}`, ErrSyntax, "want an object or null for properties"},
		{`{"type":"Feature","properties":{"a":01}}`, ErrSyntax, "properties: "},
		{`{"type":"Feature","properties":{"a":"` + "\x01" + `"}}`, ErrSyntax, "control character"},
		{`{"type":"Feature","properties":{"a":"` + "\xff" + `"}}`, ErrSyntax, "not UTF-8"},
		{`{"type":"Feature","properties":{"a":"\x"}}`, ErrSyntax, "invalid escape"},
		{`{"type":"Feature","properties":` + strings.Repeat(`{"a":`, 70), ErrTooLarge, "deeper than 64"},
		{geometry("Point", "[1]"), ErrSyntax, "geometry.coordinates: invalid GeoJSON: byte"},
		{geometry("Point", `["1",2]`), ErrSyntax, "want a number"},
		{geometry("Point", `[1e999,2]`), ErrSyntax, "1e999 is no finite float64"},
		{geometry("Circle", `[1,2]`), ErrSyntax, `geometry.type: invalid GeoJSON: "Circle" is no type`},
		{geometry("GeometryCollection", `[]`), ErrSyntax, "without geometries"},
		{`{"type":"Feature","geometry":{"type":"Point"}}`, ErrSyntax, "without coordinates"},
		{`{"type":"Feature","geometry":{}}`, ErrSyntax, "geometry: invalid GeoJSON: no type"},
		{geometry("LineString", "[[0,0],[1,1],[2,95]]"), ErrRange,
			"geometry.coordinates[2]: coordinate out of range: latitude 95 is outside -90..90 (the longitude comes first)"},
		{geometry("Point", "[400,42]"), ErrRange, "geometry.coordinates: coordinate out of range: longitude 400 is outside -360..360"},
		{geometry("Point", "[-360.5,42]"), ErrRange, "longitude -360.5 is outside -360..360"},
		{geometry("MultiPolygon", "[[[[0,0],[1,0],[1,1],[0,0]]],[[[0,0],[1,0],[1,-91],[0,0]]]]"), ErrRange,
			"geometry.coordinates[1][0][2]: "},
		{geometry("MultiPolygon", "[[[[0,0],[1,0],[1,1],[0]]]]"), ErrSyntax, "geometry.coordinates[0][0][3]: "},
		{geometry("LineString", "[[0,0]]"), ErrInvalidGeometry, "a line of 1 positions, want at least 2"},
		{geometry("Polygon", "[[[0,0],[1,0],[1,1],[0,1]]]"), ErrInvalidGeometry,
			"geometry.coordinates[0]: invalid geometry: the ring is not closed: its last position [0 1] must repeat the first [0 0]"},
		{geometry("Polygon", "[[[0,0],[1,1],[0,0]]]"), ErrInvalidGeometry, "a ring of 3 positions"},
		{geometry("Polygon", "[[[0,0],[2,2],[2,0],[0,2],[0,0]]]"), ErrInvalidGeometry,
			"the edge from [0 0] to [2 2] (ring 0, position 0) crosses that from [2 0] to [0 2] (ring 0, position 2)"},
		{geometry("Polygon", "[[[0,0],[4,0],[4,4],[0,4],[0,0]],[[1,1],[5,1],[5,2],[1,2],[1,1]]]"), ErrInvalidGeometry, "crosses"},
		{`{"type":"Feature","geometry":` + strings.Repeat(`{"type":"GeometryCollection","geometries":[`, 10) +
			strings.Repeat(`]}`, 10) + `}`, ErrTooLarge, "geometry collections nest deeper than 8"},
	} {
		_, err := Decode([]byte(c.text), Options{})
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.90s: %v, want %v and %q", c.text, err, c.is, c.says)
		}
	}
}

func TestDecodeLimits(t *testing.T) {
	line := []byte(`{"type":"Feature","geometry":{"type":"LineString","coordinates":[[0,0],[1,1],[2,2]]}}`)
	for _, o := range []Options{{MaxBytes: len(line) - 1}, {MaxPositions: 2}} {
		if _, err := Decode(line, o); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%+v: %v, want ErrTooLarge", o, err)
		}
	}
	if _, err := Decode(line, Options{MaxBytes: len(line), MaxPositions: 3}); err != nil {
		t.Error(err)
	}
}

func TestLenient(t *testing.T) {
	text := `{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2]]]}}`
	f, err := Decode([]byte(text), Options{Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	v := stored(t, f.Geometry, nil)
	for p, want := range map[orb.Point]bool{{1.9, 1}: true, {0.1, 1}: true, {1, 1.9}: false} {
		if v.hasPoint(p[0], p[1]) != want {
			t.Errorf("%v: %v", p, !want)
		}
	}
}

// TestScannerAgreesWithJSON: it accepts what encoding/json accepts, and nothing else.
func TestScannerAgreesWithJSON(t *testing.T) {
	for _, s := range []string{
		`1`, `-0`, `-`, `01`, `1.`, `.5`, `1e5`, `1e`, `1E-2`, `"a"`, `"a`, `"\u12"`, `"\ud800"`,
		`true`, `tru`, `null`, `[]`, `[1,]`, `[1 2]`, `{}`, `{"a":1}`, `{"a"}`, `{"a":}`, `{a:1}`,
		`[[[]]]`, `[}`, ` [ 1 , { "b" : [ ] } ] `, "\"\t\"", "\ufeff1",
	} {
		sc := scanner{b: []byte(s), depth: maxJSONDepth}
		_, err := sc.value()
		sc.peek()
		if got, want := err == nil && sc.i == len(s), json.Valid([]byte(s)); got != want {
			t.Errorf("%q: %v, encoding/json says %v", s, got, want)
		}
	}
}

func TestFields(t *testing.T) {
	v := stored(t, orb.Point{1, 2}, []byte(`{"a":1,"b":{"a":2},"c\u0064":[3],"e":null}`))
	for _, c := range []struct {
		fields []string
		want   string
	}{
		{nil, `{"a":1,"b":{"a":2},"c\u0064":[3],"e":null}`},
		{[]string{"b"}, `{"b":{"a":2}}`},
		{[]string{"cd", "a"}, `{"a":1,"c\u0064":[3]}`},
		{[]string{"none"}, `{}`},
	} {
		got := string(v.AppendGeoJSON(nil, "q\"\n", c.fields...))
		want := `{"type":"Feature","id":"q\"\u000a","geometry":{"type":"Point","coordinates":[1,2]},"properties":` + c.want + `}`
		if got != want {
			t.Errorf("%v: got %s, want %s", c.fields, got, want)
		}
	}
}

// FuzzDecode: an accepted text is JSON, and the result is the same after it is
// written and read again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(cafe))
	f.Add([]byte(`{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[170,0],[-170,0],[-170,5],[170,5],[170,0]]]}}`))
	f.Add([]byte(`{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,80],[120,80],[-120,80],[0,80]]]}}`))
	f.Add([]byte(`{"type":"Feature","geometry":{"type":"GeometryCollection","geometries":[{"type":"MultiPoint","coordinates":[[181,2]]}]}}`))
	f.Add([]byte(`{"type":"Feature","geometry":{"type":"LineString","coordinates":[[181,2],[-181,3],[360,1]]},"properties":{"a":[1, 2]}}`))
	f.Add([]byte(`{"type":"Feature","geometry":{"type":"LineString","coordinates":[[170,2,5],[-170,3],[160,1,7,8]]},"geometry":null}`))
	f.Add([]byte(`{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,80,1],[120,80,2],[-120,80,3],[0,80,4]]]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Decode(text, Options{MaxBytes: 1 << 16})
		if err != nil {
			if !errors.Is(err, ErrSyntax) && !errors.Is(err, ErrRange) &&
				!errors.Is(err, ErrInvalidGeometry) && !errors.Is(err, ErrTooLarge) {
				t.Fatalf("%v is none of the errors of this package", err)
			}
			return
		}
		if !json.Valid(text) {
			t.Fatal("accepted, but not JSON")
		}
		b, err := AppendZ(nil, got.Geometry, got.Altitudes, got.Properties)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		if w := v.Bound(); v.Type() != None && (w.MinX < -180 || w.MaxX > 180) {
			t.Fatalf("bound %v", w)
		}
		exercise(&v)
		id := got.ID
		if id == "" {
			id = "x"
		}
		out := v.AppendGeoJSON(nil, id)
		again, err := Decode(out, Options{Lenient: true})
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if again.ID != id || !bytes.Equal(again.Properties, got.Properties) ||
			!reflect.DeepEqual(again.Geometry, got.Geometry) || !sameAltitudes(again.Altitudes, got.Altitudes) {
			t.Fatalf("read again: %+v, want %+v", again, got)
		}
	})
}

// TestAppendProperties writes the properties alone, and selected ones.
func TestAppendProperties(t *testing.T) {
	for properties, want := range map[string][2]string{
		"":                            {"", ""},
		`{}`:                          {`{}`, `{}`},
		`{"a":1,"b":{"a":2},"c":[3]}`: {`{"a":1,"b":{"a":2},"c":[3]}`, `{"a":1,"c":[3]}`},
	} {
		text, err := CompactProperties([]byte(properties))
		if err != nil {
			t.Fatal(err)
		}
		b, err := Append(nil, nil, text)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		all, some := v.AppendProperties([]byte("x")), v.AppendProperties([]byte("x"), "c", "a")
		if string(all) != "x"+want[0] || string(some) != "x"+want[1] {
			t.Errorf("%s: %s and %s", properties, all, some)
		}
	}
}
