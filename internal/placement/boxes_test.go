package placement

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/catfish-index/catfish/rstar"
)

var world = rstar.Rect{MinX: -10, MinY: -5, MaxX: 10, MaxY: 5}

// aRect draws boxes in and around world.
func aRect(t *rapid.T, label string) rstar.Rect {
	c := rapid.Float64Range(-12, 12)
	x, y := c.Draw(t, label+" x"), c.Draw(t, label+" y")
	side := rapid.Float64Range(0, 2)
	return rstar.Rect{MinX: x, MinY: y, MaxX: x + side.Draw(t, label+" w"), MaxY: y + side.Draw(t, label+" h")}
}

// aMap draws valid maps: groups, boxes with ranges and extents, moves at all steps.
func aMap(t *rapid.T) *Map {
	weights := rapid.SliceOfN(rapid.Uint8Range(0, 3), 1, 6).Draw(t, "weights")
	weights[0]++
	m, err := New(groupsOf(weights...))
	if err != nil {
		t.Fatal(err)
	}
	group := func(label string) Index { return Index(rapid.IntRange(0, len(weights)-1).Draw(t, label)) }
	next := func(n *Map, err error) {
		if err != nil {
			t.Fatal(err)
		}
		m = n
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "é\"<", "roads", "zz"}), 0, 3, rapid.ID).Draw(t, "boxes") {
		next(m.AddBoxes(name, world, rapid.SliceOfN(rapid.Uint64(), 0, 8).Draw(t, "sample"), nil))
		for range rapid.IntRange(0, 4).Draw(t, "splits") {
			if n, err := m.Split(name, 0, rapid.Uint64().Draw(t, "at")); err == nil {
				next(n, nil)
			}
		}
		curve, err := m.curve(name)
		if err != nil {
			t.Fatal(err)
		}
		m = m.next()
		ranges := m.ranges(curve)
		for i := range ranges {
			ranges[i].Group = group("owner")
			if rapid.Bool().Draw(t, "bounded") {
				box := aRect(t, "extent")
				b := BoundsOf(box)
				ranges[i].Bounds = &b
			}
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "extents") {
		box := aRect(t, "extent")
		next(m.BoundGroup(group("bounded"), rapid.SampledFrom([]string{"x", "y"}).Draw(t, "features"), &box))
	}
	for range rapid.IntRange(0, 5).Draw(t, "moves") {
		p := aPart(t, m)
		owner, err := m.owner(p)
		if err != nil {
			t.Fatal(err)
		}
		n, err := m.Begin(Move{Part: p, From: *owner, To: group("to")})
		if err != nil {
			continue
		}
		next(n, nil)
		for range rapid.IntRange(0, 4).Draw(t, "steps") {
			switch m.Moves[len(m.Moves)-1].Step {
			case Copy:
				next(m.Copied(p))
			case CatchUp:
				next(m.Freeze(p, rapid.Uint64().Draw(t, "until")))
			case Freeze:
				next(m.Received(p))
			case Wait:
				next(m.Decide(p))
			}
		}
	}
	return m
}

// aPart draws one of a map's parts.
func aPart(t *rapid.T, m *Map) Part {
	if len(m.Boxes) > 0 && rapid.Bool().Draw(t, "a range") {
		c := rapid.SampledFrom(m.Boxes).Draw(t, "curve")
		return Part{Collection: c.Collection, Start: rapid.SampledFrom(c.Ranges).Draw(t, "range").Start}
	}
	return Part{Slot: rapid.Uint16Range(0, Slots-1).Draw(t, "slot")}
}

