package places

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/places/input"
)

// Altitudes in GeoJSON are read, and written again unchanged.
func TestGeoJSONAltitudes(t *testing.T) {
	for name, c := range map[string][2]string{
		"point":      {`{"type":"Point","coordinates":[1,2,-0.5]}`, ""},
		"measure":    {`{"type":"Point","coordinates":[1,2,3,4]}`, `{"type":"Point","coordinates":[1,2,3]}`},
		"some":       {`{"type":"LineString","coordinates":[[1,2],[3,4,5],[6,7]]}`, ""},
		"empty part": {`{"type":"MultiLineString","coordinates":[[],[[1,2,3],[4,5]]]}`, `{"type":"MultiLineString","coordinates":[[[1,2,3],[4,5]]]}`},
		"collection": {`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]},` +
			`{"type":"MultiPolygon","coordinates":[[[[0,0,1],[1,0,2],[1,1,3],[0,0,4]]]]}]}`, ""},
		"a hole without a shell": {`{"type":"MultiPolygon","coordinates":[[[],[[0,0,9],[1,0,9],[1,1,9],[0,0,9]]],[[[0,0],[1,0,2],[1,1],[0,0]]]]}`,
			`{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0,2],[1,1],[0,0]]]]}`},
	} {
		want := c[1]
		if want == "" {
			want = c[0]
		}
		for _, text := range []string{c[0], `{"type":"Feature","geometry":` + c[0] + `}`} {
			all, _, err := readAll(t, name, text, Options{Strict: true})
			if got := showAll(t, all); err != nil || got != " "+want+" " {
				t.Errorf("%s: got\n%s, %v, want\n%s", name, got, err, want)
			}
		}
	}
}

// Well-known text in three and four dimensions, with tags and without, as rows of CSV.
func TestWKTAltitudes(t *testing.T) {
	for text, want := range map[string]string{
		"POINT Z (1 2 3)":               `{"type":"Point","coordinates":[1,2,3]}`,
		"pointz(1 2 3)":                 `{"type":"Point","coordinates":[1,2,3]}`,
		"SRID=4326;POINT(1 2 -3.5e1)":   `{"type":"Point","coordinates":[1,2,-35]}`,
		"POINT ZM (1 2 3 9)":            `{"type":"Point","coordinates":[1,2,3]}`,
		"POINT(1 2 3 9)":                `{"type":"Point","coordinates":[1,2,3]}`,
		"POINT M (1 2 9)":               `{"type":"Point","coordinates":[1,2]}`,
		"POINTM (1 2 9)":                `{"type":"Point","coordinates":[1,2]}`,
		"POINT Z EMPTY":                 `null`,
		"LINESTRING Z (1 2 3, 4 5 NaN)": `{"type":"LineString","coordinates":[[1,2,3],[4,5]]}`,
		"POLYGONZ((0 0 1,1 0 2,1 1 3,0 0 4))": `{"type":"Polygon","coordinates":` +
			`[[[0,0,1],[1,0,2],[1,1,3],[0,0,4]]]}`,
		"MULTIPOINT Z ((1 2 3),(4 5 6))": `{"type":"MultiPoint","coordinates":[[1,2,3],[4,5,6]]}`,
		"GEOMETRYCOLLECTION Z (POINT Z (1 2 3),LINESTRING M (1 2 9,3 4 9))": `{"type":"GeometryCollection",` +
			`"geometries":[{"type":"Point","coordinates":[1,2,3]},{"type":"LineString","coordinates":[[1,2],[3,4]]}]}`,
	} {
		all, _, err := readAll(t, "x.csv", "id,wkt\na,\""+text+"\"\n", Options{Strict: true})
		if got := showAll(t, all); err != nil || got != "a "+want+" " {
			t.Errorf("%s: got\n%s, %v, want\n%s", text, got, err, want)
			continue
		}
		var out bytes.Buffer
		if _, err := Write(&out, CSV, each(all), WriteOptions{WKT: true}); err != nil {
			t.Fatal(err)
		}
		again, _, err := readAll(t, "x.csv", out.String(), Options{Strict: true})
		if got := showAll(t, again); err != nil || got != "a "+want+" " {
			t.Errorf("%s: again\n%s, %v, want\n%s", out.String(), got, err, want)
		}
	}
	for text, says := range map[string]string{
		"POINT Z (1 2)":       "2 coordinates in WKT, want 3",
		"POINT ZM (1 2 3)":    "3 coordinates in WKT, want 4",
		"POINT (1 2 3 4 5)":   "5 coordinates in WKT",
		"POINT Z (1 2 1e999)": `altitude "1e999", want a finite number`,
		"POINT Z (1 2 x)":     "",
	} {
		_, r, err := readAll(t, "x.csv", "id,wkt\na,\""+text+"\"\n", Options{})
		if err != nil || len(r.Bad()) != 1 || !errors.Is(r.Bad()[0], input.ErrSyntax) || !strings.Contains(r.Bad()[0].Error(), says) {
			t.Errorf("%s: %v, %v, want %q", text, r.Bad(), err, says)
		}
	}
}

