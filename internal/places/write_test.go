package places

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"pgregory.net/rapid"

	"github.com/catfish-index/catfish/internal/places/input"
)

func each(all []Place) iter.Seq2[Place, error] {
	return func(yield func(Place, error) bool) {
		for _, p := range all {
			if !yield(p, nil) {
				return
			}
		}
	}
}

var coordinate = rapid.Custom(func(t *rapid.T) float64 {
	return rapid.OneOf(rapid.Float64Range(-180, 180), rapid.Float64(),
		rapid.SampledFrom([]float64{0, 1e-300, math.MaxFloat64, -1.0 / 3})).Draw(t, "v")
})

var point = rapid.Custom(func(t *rapid.T) orb.Point {
	return orb.Point{coordinate.Draw(t, "x"), coordinate.Draw(t, "y")}
})

func points(t *rapid.T, least int) []orb.Point {
	return rapid.SliceOfN(point, least, 5).Draw(t, "points")
}

func ring(t *rapid.T) orb.Ring {
	r := points(t, 3)
	return append(r, r[0])
}

func polygon(t *rapid.T) orb.Polygon {
	p := orb.Polygon{ring(t)}
	if rapid.Bool().Draw(t, "hole") {
		p = append(p, ring(t))
	}
	return p
}

func geometry(t *rapid.T, most int) orb.Geometry {
	switch rapid.IntRange(0, most).Draw(t, "kind") {
	case 0:
		return point.Draw(t, "p")
	case 1:
		return orb.LineString(points(t, 2))
	case 2:
		return polygon(t)
	case 3:
		return orb.MultiPoint(points(t, 1))
	case 4:
		return orb.MultiLineString{points(t, 2), points(t, 2)}
	case 5:
		return orb.MultiPolygon{polygon(t), polygon(t)}
	case 6:
		return nil
	}
	return orb.Collection{geometry(t, 5), geometry(t, 5)}
}

// text has no carriage returns: encoding/csv treats one before a line end as part
// of the line end.
var text = rapid.StringMatching(`[ -~éß\n\t"\\;,]{1,8}`)

func place(t *rapid.T, most int, value *rapid.Generator[any]) Place {
	p := Place{Geometry: geometry(t, most)}
	if rapid.Bool().Draw(t, "has id") {
		p.ID = text.Draw(t, "id")
	}
	if properties := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "ü \"c\"", "d,e"}), value, 0, 3).
		Draw(t, "properties"); len(properties) > 0 {
		p.Properties, _ = json.Marshal(properties)
	}
	return p
}

func roundTrip(t *rapid.T, f Format, all []Place, opts WriteOptions) []Place {
	var b bytes.Buffer
	n, err := Write(&b, f, each(all), opts)
	if err != nil || n != int64(len(all)) {
		t.Fatal(n, err)
	}
	r, err := NewReader(&b, "x", Options{Format: f, Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []Place
	for p, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p)
	}
	if len(got) != len(all) {
		t.Fatalf("%d places, want %d", len(got), len(all))
	}
	return got
}

func same(a, b orb.Geometry) bool {
	return a == nil && b == nil || a != nil && b != nil && orb.Equal(a, b)
}