// TestPosition: corners are at the curve's ends, centres beyond the world on its border,
// and no coordinate overflows.
func TestPosition(t *testing.T) {
	at := func(x, y float64) rstar.Rect { return rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y} }
	const huge = math.MaxFloat64
	for _, c := range []struct {
		world, box rstar.Rect
		want       uint64
	}{
		{world, at(-10, -5), 0},
		{world, at(10, -5), math.MaxUint64},
		{world, at(-99, -99), 0},
		{world, at(99, -99), math.MaxUint64},
		{world, rstar.Rect{MinX: -11, MinY: -6, MaxX: -9, MaxY: -4}, 0},
		{at(3, 3), at(7, 7), 0},
		{rstar.Rect{MinX: -huge, MinY: -huge, MaxX: huge, MaxY: huge}, at(huge, -huge), math.MaxUint64},
		{rstar.Rect{MinX: -huge, MinY: -huge, MaxX: huge, MaxY: huge}, rstar.Rect{MinX: huge, MinY: -huge, MaxX: huge, MaxY: -huge}, math.MaxUint64},
		{world, rstar.Rect{MinX: huge, MinY: -huge, MaxX: huge, MaxY: -huge}, math.MaxUint64},
		{world, rstar.Rect{MinX: 0.1, MinY: 0.1, MaxX: 0.3, MaxY: 0.3}, Position(world, at(0.2, 0.2))},
	} {
		if got := Position(c.world, c.box); got != c.want {
			t.Errorf("%v in %v is at %x, not at %x", c.box, c.world, got, c.want)
		}
	}
}

// TestPositionQuarters: a quarter of the world is a quarter of the curve.
func TestPositionQuarters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := rapid.Float64Range(-10, 10).Draw(t, "x"), rapid.Float64Range(-5, 5).Draw(t, "y")
		quarter := map[[2]bool]uint64{{false, false}: 0, {false, true}: 1, {true, true}: 2, {true, false}: 3}[[2]bool{x >= 0, y >= 0}]
		if math.Abs(x) < 1e-6 || math.Abs(y) < 1e-6 {
			return // Rounding decides.
		}
		if got := Position(world, rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}) >> 62; got != quarter {
			t.Fatalf("(%v, %v) is in quarter %d, not %d", x, y, got, quarter)
		}
	})
}

// TestOfBox: the range is the one that a linear search finds.
func TestOfBox(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := aMap(t)
		for _, c := range m.Boxes {
			box := aRect(t, "box")
			want := c.Ranges[0]
			for _, r := range c.Ranges {
				if r.Start <= Position(c.World, box) {
					want = r
				}
			}
			g, p, err := m.OfBox(c.Collection, box)
			if err != nil || g != want.Group || p.Start != want.Start || p.Collection != c.Collection {
				t.Fatalf("%v is of %d, %v; want %v; %v", box, g, p, want, err)
			}
		}
	})
}

func TestBoxErrors(t *testing.T) {
	m, err := New(groupsOf(1, 1))
	m = must(t, m, err)
	_, _, err = m.OfBox("roads", world)
	is(t, err, ErrUnknown, `"roads"`)
	m, err = m.AddBoxes("roads", world, nil, nil)
	m = must(t, m, err)
	_, err = m.AddBoxes("roads", world, nil, nil)
	is(t, err, ErrBusy, `"roads"`)
	_, err = m.AddBoxes("more", rstar.Rect{MinX: 1}, nil, nil)
	is(t, err, rstar.ErrBadRect, "minx 1")
	_, _, err = m.OfBox("roads", rstar.Rect{MinX: math.NaN()})
	is(t, err, rstar.ErrBadRect, "NaN")
	is(t, m.TakesBox(0, "roads", rstar.Rect{MinX: 1}), rstar.ErrBadRect)
	_, err = m.Split("roads", 1, 2)
	is(t, err, ErrUnknown, "starts at 1")
	for _, at := range []uint64{0, 1<<63 - 1, 1 << 63, math.MaxUint64} { // the second range begins at 1<<63-1
		_, err = m.Split("roads", 0, at)
		is(t, err, ErrMap, "not inside")
	}
	_, err = m.Join("roads", 0)
	is(t, err, ErrMap, "is the first")
	_, err = m.Join("roads", m.Boxes[0].Ranges[1].Start)
	is(t, err, ErrBusy, `"a" and "b"`)
	_, err = m.Halve("roads", 0, []uint64{5, 5, 5, math.MaxUint64})
	is(t, err, ErrLoad, "3 samples")
	moving, err := m.Begin(Move{Part: Part{Collection: "roads"}, From: 0, To: 1})
	moving = must(t, moving, err)
	_, err = moving.Split("roads", 0, 9)
	is(t, err, ErrBusy, `"b"`, "copy")
	_, err = moving.Drop("roads")
	is(t, err, ErrBusy)
	dropped, err := m.Drop("roads")
	if len(must(t, dropped, err).Boxes) != 0 {
		t.Error("still there")
	}
	_, err = m.Drop("rails")
	is(t, err, ErrUnknown, `"rails"`)
}

