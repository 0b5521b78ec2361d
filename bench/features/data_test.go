package features

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/places"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// source is a file of every type of geometry.
const source = `{"type":"FeatureCollection","features":[
{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,42]},"properties":{"kind":"cafe"}},
{"type":"Feature","id":"b","geometry":{"type":"LineString","coordinates":[[1,42],[1.5,42.5]]},"properties":{}},
{"type":"Feature","id":"c","geometry":{"type":"Polygon","coordinates":[[[1,42],[2,42],[2,43],[1,42]]]},"properties":null},
{"type":"Feature","id":"d","geometry":{"type":"MultiPoint","coordinates":[[1,42],[2,43]]},"properties":{"a":[1,2]}},
{"type":"Feature","id":"e","geometry":{"type":"MultiLineString","coordinates":[[[1,42],[2,43]]]},"properties":{}},
{"type":"Feature","id":"f","geometry":{"type":"MultiPolygon","coordinates":[[[[1,42],[2,42],[2,43],[1,42]]]]},"properties":{}},
{"type":"Feature","id":"g","geometry":{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,42]}]},"properties":{}},
{"type":"Feature","id":"nowhere","geometry":null,"properties":{}}]}`

func testSource(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "source.geojson")
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Copies have the shape and the tags of their originals, an id of their own,
// and valid positions; none touches a copy of another tile.
func TestData(t *testing.T) {
	const n = 700
	d, err := Open(DataJob{Source: testSource(t), Features: n, Borders: true})
	if err != nil || d.Len() != n || len(d.base) != 7 {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	tiles := map[int]orb.Bound{}
	for i := range n {
		f := d.Feature(i)
		base := d.base[i%7]
		if ids[f.ID] {
			t.Fatalf("id %q twice", f.ID)
		}
		ids[f.ID] = true
		b, was := f.Geometry.Bound(), base.Geometry.Bound()
		if f.Geometry.GeoJSONType() != base.Geometry.GeoJSONType() ||
			math.Abs(b.Max[0]-b.Min[0]-was.Max[0]+was.Min[0]) > 1e-9 || math.Abs(b.Max[1]-b.Min[1]-was.Max[1]+was.Min[1]) > 1e-9 {
			t.Errorf("%s: %v, copy of %v", f.ID, f.Geometry, base.Geometry)
		}
		if p := d.Point(i); !b.Pad(1e-9).Contains(p) {
			t.Errorf("%s: position %v is not in %v", f.ID, p, b)
		}
		if _, _, err := query.Encode(store.Feature(f), 0); err != nil {
			t.Error(err)
		}
		var tags, own map[string]any
		if err := json.Unmarshal(f.Properties, &tags); err != nil || tags[Tenth] != float64(tenth(i)) {
			t.Errorf("%s: properties %s: %v", f.ID, f.Properties, err)
		}
		if base.Properties != nil {
			if err := json.Unmarshal(base.Properties, &own); err != nil || len(tags) != len(own)+1 {
				t.Errorf("%s: properties %s, of %s: %v", f.ID, f.Properties, base.Properties, err)
			}
		}
		if got, ok := tiles[i/7]; ok {
			b = b.Union(got)
		}
		tiles[i/7] = b
	}
	for i, a := range tiles {
		for j, b := range tiles {
			if i != j && a.Intersects(b) {
				t.Fatalf("tiles %d and %d: %v, %v", i, j, a, b)
			}
		}
	}
	for i := range 3 * n {
		if _, ok := d.Feature(d.Object(i)).Geometry.(orb.Point); !ok {
			t.Fatalf("object %d is no point", i)
		}
	}
	// The output has the same features each time, also in a file.
	var text, again bytes.Buffer
	if _, err := d.Write(&text); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Write(&again); err != nil || text.String() != again.String() {
		t.Fatal("features change", err)
	}
	r, err := places.NewReader(&text, "x.geojsonl", places.Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	read := 0
	for p, err := range r.All() {
		if f := d.Feature(read); err != nil || p.ID != f.ID || string(p.Properties) != string(f.Properties) {
			t.Fatalf("line %d: %+v, %v", read+1, p, err)
		}
		read++
	}
	if read != n {
		t.Errorf("%d lines, want %d", read, n)
	}
}

// Large features are left out, unless Borders is set.
func TestBorders(t *testing.T) {
	path := testSource(t)
	for borders, want := range map[bool]int{true: 7, false: 2} { // points a and g
		d, err := Open(DataJob{Source: path, Features: 1, Borders: borders})
		if err != nil || len(d.base) != want {
			t.Errorf("borders %v: %v, %v, want %d", borders, d, err, want)
		}
	}
}

// Each value of Tenth has about a tenth of the features, also among few neighbours.
func TestTenth(t *testing.T) {
	for _, n := range []int{1000, 100_000} {
		var of [10]int
		for i := range n {
			of[tenth(i)]++
		}
		for k, got := range of {
			if got < n/10*9/10 || got > n/10*11/10 {
				t.Errorf("%d of %d have %d", got, n, k)
			}
		}
	}
}

// Features that do not fit on the globe, and bad data, are refused.
func TestDataRefused(t *testing.T) {
	path := testSource(t)
	for _, n := range []int{0, -1, maxFeatures + 1, 7 * 360 * 160} {
		if _, err := Open(DataJob{Source: path, Features: n, Borders: true}); !errors.Is(err, harness.ErrConfig) {
			t.Errorf("%d features: %v", n, err)
		}
	}
	if _, err := Open(DataJob{Source: path + ".not", Features: 1}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	lines := filepath.Join(t.TempDir(), "lines.geojson")
	if err := os.WriteFile(lines, []byte(`{"type":"Feature","id":"b","geometry":{"type":"LineString","coordinates":[[1,42],[1.5,42.5]]},"properties":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(DataJob{Source: lines, Features: 1, Borders: true}); !errors.Is(err, harness.ErrConfig) {
		t.Error(err)
	}
}
