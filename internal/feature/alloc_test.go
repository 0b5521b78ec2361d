//go:build !race

package feature

import (
	"testing"

	"github.com/paulmach/orb"
)

// TestNoAllocations covers the work for each candidate of a search.
func TestNoAllocations(t *testing.T) {
	point := stored(t, orb.Point{1, 1}, []byte(`{"a":1,"b":"c"}`))
	high, err := AppendZ(nil, orb.LineString{{1, 1}, {2, 2}}, []float64{1, 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	seven := []float64{7}
	line, err := Parse(high)
	if err != nil {
		t.Fatal(err)
	}
	shape := stored(t, star(newRand(1), 200, 0, 0, 3), nil)
	box, _ := NewBox(Geographic, 0, 0, 2, 2, Intersects)
	inBox, _ := NewBox(Geographic, -170, -5, 170, 5, Within)
	at, _ := NewPoint(Geographic, orb.Point{0.1, 0.1})
	circle, _ := NewCircle(Geographic, orb.Point{5, 5}, 1e5, Intersects)
	area, _ := NewPolygon(Geographic, star(newRand(2), 100, 1, 1, 3), Intersects)
	o, _ := NewOrigin(Geographic, orb.Point{5, 5})
	buf := make([]byte, 0, 1<<16)
	boxes := make([]Box, 0, MaxBoxes)
	var g orb.Geometry = orb.Point{1, 1}
	for name, f := range map[string]func(){
		"Parse":              func() { _, _ = Parse(shape.b) },
		"Open":               func() { _, _ = Open(point.b) },
		"Boxes":              func() { shape.Boxes(boxes[:0]) },
		"Append a point":     func() { _, _ = Append(buf[:0], g, nil) },
		"AppendGeoJSON":      func() { shape.AppendGeoJSON(buf[:0], "id") },
		"altitudes":          func() { line.AppendGeoJSON(buf[:0], "id"); _, _ = AppendZ(buf[:0], g, seven, nil) },
		"AppendGeoJSON some": func() { point.AppendGeoJSON(buf[:0], "id", "b") },
		"box":                func() { _, _ = box.Match(&shape); _, _ = box.Match(&point) },
		"within box":         func() { _, _ = inBox.Match(&shape); _, _ = inBox.Match(&point) },
		"point":              func() { _, _ = at.Match(&shape); _, _ = at.Match(&point) },
		"SetBox":             func() { _ = box.SetBox(Geographic, 0, 0, 2, 2, Intersects) },
		"SetBox, two":        func() { _ = inBox.SetBox(Geographic, 170, -5, -170, 5, Within) },
		"NewOrigin":          func() { _, _ = NewOrigin(Geographic, orb.Point{5, 5}) },
		"circle":             func() { _, _ = circle.Match(&shape); _, _ = circle.Match(&point) },
		"polygon":            func() { _, _ = area.Match(&shape); _, _ = area.Match(&point) },
		"Distance":           func() { o.Distance(&shape); o.Distance(&point) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestBoxAllocations: a search makes one allocation, for the query and its boxes.
func TestBoxAllocations(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { _, _ = NewBox(Geographic, 1, 42, 2, 43, Intersects) }); n > 2 {
		t.Errorf("%v allocations", n)
	}
}