// Boxes up to the bounds fit, and no larger ones; without bounds all do. So a search of an
// area asks the group of each box in it.
func TestFitsBox(t *testing.T) {
	m, err := New(groupsOf(1, 1))
	m = must(t, m, err)
	b := Largest(0.5, 0.25)
	m, err = m.AddBoxes("roads", world, nil, &b)
	m = must(t, m, err)
	m, err = m.AddBoxes("any", world, nil, nil)
	m = must(t, m, err)
	box := func(x, y, w, h float64) rstar.Rect { return rstar.Rect{MinX: x, MinY: y, MaxX: x + w, MaxY: y + h} }
	for _, r := range []rstar.Rect{box(0, 0, 0, 0), box(0, 0, 0.5, 0.25), box(-7e8, 1e9, 0.5, 0.25)} {
		if err := m.FitsBox("roads", r); err != nil {
			t.Error(err)
		}
	}
	for _, r := range []rstar.Rect{box(0, 0, 0.51, 0), box(0, 0, 0, 0.26), box(-math.MaxFloat64, 0, math.MaxFloat64, 0)} {
		is(t, m.FitsBox("roads", r), ErrBounds, "wide", "at most 0.5")
		if err := m.FitsBox("any", r); err != nil {
			t.Error(err)
		}
	}
	is(t, m.FitsBox("rails", world), ErrUnknown, `"rails"`)
	is(t, m.FitsBox("roads", rstar.Rect{MinX: 1}), rstar.ErrBadRect)
	if m.Places("rails") || !m.Places("any") {
		t.Error("rails are placed, or any is not")
	}
}

// TestBoundBoxes: each range takes boxes of the size of its own.
func TestBoundBoxes(t *testing.T) {
	m, err := New(groupsOf(1, 1, 1))
	m = must(t, m, err)
	var s Survey
	var all []rstar.Rect
	for i := range 3 * SurveySample {
		x := float64(i) / (3 * SurveySample)
		all = append(all, rstar.Rect{MinX: x, MinY: 0, MaxX: x + x/8, MaxY: 0.25})
		s.Add(all[i])
	}
	if s.Boxes != len(all) || s.Extent.MinX != 0 || s.Extent.MaxX < 1 || len(s.Positions(s.Extent)) != SurveySample {
		t.Errorf("%d boxes in %v", s.Boxes, s.Extent)
	}
	row := rstar.Rect{MinX: 0, MinY: 0.125, MaxX: s.Extent.MaxX, MaxY: 1} // Along its border the curve runs eastwards.
	m, err = m.AddBoxes("roads", row, s.Positions(row), nil)
	m = must(t, m, err)
	m, err = m.BoundBoxes("roads", slices.Values(all))
	m = must(t, m, err)
	held := map[Index]int{}
	for _, box := range all {
		g, _, err := m.OfBox("roads", box)
		if err = errors.Join(err, m.FitsBox("roads", box)); err != nil {
			t.Fatal(err)
		}
		held[g]++
	}
	for g, n := range held {
		if n < len(all)*3/10 || n > len(all)*4/10 {
			t.Errorf("group %d has %d of %d", g, n, len(all))
		}
	}
	for x, fits := range map[float64]bool{0.01: false, 0.99: true} { // small ones here, large ones there
		if err := m.FitsBox("roads", rstar.Rect{MinX: x - 0.06, MinY: 0, MaxX: x + 0.06, MaxY: 0.25}); (err == nil) != fits {
			t.Errorf("at %v: %v", x, err)
		}
	}
	m, err = m.BoundBoxes("roads", slices.Values(all[:1]))
	m = must(t, m, err)
	for _, r := range m.Boxes[0].Ranges {
		if *r.Bounds != Largest(0, 0.25) {
			t.Errorf("of a range without boxes: %v", r.Bounds)
		}
	}
	_, err = m.BoundBoxes("rails", slices.Values(all))
	is(t, err, ErrUnknown, `"rails"`)
}