// In CSV an early place with an altitude leads to the column wkt, and a later one is refused
// if the header has lon and lat already.
func TestCSVAltitudes(t *testing.T) {
	high := Place{ID: "h", Geometry: orb.Point{1, 2}, Altitudes: []float64{3}}
	var out bytes.Buffer
	if _, err := Write(&out, CSV, each([]Place{{ID: "f", Geometry: orb.Point{1, 2}}, high}), WriteOptions{}); err != nil || out.String() != "id,wkt\nf,POINT(1 2)\nh,POINT Z (1 2 3)\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	late := append(make([]Place, firstPlaces), high)
	if n, err := Write(&out, CSV, each(late), WriteOptions{}); n != firstPlaces || !errors.Is(err, input.ErrOption) || !strings.Contains(err.Error(), "an altitude has no room in columns lon and lat") {
		t.Errorf("%d, %v", n, err)
	}
}

// A list of another length, or with an infinite altitude, is not written.
func TestWriteBadAltitudes(t *testing.T) {
	for _, p := range []Place{
		{Geometry: orb.Point{1, 2}, Altitudes: []float64{1, 2}},
		{Geometry: orb.LineString{{1, 2}, {3, 4}}, Altitudes: []float64{1}},
		{Geometry: orb.Point{1, 2}, Altitudes: []float64{math.Inf(1)}},
		{Altitudes: []float64{1}},
	} {
		for _, f := range []Format{GeoJSON, CSV} {
			if p.Geometry == nil && f == CSV {
				continue // An empty field has no altitudes.
			}
			if _, err := Write(&bytes.Buffer{}, f, each([]Place{p}), WriteOptions{WKT: true}); err == nil {
				t.Errorf("%s: %v was written", f, p)
			}
		}
	}
}

// fgbTable appends a table of a FlatBuffer with fields of 8 bytes each, and returns their
// positions.
func fgbTable(b []byte, slots ...int) (_ []byte, at int, field map[int]int) {
	const most = 8
	field = map[int]int{}
	vtable := len(b)
	b = binary.LittleEndian.AppendUint16(b, 4+2*most)
	b = binary.LittleEndian.AppendUint16(b, uint16(4+8*len(slots)))
	offsets := make([]byte, 2*most)
	at = vtable + 4 + 2*most
	for i, slot := range slots {
		binary.LittleEndian.PutUint16(offsets[2*slot:], uint16(4+8*i))
		field[slot] = at + 4 + 8*i
	}
	b = append(b, offsets...)
	b = binary.LittleEndian.AppendUint32(b, uint32(at-vtable))
	return append(b, make([]byte, 8*len(slots))...), at, field
}

// fgbVector appends a vector of numbers, and makes the field name it.
func fgbVector(b []byte, field int, numbers []float64) []byte {
	binary.LittleEndian.PutUint32(b[field:], uint32(len(b)-field))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(numbers)))
	for _, f := range numbers {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return b
}

// TestFlatGeobufAltitudes: of a line, with as many altitudes as positions, with none, and
// with another number.
func TestFlatGeobufAltitudes(t *testing.T) {
	for _, c := range []struct {
		z    []float64
		want string
	}{
		{[]float64{5, math.NaN()}, ` {"type":"LineString","coordinates":[[1,2,5],[3,4]]} `},
		{nil, ` {"type":"LineString","coordinates":[[1,2],[3,4]]} `},
		{[]float64{5}, "1 altitudes of 2 positions"},
		{[]float64{5, math.Inf(1)}, "altitude +Inf, want a finite number"},
	} {
		object := func(b []byte) []byte { // after its size
			return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
		}
		header, at, field := fgbTable(make([]byte, 4), 2)
		binary.LittleEndian.PutUint32(header, uint32(at))
		header[field[2]] = 2 // LineString; the number of features is absent, so no tree
		feature, at, field := fgbTable(make([]byte, 4), 0)
		binary.LittleEndian.PutUint32(feature, uint32(at))
		geometry := field[0]
		feature, at, field = fgbTable(feature, 1, 2)
		binary.LittleEndian.PutUint32(feature[geometry:], uint32(at-geometry))
		feature = fgbVector(feature, field[1], []float64{1, 2, 3, 4})
		feature = fgbVector(feature, field[2], c.z)
		file := append([]byte("fgb\x03fgb\x00"), object(header)...)
		file = append(file, object(feature)...)
		all, r, err := readAll(t, "x.fgb", string(file), Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := showAll(t, all)
		for _, bad := range r.Bad() {
			got += bad.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%v: got %s, want %s", c.z, got, c.want)
		}
	}
}
