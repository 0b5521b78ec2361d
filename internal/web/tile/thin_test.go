package tile

import (
	"math"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/store"
)

// TestThin: nothing that lies in a tile is left out because it is thin.
func TestThin(t *testing.T) {
	const z, x, y = 14, 8261, 6054 // in Andorra
	a, err := newArea(z, x, y)
	if err != nil {
		t.Fatal(err)
	}
	at := func(u, v float64) orb.Point { return orb.Point{a.longitude(u), a.latitude(v)} }
	// quad is an area along a line, as wide as given, in units.
	quad := func(u1, v1, u2, v2, wide float64) orb.Polygon {
		l := math.Hypot(u2-u1, v2-v1)
		dx, dy := -(v2-v1)/l*wide, (u2-u1)/l*wide
		return orb.Polygon{{at(u1, v1), at(u2, v2), at(u2+dx, v2+dy), at(u1+dx, v1+dy), at(u1, v1)}}
	}
	type shape struct {
		geometry orb.Geometry
		coarse   float64
		typ      geomType // 0: absent
	}
	for name, s := range map[string]shape{
		"wider than outlines are simplified by": {quad(100, 100, 180, 100, 5), 1, typePolygon},
		"a wall":                                {quad(100, 100, 136, 103, 2), 1, typePolygon},
		"a wall of a unit":                      {quad(100, 100, 136, 100, 1), 1, typePolygon},
		"thinner than a unit":                   {quad(100, 100.1, 136, 100.1, 0.2), 1, typePoint},
		"a hair":                                {quad(100, 100.1, 3000, 100.1, 1e-4), 1, typePoint},
		"a wall in a crowded tile":              {quad(100, 100, 136, 103, 2), 2, typePoint},
		"a wall in the buffer":                  {quad(4110, 100, 4146, 103, 2), 1, typePolygon},
		"a wall beyond the buffer":              {quad(4180, 100, 4210, 103, 2), 1, 0},
		"a wall that leaves the buffer":         {quad(4150, 100, 4300, 103, 2), 1, typePolygon},
		"a hair that leaves the buffer":         {quad(4150, 100.1, 4300, 100.1, 0.2), 1, typePoint},
		// Around a corner of the buffer, without being in it: clipping leaves its edges.
		"around a corner": {orb.Polygon{{at(4170, -200), at(4400, -200), at(4400, 200), at(4200, 200), at(4200, -100), at(4170, -100), at(4170, -200)}}, 1, 0},
		"along an edge": {orb.Polygon{{
			at(4162, -500), at(4300, -500), at(4300, 5000), at(-500, 5000), at(-500, 4162), at(4162, 4162), at(4162, -500),
		}}, 1, 0},
		"a line that touches a corner": {orb.LineString{at(4100, -68.2), at(4164.2, 0)}, 1, typeLine},
		"a line that cuts a corner":    {orb.LineString{at(4159.8, -64.1), at(4160.1, -63.8)}, 1, typePoint},
		"of two, one thin":             {orb.MultiPolygon{quad(100, 100.1, 136, 100.1, 0.2), quad(200, 200, 300, 200, 50)}, 1, typePolygon},
	} {
		c := places(t, store.Feature{ID: "it", Geometry: s.geometry})
		d := &shaper{a: a, coarse: s.coarse}
		got := map[geomType]bool{}
		err := c.Search(t.Context(), store.Query{}, func(f *store.Found) (bool, error) {
			d.draw(&f.View)
			for typ := typePoint; typ < geomTypes; typ++ {
				if len(d.out[typ]) > 0 {
					got[typ] = true
				}
			}
			return true, nil
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s.typ == 0 && len(got) > 0 || s.typ != 0 && (len(got) != 1 || !got[s.typ]) {
			t.Errorf("%s: drawn as %v, want %d", name, got, s.typ)
		}
		for _, q := range d.points {
			if q.x < -buffer || q.y < -buffer || q.x > extent+buffer || q.y > extent+buffer {
				t.Errorf("%s: a point at %v", name, q)
			}
		}
	}
}
