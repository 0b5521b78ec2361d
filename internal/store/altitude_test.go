package store

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

// TestAltitudes: a found feature has its altitudes, also after a patch of its
// properties and after a restart. The data directory has the format that covers them
// from the first on, and not before.
func TestAltitudes(t *testing.T) {
	o, ctx := Options{Dir: t.TempDir()}, t.Context()
	put := func(t *testing.T, c *Collection, f Feature) {
		t.Helper()
		if _, _, err := c.Put(ctx, f, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	hasFormat := func(want uint32) {
		t.Helper()
		if r, err := disk.Check(o.Dir); err != nil || r.Format != want {
			t.Fatalf("format %d, want %d, %v", r.Format, want, err)
		}
	}
	st := open(t, o)
	put(t, create(t, st, CollectionOptions{}), Feature{ID: "flat", Geometry: orb.Point{1, 2}, Altitudes: []float64{math.NaN()}})
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	hasFormat(1)
	st = open(t, o)
	c := create(t, st, CollectionOptions{})
	line := Feature{ID: "line", Geometry: orb.LineString{{170, 0}, {-170, 0}}, Altitudes: []float64{0, 100}}
	put(t, c, line)
	put(t, c, Feature{ID: "point", Geometry: orb.Point{1, 2}, Altitudes: []float64{-7.5}, Properties: []byte(`{"a":1}`)})
	if _, err := c.Patch(ctx, "point", []byte(`{"b":2}`), kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		want := map[string]string{
			"flat":  `{"type":"Point","coordinates":[1,2]} `,
			"line":  `{"type":"MultiLineString","coordinates":[[[170,0,0],[180,0,50]],[[-180,0,50],[-170,0,100]]]} `,
			"point": `{"type":"Point","coordinates":[1,2,-7.5]} {"a":1,"b":2}`,
		}
		altitudes := map[string][]float64{"line": {0, 50, 50, 100}, "point": {-7.5}}
		if err := c.Search(ctx, Query{Order: query.ByID}, func(f *Found) (bool, error) {
			x := f.Feature()
			if got := string(f.View.AppendGeometryJSON(nil)) + " " + string(x.Properties); got != want[x.ID] || !slices.Equal(x.Altitudes, altitudes[x.ID]) {
				t.Errorf("%s: %s with altitudes %v, want %s", x.ID, got, x.Altitudes, want[x.ID])
			}
			delete(want, x.ID)
			return true, nil
		}); err != nil || len(want) > 0 {
			t.Errorf("not found: %v, %v", want, err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		hasFormat(altitudesFormat)
		st = open(t, o)
		c = create(t, st, CollectionOptions{})
	}
	// Each position has one, or none has.
	line.Altitudes = line.Altitudes[:1]
	if _, _, err := c.Put(ctx, line, kv.Condition{}); err == nil || !strings.Contains(err.Error(), "1 altitudes for 2 positions") {
		t.Errorf("%v", err)
	}
	// In memory alone nothing has a format.
	put(t, create(t, open(t, Options{SlabBytes: 1 << 20}), CollectionOptions{Space: feature.Planar}), Feature{ID: "x", Geometry: orb.Point{1, 2}, Altitudes: []float64{3}})
}
