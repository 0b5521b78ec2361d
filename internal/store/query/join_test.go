package query

import (
	"reflect"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/feature"
)

func TestJoin(t *testing.T) {
	since := func(s int64) time.Time { return time.Unix(s, 0) }
	a := Description{
		Name: "p", Features: 3, NullProperties: 1, Extent: &[4]float64{0, 1, 2, 3}, Created: since(9),
		Geometries: []GeometryCount{{"Point", 2}, {"null", 1}},
		Properties: []PropertySchema{{"n", 2, map[string]int{"number": 2}}},
	}
	b := Description{
		Name: "p", Features: 2, MoreProperties: true, Extent: &[4]float64{1, 0, 5, 2}, Created: since(8),
		Geometries: []GeometryCount{{"LineString", 1}, {"Point", 1}},
		Properties: []PropertySchema{{"a", 1, map[string]int{"string": 1}}, {"n", 2, map[string]int{"number": 1, "null": 1}}},
	}
	a.Join(&b)
	want := Description{
		Name: "p", Features: 5, NullProperties: 1, MoreProperties: true, Extent: &[4]float64{0, 0, 5, 3}, Created: since(8),
		Geometries: []GeometryCount{{"LineString", 1}, {"Point", 3}, {"null", 1}},
		Properties: []PropertySchema{{"a", 1, map[string]int{"string": 1}}, {"n", 4, map[string]int{"number": 3, "null": 1}}},
	}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("%+v, want %+v", a, want)
	}
}

func TestJoinExtents(t *testing.T) {
	box := func(west, east float64) *[4]float64 { return &[4]float64{west, 0, east, 0} }
	for _, c := range []struct {
		space      feature.Space
		a, b, want *[4]float64
	}{
		{feature.Geographic, nil, nil, nil},
		{feature.Geographic, nil, box(1, 2), box(1, 2)},
		{feature.Geographic, box(1, 2), box(5, 6), box(1, 6)},
		{feature.Geographic, box(1, 9), box(5, 6), box(1, 9)},
		{feature.Geographic, box(170, 175), box(-175, -170), box(170, -170)},
		{feature.Geographic, box(170, -170), box(-175, 10), box(170, 10)},
		{feature.Geographic, box(-180, 180), box(3, 4), box(-180, 180)},
		{feature.Geographic, box(10, -10), box(-20, 20), box(-180, 180)},
		{feature.Planar, box(170, 175), box(-175, -170), box(-175, 175)},
	} {
		for range 2 {
			if got := joinExtents(c.space, c.a, c.b); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v and %v: %v, want %v", c.a, c.b, got, c.want)
			}
			c.a, c.b = c.b, c.a
		}
	}
}
