//go:build clients

package webclients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/feature"
)

// place is a feature in GDAL's output.
type place struct {
	geometry   any
	properties map[string]any // without those that are null
}

// ogr2ogr reads a layer, from the server or from a file, with the same options, and
// gives its features by their ids.
func ogr2ogr(t *testing.T, source []string, options ...string) map[string]place {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.geojsonl")
	args := append([]string{"--config", "OGR_GEOJSON_DATE_AS_STRING", "YES", "-f", "GeoJSONSeq", "-lco", "COORDINATE_PRECISION=15"}, options...)
	run(t, "ogr2ogr", append(append(args, out), source...)...)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]place{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var f struct {
			Properties map[string]any
			Geometry   json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			t.Fatalf("%v: %.300s", err, lines.Bytes())
		}
		id, _ := f.Properties["id"].(string)
		if _, twice := all[id]; twice || id == "" {
			t.Fatalf("id %q, again or none: %.300s", id, lines.Bytes())
		}
		maps.DeleteFunc(f.Properties, func(_ string, v any) bool { return v == nil })
		all[id] = place{normal(t, f.Geometry), f.Properties}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// normal is a geometry as Catfish stores it: cut at 180 degrees.
func normal(t *testing.T, text json.RawMessage) (v any) {
	t.Helper()
	if string(text) == "null" {
		return nil
	}
	g, err := feature.DecodeGeometry(text, feature.Options{})
	if err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	b, err := feature.Append(nil, g, nil)
	if err != nil {
		t.Fatal(err)
	}
	view, err := feature.Open(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(view.AppendGeometryJSON(nil), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// alike reports whether decoded JSON is equal. GDAL writes 15 decimals of a number.
func alike(a, b any) bool {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return ok && math.Abs(a-b) <= 1e-13*max(1, math.Abs(a))
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, alike)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, alike)
	}
	return reflect.DeepEqual(a, b)
}

// renamed gives properties names that do not depend on the order in which GDAL met
// them: it renames one of two that differ in case alone (fixme and FIXME), with
// an appended 2.
func renamed(all map[string]place) {
	names := map[string]bool{}
	for _, p := range all {
		for name := range p.properties {
			names[name] = true
		}
	}
	for _, p := range all {
		for name, value := range maps.Clone(p.properties) {
			if base, ok := strings.CutSuffix(name, "2"); ok {
				lower, upper := strings.ToLower(base), strings.ToUpper(base)
				if names[lower] || names[upper] {
					delete(p.properties, name)
					p.properties[lower] = value
				}
				continue
			}
			if lower := strings.ToLower(name); lower != name && (names[lower] || names[lower+"2"]) {
				delete(p.properties, name)
				p.properties[lower] = value
			}
		}
	}
}

// Features that GDAL reads from the server are those that it reads from the file that
// was loaded: ids, geometries and properties, all of them and by area and condition.
func TestGDAL(t *testing.T) {
	for i, c := range loaded {
		t.Run(c.name, func(t *testing.T) {
			file := []string{original(t, i)}
			layer := []string{"OAPIF:" + site, c.name}
			for _, options := range map[string][][]string{
				"countries": {nil, {"-spat", "5", "45", "11", "48"}, {"-where", "id = 'CH'"}, {"-where", "id IN ('CH', 'FJ')"},
					{"-where", "id > 'F'", "-spat", "-180", "-90", "180", "40"}},
				"kinds": {nil, {"-spat", "1.55", "42.4", "2.5", "42.7"}, {"-spat", "2.45", "42.45", "2.55", "42.55"}, {"-where", "n > 4 AND name IS NOT NULL"},
					{"-where", "name = 'Straße \"5\"'"}, {"-where", "open = 1"}, {"-where", "half < 1 OR n = 5"}},
				"andorra": {nil, {"-where", "id = 'node/1051444040'"}, {"-spat", "1.52", "42.505", "1.53", "42.51"}, {"-where", "tourism = 'hotel' AND name LIKE 'Hotel%'", "-spat", "1.5", "42.5", "1.55", "42.55"}},
			}[c.name] {
				t.Run(strings.Join(options, " "), func(t *testing.T) {
					want, got := ogr2ogr(t, file, options...), ogr2ogr(t, layer, append(options, "-oo", "PAGE_SIZE=1000")...)
					if c.name == "andorra" {
						renamed(want)
						renamed(got)
					}
					same(t, want, got)
				})
			}
		})
	}
}

func same(t *testing.T, want, got map[string]place) {
	t.Helper()
	if len(want) == 0 || len(got) != len(want) {
		t.Errorf("%d features from the server, %d from the file", len(got), len(want))
	}
	bad := 0
	for id, w := range want {
		g, ok := got[id]
		if ok && alike(w.geometry, g.geometry) && alike(w.properties, g.properties) {
			continue
		}
		if bad++; bad < 5 {
			t.Errorf("%s: from the server %v\n%.500v, from the file\n%.500v", id, ok, fmt.Sprint(g), fmt.Sprint(w))
		}
	}
	t.Logf("%d features compared, %d differ", len(want), bad)
}

// GDAL's summary of the layers.
func TestGDALSummary(t *testing.T) {
	out := run(t, "ogrinfo", "-al", "-so", "OAPIF:"+site)
	for _, want := range []string{
		"Layer name: countries", "Feature Count: 13", "Layer name: andorra", "Feature Count: 29149", "Layer name: kinds", "Feature Count: 8",
		"n: Integer64", "open: Integer(Boolean)", "name: String", "Extent: (0.975969, 42.324215) - (1.824655, 42.788337)",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("ogrinfo does not say %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%.5000s", out)
	}
}
