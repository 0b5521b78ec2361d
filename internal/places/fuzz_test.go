package places

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/paulmach/orb/encoding/wkt"

	"github.com/catfish-index/catfish/internal/places/input"
)

// fuzzRead checks the invariants of any input: no panic; properties are a JSON
// object, and geometries finite; an error has a kind; places that were read can
// be written as GeoJSON and are the same when read again.
func fuzzRead(t *testing.T, data []byte, opts Options) {
	r, err := NewReader(bytes.NewReader(data), "fuzz", opts)
	if err != nil {
		known(t, err)
		return
	}
	defer r.Close()
	var all []Place
	for {
		p, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			known(t, err)
			break
		}
		all = append(all, p)
	}
	for _, bad := range r.Bad() {
		known(t, bad)
	}
	for _, p := range all {
		var object map[string]any
		if p.Properties != nil && json.Unmarshal(p.Properties, &object) != nil {
			var number *json.UnmarshalTypeError // 1e999 is valid JSON
			if err := json.Unmarshal(p.Properties, &object); !errors.As(err, &number) {
				t.Fatalf("properties %s: %v", p.Properties, err)
			}
		}
		text, err := AppendFeature(nil, p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeFeature(text, "")
		if err != nil || again.ID != p.ID || !same(p.Geometry, again.Geometry) {
			t.Fatalf("%s, %v", text, err)
		}
	}
}

func known(t *testing.T, err error) {
	t.Helper()
	for _, kind := range []error{
		input.ErrFormat, input.ErrTruncated, input.ErrSyntax, input.ErrUnsupported,
		input.ErrTooLarge, input.ErrOption,
	} {
		if errors.Is(err, kind) {
			return
		}
	}
	t.Fatalf("an error of no kind: %v", err)
}

func FuzzGeoJSON(f *testing.F) {
	for _, name := range []string{"testdata/mixed.geojsonl"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(samples(f)[GeoJSON]))
	f.Add([]byte("\x1e{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\"}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzRead(t, data, Options{Format: GeoJSON})
		fuzzRead(t, data, Options{Format: GeoJSONSeq})
		fuzzRead(t, data, Options{Format: GeoJSON, ID: "a"})
	})
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte(navaids))
	f.Add([]byte("id;wkt\n1;MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((2 2,3 2,3 3,2 2)))\n2;GEOMETRYCOLLECTION(POINT(1 2))\n"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, data, Options{Format: CSV}) })
}

func FuzzWKT(f *testing.F) {
	f.Add("POLYGON((0 0,1 0,1 1,0 0),(0 0,1 0,1 1,0 0))")
	f.Add("GEOMETRYCOLLECTION(POINT(1 2),MULTIPOINT((1 2),(3 4)),LINESTRING EMPTY)")
	f.Add("GEOMETRYCOLLECTION Z (POINTZ(1 2 3),MULTIPOINT M((1 2 9),(3 4 9)),LINESTRING(1 2,3 4 NaN,5 6 7 8))")
	f.Fuzz(func(t *testing.T, text string) {
		var p Place
		if err := p.decodeWKT(text); err != nil {
			known(t, err)
			return
		}
		if p.Geometry == nil {
			return
		}
		want, err := p.appendGeometry(nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.Altitudes == nil {
			return
		}
		var again Place
		out := putWKT(wkt.MarshalString(p.Geometry), p.Altitudes)
		if err := again.decodeWKT(out); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if got, err := again.appendGeometry(nil); err != nil || string(got) != string(want) {
			t.Fatalf("%s: %s, %v, want %s", out, got, err, want)
		}
	})
}

func FuzzXML(f *testing.F) {
	f.Add([]byte(smallOSM))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, data, Options{Format: OSMXML}) })
}

func FuzzPBF(f *testing.F) {
	data, err := os.ReadFile("../../datasets/testdata/andorra.osm.pbf")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[:40_000])
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, data, Options{Format: OSMPBF}) })
}

func FuzzFlatGeobuf(f *testing.F) {
	for _, name := range []string{"testdata/mixed.fgb", "testdata/countries.fgb"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, data, Options{Format: FlatGeobuf}) })
}

// FuzzDetect lets the content decide, packed or not.
func FuzzDetect(f *testing.F) {
	for _, text := range samples(f) {
		f.Add([]byte(text[:min(len(text), 1000)]))
	}
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x28\xb5\x2f\xfd\x04\x00"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, data, Options{}) })
}
