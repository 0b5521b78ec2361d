package feature

import (
	"testing"

	"github.com/paulmach/orb"
)

func TestSameGeometry(t *testing.T) {
	view := func(g orb.Geometry, properties string) *View {
		b, err := Append(nil, g, []byte(properties))
		if err != nil {
			t.Fatal(err)
		}
		v, err := Open(b)
		if err != nil {
			t.Fatal(err)
		}
		return &v
	}
	all := []orb.Geometry{
		nil, orb.Point{1, 2}, orb.Point{1, 3}, orb.LineString{{1, 2}, {3, 4}},
		orb.LineString{{3, 4}, {1, 2}}, orb.MultiPoint{{1, 2}, {3, 4}},
		orb.Polygon{{{0, 0}, {9, 0}, {9, 9}, {0, 0}}},
		orb.MultiPolygon{{{{0, 0}, {9, 0}, {9, 9}, {0, 0}}}},
		orb.MultiLineString{{{1, 2}, {3, 4}}},
	}
	for i, g := range all {
		for j, h := range all {
			for _, properties := range []string{"", `{}`, `{"a":"bcdefgh"}`} {
				if view(g, `{"a":1}`).SameGeometry(view(h, properties)) != (i == j) {
					t.Errorf("%v and %v with %q: same is %v", g, h, properties, i != j)
				}
			}
		}
	}
	if !new(View).SameGeometry(view(nil, "")) {
		t.Error("the zero View has another geometry than none")
	}
}