// TestAddBoxes: ranges have the groups' shares of the sample, as far as positions differ.
func TestAddBoxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Uint8Range(0, 4), 1, 8).Draw(t, "weights")
		weights[0]++
		sample := rapid.SliceOfN(rapid.OneOf(rapid.Uint64Max(math.MaxUint64-1), rapid.Uint64Range(0, 3)), 0, 100).Draw(t, "sample")
		m, err := New(groupsOf(weights...))
		if err != nil {
			t.Fatal(err)
		}
		if m, err = m.AddBoxes("roads", world, sample, nil); err != nil {
			t.Fatal(err)
		}
		sorted := slices.Sorted(slices.Values(sample))
		distinct := len(slices.Compact(slices.Clone(sorted)))
		ranges, all := m.Boxes[0].Ranges, 0
		for _, w := range weights {
			all += int(w)
		}
		for i, r := range ranges {
			if weights[r.Group] == 0 {
				t.Fatalf("group %d of weight 0 has a range", r.Group)
			}
			if n, share := len(inside(ranges, i, sorted)), len(sample)*int(weights[r.Group])/all; distinct == len(sample) && (n < share || n > share+1) {
				t.Fatalf("range %d has %d samples, want %d or one more", i, n, share)
			}
		}
	})
}

// TestSplits: splits and joins change no owner and no extent, and halves are even.
func TestSplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := aMap(t)
		if len(m.Boxes) == 0 {
			return
		}
		c := rapid.SampledFrom(m.Boxes).Draw(t, "boxes")
		r := rapid.SampledFrom(c.Ranges).Draw(t, "range")
		sample := rapid.SliceOfN(rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 5)), 0, 20).Draw(t, "sample")
		same := func(n *Map, what string) {
			if err := n.Validate(); err != nil {
				t.Fatal(err)
			}
			box := aRect(t, "box")
			was, _, _ := m.OfBox(c.Collection, box)
			if now, _, _ := n.OfBox(c.Collection, box); now != was {
				t.Fatalf("%s: %v was of %d, is of %d", what, box, was, now)
			}
			if a, b := m.Meets(c.Collection, box), n.Meets(c.Collection, box); what != "join" && !slices.Equal(a, b) {
				t.Fatalf("%s: %v met %v, meets %v", what, box, a, b)
			}
		}
		half, err := m.Halve(c.Collection, r.Start, sample)
		if err == nil {
			same(half, "halve")
			i := c.at(r.Start)
			all := inside(c.Ranges, i, slices.Sorted(slices.Values(sample)))
			low := len(inside(half.Boxes[slices.IndexFunc(half.Boxes, func(h Curve) bool { return h.Collection == c.Collection })].Ranges, i, all))
			best := len(all)
			for k := 1; k < len(all); k++ {
				if all[k] != all[k-1] {
					best = min(best, max(k, len(all)-k))
				}
			}
			if max(low, len(all)-low) > best+1 {
				t.Fatalf("%d of %d are in the lower half, the even one would be %d", low, len(all), best)
			}
		}
		if n, err := m.Join(c.Collection, r.Start); err == nil {
			same(n, "join")
			if a, b := n.Meets(c.Collection, world), m.Meets(c.Collection, world); len(a) < len(b) {
				t.Fatalf("a join hides a group: %v, was %v", a, b)
			}
		}
	})
}
