//go:build geos && cgo

package feature

import (
	"fmt"
	"os"
	"testing"

	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"
	"github.com/peterstace/simplefeatures/geos"
	"pgregory.net/rapid"
)

// Predicates compared with those of GEOS: `make test-geos`, which needs
// libgeos-dev. CATFISH_COUNTRIES names a larger file than that of testdata.

func compare(t testing.TB, name string, v *View, q orb.Geometry) {
	area := stored(t, q, nil)
	a, b := v.simple(0), area.simple(0)
	for r, relate := range map[Relation]func(a, b geom.Geometry) (bool, error){
		Intersects: geos.Intersects, Within: geos.Within, Contains: geos.Contains,
	} {
		want, err := relate(a, b)
		if err != nil {
			// Only an invalid geometry has no answer.
			if a.Validate() == nil && b.Validate() == nil {
				t.Errorf("%s, relation %d: GEOS: %v", name, r, err)
			}
			continue
		}
		query := &Query{space: Planar, relation: r, kind: queryPolygon, area: area}
		if got, err := query.Match(v); got != want || err != nil {
			t.Errorf("%s, relation %d: %v, %v, GEOS says %v", name, r, got, err, want)
		}
	}
}

func TestGEOSCountries(t *testing.T) {
	file := os.Getenv("CATFISH_COUNTRIES")
	if file == "" {
		file = "testdata/countries.geojson"
	}
	all := countries(t, file)
	pairs := 0
	for i := range all {
		for j := range all {
			a, b := &all[i].view, &all[j].view
			if a.typ == None || b.typ == None || !a.Bound().Intersects(b.Bound()) {
				continue
			}
			pairs++
			compare(t, fmt.Sprint(all[i].code, " and ", all[j].code), a, b.Geometry())
		}
	}
	t.Log(pairs, "pairs")
}

func TestGEOSRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		geometry := drawGeometry(rt, "g")
		v, _ := both(rt, geometry)
		p, ok := drawPolygon(rt, "p")
		if _, collection := geometry.(orb.Collection); collection || !ok {
			rt.Skip("GEOS relates no collections")
		}
		both(rt, p)
		compare(t, fmt.Sprint(geometry, " and ", p), &v, p)
		if t.Failed() {
			rt.FailNow()
		}
	})
}