// compare decodes properties, so that spellings of a value are the same.
func compare(t *rapid.T, got, want Place) {
	var g, w any
	for _, d := range []struct {
		from json.RawMessage
		to   *any
	}{{got.Properties, &g}, {want.Properties, &w}} {
		if d.from != nil {
			if err := json.Unmarshal(d.from, d.to); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got.ID != want.ID || !same(got.Geometry, want.Geometry) || fmt.Sprint(g) != fmt.Sprint(w) {
		t.Fatalf("%+v, %s\nwant\n%+v, %s", got, got.Properties, want, want.Properties)
	}
}

func TestGeoJSONRoundTrip(t *testing.T) {
	value := rapid.OneOf(text.AsAny(), coordinate.AsAny(), rapid.Bool().AsAny(),
		rapid.SliceOf(text).AsAny(), rapid.Just(any(nil)))
	for _, f := range []Format{GeoJSON, GeoJSONSeq} {
		rapid.Check(t, func(t *rapid.T) {
			all := make([]Place, rapid.IntRange(1, 4).Draw(t, "n"))
			for i := range all {
				all[i] = place(t, 7, value)
			}
			for i, got := range roundTrip(t, f, all, WriteOptions{}) {
				compare(t, got, all[i])
			}
		})
	}
}

// CSV keeps ids, geometries, numbers and text that is no number.
func TestCSVRoundTrip(t *testing.T) {
	word := rapid.Custom(func(t *rapid.T) string { return "x" + text.Draw(t, "word") })
	value := rapid.OneOf(word.AsAny(), coordinate.AsAny())
	for _, most := range []int{0, 7} {
		rapid.Check(t, func(t *rapid.T) {
			all := make([]Place, rapid.IntRange(1, 4).Draw(t, "n"))
			for i := range all {
				all[i] = place(t, most, value)
			}
			for i, got := range roundTrip(t, CSV, all, WriteOptions{WKT: most > 0}) {
				compare(t, got, all[i])
			}
		})
	}
}

func TestWriteCSV(t *testing.T) {
	at := orb.Point{1, 2.5}
	line := orb.LineString{{1, 2}, {3, 4}}
	for _, c := range []struct {
		name string
		all  []Place
		opts WriteOptions
		want string
		says string
	}{
		{"none", nil, WriteOptions{}, "id,lon,lat\n", ""},
		{"values", []Place{{ID: "a", Geometry: at, Properties: []byte(`{"n":12e3,"m":2E30,"t":"x, \"y\"","b":true,"z":null,"o":{"a":[1]}}`)}, {}},
			WriteOptions{}, "id,lon,lat,n,m,t,b,z,o\na,1,2.5,12000,2e+30,\"x, \"\"y\"\"\",true,,\"{\"\"a\"\":[1]}\"\n,,,,,,,,\n", ""},
		{"a line", []Place{{Geometry: at}, {Geometry: line}}, WriteOptions{}, "id,wkt\n,POINT(1 2.5)\n,\"LINESTRING(1 2,3 4)\"\n", ""},
		{"named columns", []Place{{Geometry: at, Properties: []byte(`{"a":1,"b":2}`)}}, WriteOptions{Columns: []string{"c", "b"}},
			"id,lon,lat,c,b\n,1,2.5,,2\n", ""},
		{"not finite", []Place{{Geometry: orb.Point{math.NaN(), 0}}}, WriteOptions{}, "id,lon,lat\n", "finite"},
		{"not finite, text", []Place{{Geometry: orb.Point{math.NaN(), 0}}}, WriteOptions{WKT: true}, "id,wkt\n", "finite"},
		{"no object", []Place{{Properties: []byte("[]")}}, WriteOptions{}, "", "object"},
	} {
		var b strings.Builder
		n, err := Write(&b, CSV, each(c.all), c.opts)
		if b.String() != c.want || (err == nil) != (c.says == "") ||
			err != nil && !strings.Contains(err.Error(), c.says) || err == nil && n != int64(len(c.all)) {
			t.Errorf("%s: %q, %d, %v; want %q, %q", c.name, b.String(), n, err, c.want, c.says)
		}
	}
}

// Places after the first ones cannot change the header.
func TestLateColumns(t *testing.T) {
	for _, late := range []Place{
		{ID: "late", Properties: []byte(`{"new":1}`)},
		{ID: "late", Geometry: orb.LineString{{1, 2}, {3, 4}}},
		{ID: "late", Geometry: orb.Point{1, 2}, Altitudes: []float64{3}},
	} {
		var b strings.Builder
		n, err := Write(&b, CSV, each(append(make([]Place, firstPlaces), late)), WriteOptions{})
		if n != firstPlaces || !errors.Is(err, input.ErrOption) || !strings.Contains(err.Error(), "late") {
			t.Errorf("%d, %v", n, err)
		}
	}
}

// The columns of the geometry may be chosen: WKT suits all, lon and lat only positions.
func TestGeometryColumns(t *testing.T) {
	many := make([]Place, firstPlaces)
	for _, c := range []struct {
		late  Place
		opts  WriteOptions
		head  string
		final string // or the error
	}{
		{Place{ID: "z", Geometry: orb.Point{1, 2}, Altitudes: []float64{3}}, WriteOptions{WKT: true}, "id,wkt", "z,POINT Z (1 2 3)"},
		{Place{ID: "z", Geometry: orb.Point{1, 2}, Altitudes: []float64{3}}, WriteOptions{LonLat: true}, "id,lon,lat", "z,1,2"},
		{Place{ID: "z", Geometry: orb.Point{1, 2}, Altitudes: []float64{3}}, WriteOptions{}, "", "an altitude has no room in columns lon and lat, which the first 1000 places set; ask for WKT (WriteOptions.WKT, --geometry wkt)"},
		{Place{ID: "z", Geometry: orb.LineString{{1, 2}, {3, 4}}}, WriteOptions{LonLat: true}, "", "a LineString has no room in columns lon and lat; ask for WKT"},
		{Place{}, WriteOptions{LonLat: true, WKT: true}, "", "WKT and LonLat are both given"},
	} {
		for _, all := range [][]Place{{c.late}, append(many, c.late)} {
			var b strings.Builder
			_, err := Write(&b, CSV, each(all), c.opts)
			lines := strings.Split(strings.TrimSpace(b.String()), "\n")
			switch {
			case c.head != "" && (err != nil || lines[0] != c.head || lines[len(lines)-1] != c.final):
				t.Errorf("%+v: %s, ..., %s, %v, want %s, ..., %s", c.opts, lines[0], lines[len(lines)-1], err, c.head, c.final)
			case c.head == "" && (len(all) > 1 || c.opts.LonLat) && (!errors.Is(err, input.ErrOption) || !strings.Contains(err.Error(), c.final)):
				t.Errorf("%+v: %v, want %s", c.opts, err, c.final)
			}
		}
	}
}

// Columns of Later are written if there are later places.
func TestLaterColumns(t *testing.T) {
	later := Later{Columns: []string{"z", "a", "y"}, Shapes: true}
	first := make([]Place, firstPlaces)
	first[0].Properties = []byte(`{"a":1}`)
	last := Place{ID: "late", Geometry: orb.LineString{{1, 2}, {3, 4}}, Properties: []byte(`{"y":3,"z":2}`)}
	for _, c := range []struct {
		places      []Place
		columns     []string
		head, final string
	}{
		{append(first, last), nil, "id,wkt,a,z,y", "late,\"LINESTRING(1 2,3 4)\",,2,3"},
		{append(first, last), []string{"y"}, "id,wkt,y", "late,\"LINESTRING(1 2,3 4)\",3"},
		{first[:2], nil, "id,lon,lat,a", ",,,"},
	} {
		var b strings.Builder
		if n, err := Write(&b, CSV, each(c.places), WriteOptions{Columns: c.columns, Later: later}); n != int64(len(c.places)) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if lines[0] != c.head || lines[len(lines)-1] != c.final {
			t.Errorf("%s, ..., %s, want %s, ..., %s", lines[0], lines[len(lines)-1], c.head, c.final)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errDisk }

func TestWriteErrors(t *testing.T) {
	some := []Place{{ID: "a"}}
	failing := func(yield func(Place, error) bool) {
		if yield(some[0], nil) {
			yield(Place{}, errDisk)
		}
	}
	for _, f := range []Format{GeoJSON, GeoJSONSeq, CSV} {
		if _, err := Write(full{}, f, each(some), WriteOptions{}); !errors.Is(err, errDisk) {
			t.Errorf("%s: %v", f, err)
		}
		var b strings.Builder
		n, err := Write(&b, f, failing, WriteOptions{})
		if n != 1 || !errors.Is(err, errDisk) || !strings.Contains(b.String(), "a") || strings.Contains(b.String(), "]}") {
			t.Errorf("%s: %d, %v, %q", f, n, err, b.String())
		}
	}
	if _, err := Write(io.Discard, OSMPBF, each(some), WriteOptions{}); !errors.Is(err, input.ErrUnsupported) {
		t.Errorf("pbf: %v", err)
	}
	for _, p := range []Place{
		{Properties: []byte("[1]")}, {Properties: []byte("{")}, {Geometry: orb.Point{0, math.Inf(1)}},
		{Geometry: orb.Bound{}}, {Geometry: orb.Collection{orb.Point{math.NaN(), 0}}},
	} {
		if _, err := Write(io.Discard, GeoJSON, each([]Place{p}), WriteOptions{}); err == nil {
			t.Errorf("%+v: no error", p)
		}
	}
}

func TestWriteNoPlaces(t *testing.T) {
	for f, want := range map[Format]string{
		GeoJSON: "{\"type\":\"FeatureCollection\",\"features\":[\n\n]}\n", GeoJSONSeq: "", CSV: "id,lon,lat\n",
	} {
		var b strings.Builder
		if n, err := Write(&b, f, each(nil), WriteOptions{}); n != 0 || err != nil || b.String() != want {
			t.Errorf("%s: %q, %d, %v", f, b.String(), n, err)
		}
	}
}

// A feature is one line, whatever its properties contain.
func TestFeatureIsOneLine(t *testing.T) {
	got, err := AppendFeature(nil, Place{ID: "a\nb", Properties: []byte("{\n \"a\": 1\r\n}")})
	want := `{"type":"Feature","id":"a\nb","geometry":null,"properties":{"a":1}}`
	if string(got) != want || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// A property with a name that a reader prefers for the geometry does not move the place.
func TestCSVGeometryNames(t *testing.T) {
	for _, names := range [][]string{{"geom"}, {"Geometry"}, {"WKT"}, {"longitude", "latitude"}, {"lon", "lat"}, {"the_geom", "wkt"}} {
		properties := map[string]string{}
		for _, name := range names {
			properties[name] = "9"
		}
		text, err := json.Marshal(properties)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		place := Place{ID: "a", Geometry: orb.Point{1, 2}, Properties: text}
		if _, err := Write(&out, CSV, each([]Place{place}), WriteOptions{}); err != nil {
			t.Fatal(names, err)
		}
		all, _, err := readAll(t, "x.csv", out.String(), Options{})
		if err != nil || len(all) != 1 || all[0].Geometry != (orb.Point{1, 2}) {
			t.Errorf("%v: %v, %v\n%s", names, all, err, out.String())
		}
	}
}
