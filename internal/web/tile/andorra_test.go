package tile

import (
	"math"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	files "github.com/catfish-index/catfish/internal/places"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// andorra returns a collection of the country's 29,149 places, streets and buildings.
func andorra(t testing.TB) *store.Collection {
	r, err := files.Open("../../../datasets/testdata/andorra.osm.pbf", files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := create(t, open(t, store.Options{}), store.CollectionOptions{})
	failed := error(nil)
	for p, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		g, err := feature.Normalise(p.Geometry, feature.Options{Space: feature.Geographic})
		if err != nil {
			continue // Two or three rings cross themselves.
		}
		value, err := feature.Append(nil, g, p.Properties)
		if err != nil {
			t.Fatal(err)
		}
		c.PutEncoded(p.ID, value, 0, kv.Condition{}, func(_ uint64, err error) { failed = err })
		if failed != nil {
			t.Fatal(failed)
		}
	}
	return c
}

// TestAndorra: a crowded country at all zooms: no tile is too large, each can
// be decoded, and each feature of a tile at a high zoom is in it.
func TestAndorra(t *testing.T) {
	c := andorra(t)
	in := orb.Point{1.5218, 42.5069} // Andorra la Vella
	largest, clustered := 0, 0
	for z := 0; z <= 18; z++ {
		n := math.Exp2(float64(z))
		u := (&area{n: n}).project(in, 0)
		x, y := int(u[0]/extent), int(u[1]/extent)
		data := draw(t, Builder{}, c, z, x, y, Options{}).Data
		largest = max(largest, len(data))
		all := decode(t, data, "places")
		clusters, _ := inTile(all)
		if clusters > 0 {
			clustered++
		}
		if len(all) == 0 || clusters > 0 && z > 12 {
			t.Errorf("%d/%d/%d: %d features, %d clusters", z, x, y, len(all), clusters)
		}
		if z < 13 {
			continue
		}
		got := map[any]bool{}
		for _, d := range all {
			got[d.tags["id"]] = true
		}
		a, err := newArea(z, x, y)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		err = c.Search(t.Context(), store.Query{Area: query.Box(a.longitude(0), a.latitude(extent), a.longitude(extent), a.latitude(0))},
			func(f *store.Found) (bool, error) {
				if want++; !got[string(f.ID)] {
					t.Errorf("%d/%d/%d: %s is not there", z, x, y, f.ID)
				}
				return true, nil
			})
		if err != nil || want == 0 {
			t.Fatalf("%d features: %v", want, err)
		}
	}
	if largest < MaxBytes/10 || clustered == 0 {
		t.Errorf("the largest tile has %d bytes, %d are clustered: nothing was tried", largest, clustered)
	}
}
