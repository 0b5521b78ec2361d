package placement

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/catfish-index/catfish/rstar"
)

// TestMeets: whatever groups put, with bounds that grow before, or with none, a
// search asks each group that has a result, and the nearest search finds the nearest.
func TestMeets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := aMap(t)
		if len(m.Boxes) == 0 {
			return
		}
		c := rapid.SampledFrom(m.Boxes).Draw(t, "boxes").Collection
		curve, _ := m.curve(c)
		type put struct {
			box rstar.Rect
			g   Index
		}
		var all []put
		for range rapid.IntRange(1, 12).Draw(t, "boxes") {
			box := aRect(t, "box")
			g, p, err := m.OfBox(c, box)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, put{box, g})
			if b := m.Boxes[curve].Ranges[m.Boxes[curve].at(p.Start)].Bounds; b != nil {
				wider := b.Union(BoundsOf(box))
				if m, err = m.BoundRange(c, p.Start, &wider); err != nil {
					t.Fatal(err)
				}
			}
		}
		area := aRect(t, "area")
		meets := m.Meets(c, area)
		if !slices.IsSorted(meets) {
			t.Fatal(meets)
		}
		for _, p := range all {
			if p.box.Intersects(area) && !slices.Contains(meets, p.g) {
				t.Fatalf("group %d has %v, and is not asked about %v", p.g, p.box, area)
			}
		}
		distance := func(r rstar.Rect) float64 { return r.Distance(area.MinX, area.MinY) }
		slices.SortFunc(all, func(a, b put) int { return cmp.Compare(distance(a.box), distance(b.box)) })
		nearest, last := 1e9, 0.0
		for _, n := range m.Nearest(c, distance) {
			if n.Distance < last {
				t.Fatalf("group %d at %v comes after one at %v", n.Group, n.Distance, last)
			}
			if last = n.Distance; nearest < last {
				break
			}
			for _, p := range all {
				if p.g == n.Group {
					nearest = min(nearest, distance(p.box))
				}
			}
		}
		if want := distance(all[0].box); nearest != want {
			t.Fatalf("nearest at %v, want %v", nearest, want)
		}
	})
}

// TestMeetsLess: extents spare groups, for boxes by range and for features by group.
func TestMeetsLess(t *testing.T) {
	m, err := New(groupsOf(1, 1, 1, 0))
	m = must(t, m, err)
	near, far := rstar.Rect{MaxX: 1, MaxY: 1}, rstar.Rect{MinX: 8, MinY: 4, MaxX: 9, MaxY: 5}
	area := rstar.Rect{MinX: 1, MinY: 1, MaxX: 2, MaxY: 2}
	distance := func(r rstar.Rect) float64 { return r.Distance(3, 0) }
	check := func(what string, groups []Index, order []Near) {
		t.Helper()
		if got := m.Meets("c", area); !slices.Equal(got, groups) {
			t.Errorf("%s: asks %v, want %v", what, got, groups)
		}
		if got := m.Nearest("c", distance); !slices.Equal(got, order) {
			t.Errorf("%s: %v, want %v", what, got, order)
		}
	}
	check("no extent", []Index{0, 1, 2}, []Near{{0, 0}, {1, 0}, {2, 0}})
	m, err = m.BoundGroup(0, "c", &far)
	m = must(t, m, err)
	m, err = m.BoundGroup(2, "c", &near)
	m = must(t, m, err)
	check("features", []Index{1, 2}, []Near{{1, 0}, {2, 2}, {0, distance(far)}})
	m, err = m.BoundGroup(0, "c", nil)
	m = must(t, m, err)
	check("taken back", []Index{0, 1, 2}, []Near{{0, 0}, {1, 0}, {2, 2}})

	// Boxes of one unit: of the quarters a third of the curve, of each group, has some.
	m, err = m.AddBoxes("c", world, nil, nil)
	m = must(t, m, err)
	unit := BoundsOf(rstar.Rect{MinX: 1, MaxX: 2, MaxY: 1})
	unit.Box = world
	for _, r := range m.Boxes[0].Ranges {
		m, err = m.BoundRange("c", r.Start, &unit)
		m = must(t, m, err)
	}
	for _, c := range []struct {
		area rstar.Rect
		want []Index
	}{
		{rstar.Rect{MinX: -9, MinY: -4, MaxX: -8, MaxY: -3}, []Index{0}},
		{rstar.Rect{MinX: 8, MinY: -4, MaxX: 9, MaxY: -3}, []Index{2}},
		{rstar.Rect{MinX: -1, MinY: 3, MaxX: 1, MaxY: 4}, []Index{1}},
		{rstar.Rect{MinX: -1, MinY: -4, MaxX: 1, MaxY: -3}, []Index{0, 2}},
		{rstar.Rect{MinX: 12, MinY: -4, MaxX: 13, MaxY: -3}, nil}, // beyond the box of all
		{world, []Index{0, 1, 2}},
	} {
		if got := m.Meets("c", c.area); !slices.Equal(got, c.want) {
			t.Errorf("asks %v about %v, want %v", got, c.area, c.want)
		}
	}
	bound := func(start uint64, box rstar.Rect) {
		t.Helper()
		b := BoundsOf(box)
		m, err = m.BoundRange("c", start, &b)
		m = must(t, m, err)
	}
	starts := m.Boxes[0].Ranges
	bound(0, far)
	bound(starts[1].Start, near)
	bound(starts[2].Start, world)
	m, err = m.Split("c", starts[1].Start, starts[1].Start+9)
	m = must(t, m, err)
	bound(starts[1].Start+9, far)
	check("boxes", []Index{2}, []Near{{2, 0}, {1, 2}, {0, distance(far)}})
	m, err = m.BoundRange("c", starts[1].Start, nil)
	m = must(t, m, err)
	check("a range without bounds", []Index{1, 2}, []Near{{1, 0}, {2, 0}, {0, distance(far)}})
	_, err = m.BoundRange("c", 77, nil)
	is(t, err, ErrUnknown, "77")
	_, err = m.BoundRange("c", 0, &Bounds{Box: rstar.Rect{MinX: 1}})
	is(t, err, rstar.ErrBadRect, "minx 1")
	_, err = m.BoundRange("c", 0, &Bounds{Box: world, HalfY: -1})
	is(t, err, ErrMap, "-1", "at 0")
	_, err = m.BoundGroup(4, "c", nil)
	is(t, err, ErrUnknown, "group 4 of 4")
}

