package feature

import (
	"fmt"
	"testing"

	"github.com/paulmach/orb"
)

// TestPaths: the paths of all types, in order, and their kinds.
func TestPaths(t *testing.T) {
	ring := func(x float64) orb.Ring {
		return orb.Ring{{x, 0}, {x + 3, 0}, {x + 3, 3}, {x, 0}}
	}
	g := orb.Collection{
		orb.Point{1, 2}, orb.MultiPoint{{3, 4}, {5, 6}}, orb.LineString{{7, 8}, {9, 10}},
		orb.MultiPolygon{{ring(20), orb.Ring{{22, 0.5}, {22.5, 1}, {22.5, 0.5}, {22, 0.5}}}, {ring(30)}},
	}
	b, err := Append(nil, g, []byte(`{"a":"x\"y","b":[1,{"c":2}],"d":null}`))
	if err != nil {
		t.Fatal(err)
	}
	v, err := Open(b)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	var all []orb.Point
	for p := (Path{}); v.NextPath(&p); {
		got += fmt.Sprintf("%d:%d ", p.Kind(), p.Len())
		all = v.AppendPath(all, &p)
	}
	if want := "1:1 1:2 2:2 3:4 4:4 3:4 "; got != want {
		t.Errorf("paths %s, want %s", got, want)
	}
	if len(all) != 17 || all[0] != (orb.Point{1, 2}) || all[4] != (orb.Point{9, 10}) || all[16] != (orb.Point{30, 0}) {
		t.Errorf("%d positions: %v", len(all), all)
	}
	var values string
	v.Values(func(name, value []byte, t JSONType) {
		if t == JSONString {
			value = Unquote(value)
		}
		values += fmt.Sprintf("%s %v %s; ", name, t, value)
	})
	if want := `a string x"y; b array [1,{"c":2}]; d null null; `; values != want {
		t.Errorf("values %s, want %s", values, want)
	}
	room := make([]orb.Point, 0, 32)
	if n := testing.AllocsPerRun(10, func() {
		room = room[:0]
		for p := (Path{}); v.NextPath(&p); {
			room = v.AppendPath(room, &p)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