// TestWideBoxes: a box is found from afar, on each side, also when ranges were joined.
func TestWideBoxes(t *testing.T) {
	m, err := New(groupsOf(1))
	m = must(t, m, err)
	m, err = m.AddBoxes("c", world, nil, nil)
	m = must(t, m, err)
	m, err = m.Split("c", 0, 1<<63)
	m = must(t, m, err)
	small := BoundsOf(rstar.Rect{MinX: -9, MinY: -4, MaxX: -8.9, MaxY: -3.9})
	wide := small.Union(BoundsOf(rstar.Rect{MinX: 1, MinY: -4, MaxX: 9, MaxY: 4})) // the centre is (5, 0)
	m, err = m.BoundRange("c", 0, &small)
	m = must(t, m, err)
	m, err = m.BoundRange("c", 1<<63, &wide)
	m = must(t, m, err)
	joined, err := m.Join("c", 1<<63)
	joined = must(t, joined, err)
	for _, p := range [][2]float64{{1, 0}, {9, 0}, {5, -4}, {5, 4}, {1, 4}} {
		area := rstar.Rect{MinX: p[0], MinY: p[1], MaxX: p[0], MaxY: p[1]}
		if len(m.Meets("c", area)) == 0 || len(joined.Meets("c", area)) == 0 {
			t.Errorf("no group is asked about %v", p)
		}
	}
}

// TestReach: a box is found in quarters of the world that are of other ranges.
func TestReach(t *testing.T) {
	for quarter, center := range [][2]float64{{-5, -2.5}, {-5, 2.5}, {5, 2.5}, {5, -2.5}} {
		m, err := New(groupsOf(1))
		m = must(t, m, err)
		m.Boxes = []Curve{{Collection: "c", World: world, Ranges: []Range{{}, {Start: 1 << 62}, {Start: 2 << 62}, {Start: 3 << 62}}}}
		none := BoundsOf(rstar.Rect{MinX: 99, MinY: 99, MaxX: 99, MaxY: 99})
		for i := range m.Boxes[0].Ranges {
			m.Boxes[0].Ranges[i].Bounds = &none
		}
		x, y := center[0], center[1]
		wide := BoundsOf(rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}).Union(BoundsOf(rstar.Rect{MinX: x - 11, MinY: y - 6, MaxX: x + 11, MaxY: y + 6}))
		m.Boxes[0].Ranges[quarter].Bounds = &wide
		for _, p := range [][2]float64{{-x, y}, {x, -y}, {-x, -y}} {
			if len(m.Meets("c", rstar.Rect{MinX: p[0], MinY: p[1], MaxX: p[0], MaxY: p[1]})) == 0 {
				t.Errorf("quarter %d: no group is asked about %v", quarter, p)
			}
		}
	}
}
