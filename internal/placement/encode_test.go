package placement

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/catfish-index/catfish/rstar"
)

func TestEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := aMap(t)
		b, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := back.Encode(); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%s became %s; %v", b, again, err)
		}
		if len(m.Boxes) == 0 {
			m.Boxes = nil // as an empty list is decoded
		}
		if len(m.Moves) == 0 {
			m.Moves = nil
		}
		if !reflect.DeepEqual(back, m) {
			t.Fatalf("%+v became %+v", m, back)
		}
	})
}

// TestRefused: what breaks a rule or limit is named, in a map and in its encoding.
func TestRefused(t *testing.T) {
	m, err := New(groupsOf(1, 1))
	m = must(t, m, err)
	m, err = m.AddBoxes("roads", world, nil, nil)
	m = must(t, m, err)
	m, err = m.Begin(Move{Part: Part{Slot: 3}, From: 0, To: 1}, Move{Part: Part{Collection: "roads"}, From: 0, To: 1})
	m = must(t, m, err)
	for i, c := range []struct {
		change func(*Map)
		words  []string
	}{
		{func(m *Map) { m.Version = 0 }, []string{"version 0"}},
		{func(m *Map) { m.Groups = nil }, []string{"0 groups", "64"}},
		{func(m *Map) { m.Slots[17] = 2 }, []string{"slot 17", "group 2 of 2"}},
		{func(m *Map) { m.Groups[0].Extents = []Extent{{"b", world}, {"a", world}} }, []string{`"a" comes after that of "b"`}},
		{func(m *Map) { m.Groups[1].Extents = []Extent{{"b", rstar.Rect{MinX: 2, MaxX: 1}}} }, []string{`group "b"`, "minx 2"}},
		{func(m *Map) { m.Groups[1].Extents = []Extent{{"", world}} }, []string{"0 bytes"}},
		{func(m *Map) { m.Boxes[0].Ranges = nil }, []string{`"roads" has 0 ranges`, "1024"}},
		{func(m *Map) { m.Boxes[0].Ranges = make([]Range, 1025) }, []string{"1025 ranges", "1024"}},
		{func(m *Map) { m.Boxes[0].Ranges[0].Start = 1 }, []string{"starts at 1, not at 0"}},
		{func(m *Map) { m.Boxes[0].Ranges[1].Start = 0 }, []string{"at 0 comes after one at 0"}},
		{func(m *Map) { m.Boxes[0].Ranges[1].Group = 9 }, []string{"group 9 of 2"}},
		{func(m *Map) { m.Boxes[0].Ranges[1].Bounds = &Bounds{Box: rstar.Rect{MinY: 1}} }, []string{"miny 1"}},
		{func(m *Map) { m.Boxes[0].World.MaxX = -11 }, []string{"minx -10"}},
		{func(m *Map) { m.Boxes = append(m.Boxes, m.Boxes[0]) }, []string{`"roads" come after "roads"`}},
		{func(m *Map) { m.Boxes = make([]Curve, 257) }, []string{"257 collections", "256"}},
		{func(m *Map) { m.Moves = make([]Move, 257) }, []string{"257 moves", "256"}},
		{func(m *Map) { m.Moves[0].Slot = 4096 }, []string{"slot 4096 of 4096"}},
		{func(m *Map) { m.Moves[0].Start = 5 }, []string{"move 0"}},
		{func(m *Map) { m.Moves[1].Slot = 5 }, []string{"slot 5"}},
		{func(m *Map) { m.Moves[1].Start = 5 }, []string{"starts at 5"}},
		{func(m *Map) { m.Moves[1] = m.Moves[0] }, []string{"moves 0 and 1 are both of slot 3"}},
		{func(m *Map) { m.Moves[0].Step = 5 }, []string{"step 5", "of 5"}},
		{func(m *Map) { m.Moves[0].To = 2 }, []string{"group 2 of 2"}},
		{func(m *Map) { m.Moves[0].To = 0 }, []string{"from group 0 to 0"}},
		{func(m *Map) { m.Moves[0].Step = Drop }, []string{"drop", "group 0 has it"}},
		{func(m *Map) { m.Moves[1].From, m.Moves[1].To = 1, 0 }, []string{"group 0 has it"}},
		{func(m *Map) { m.Moves[0].Until = 8 }, []string{"revision 8"}},
	} {
		n := *m
		n.Groups, n.Moves = slices.Clone(m.Groups), slices.Clone(m.Moves)
		n.ranges(0)
		c.change(&n)
		is(t, n.Validate(), ErrMap, c.words...)
		if _, err := n.Encode(); !errors.Is(err, ErrMap) {
			t.Errorf("%d was encoded: %v", i, err)
		}
	}
	good, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to string
		words    []string
	}{
		{`"format":1`, `"format":2`, []string{"format 2", "want 1"}},
		{`"format"`, `"fermat"`, []string{"fermat"}},
		{`"version":"3"`, `"version":3`, []string{"string"}},
		{`"slots":"`, `"slots":"AAAA`, []string{"4099 slots", "4096"}},
		{`"slots":"A`, `"slots":"/`, []string{"slot 0", "group 252"}},
		{`"group":1`, `"group":300`, []string{"300"}},
		{`"group":1`, `"group":3`, []string{"group 3 of 2"}},
		{`{"format"`, `{}{"format"`, []string{"byte 3"}},
		{`{"format"`, `{"format":1}{"format"`, nil},
		{`{"format"`, `["format"`, nil},
		{`{"format"`, strings.Repeat(" ", MaxBytes) + `{"format"`, []string{"at most 65536"}},
	} {
		bad := strings.Replace(string(good), c.from, c.to, 1)
		if bad == string(good) {
			t.Fatalf("no %s in %s", c.from, good)
		}
		_, err := Decode([]byte(bad))
		is(t, err, ErrMap, c.words...)
	}
	if _, err := Decode(append(good, '\n')); err != nil {
		t.Errorf("a line: %v", err)
	}
}

// TestEncodedBytes: 64 groups with long names, 128 ranges with bounds and 256 moves fit,
// and what does not is refused.
func TestEncodedBytes(t *testing.T) {
	var groups []Group
	for i := range MaxGroups {
		groups = append(groups, Group{Name: fmt.Sprintf("group-%056d", i), Weight: 1})
	}
	m, err := New(groups)
	m = must(t, m, err)
	m, err = m.AddBoxes("roads", world, nil, nil)
	m = must(t, m, err)
	for len(m.Boxes[0].Ranges) < 128 {
		i := len(m.Boxes[0].Ranges)
		m, err = m.Split("roads", m.Boxes[0].Ranges[i-1].Start, m.Boxes[0].Ranges[i-1].Start+1e12)
		m = must(t, m, err)
	}
	extent := rstar.Rect{MinX: -1.0 / 3, MinY: -1.0 / 7, MaxX: 100.0 / 3, MaxY: 100.0 / 7}
	bounds := BoundsOf(extent)
	for _, r := range m.Boxes[0].Ranges {
		m, err = m.BoundRange("roads", r.Start, &bounds)
		m = must(t, m, err)
	}
	var moves []Move
	for s := range MaxMoves {
		moves = append(moves, Move{Part: Part{Slot: uint16(s)}, From: m.Slots[s], To: 63})
	}
	m, err = m.Begin(moves...)
	m = must(t, m, err)
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(b))
	for i := range 5 {
		m, err = m.AddBoxes(fmt.Sprint("more", i), world, nil, nil)
		m = must(t, m, err)
		for _, r := range m.Boxes[i].Ranges {
			m, err = m.BoundRange(fmt.Sprint("more", i), r.Start, &bounds)
			m = must(t, m, err)
		}
	}
	_, err = m.Encode()
	is(t, err, ErrMap, "bytes, at most 65536")
}

// FuzzDecode: any bytes are refused, or are a map whose encoding is the same map.
func FuzzDecode(f *testing.F) {
	m, err := New(groupsOf(1, 2))
	m = must(f, m, err)
	m, err = m.AddBoxes("roads", world, nil, nil)
	m = must(f, m, err)
	m, err = m.Begin(Move{Part: Part{Slot: 3}, From: 0, To: 1}, Move{Part: Part{Collection: "roads"}, From: 0, To: 1})
	m = must(f, m, err)
	m, err = m.BoundGroup(1, "x", &world)
	m = must(f, m, err)
	b, err := m.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"format":1,"version":"1","groups":[{"name":"a","weight":1}],"slots":""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode(data)
		if err != nil {
			if m != nil || !errors.Is(err, ErrMap) {
				t.Fatalf("%v, %v", m, err)
			}
			return
		}
		id := []byte("x")
		if g := m.Of(id); int(g) >= len(m.Groups) {
			t.Fatalf("group %d of %d", g, len(m.Groups))
		}
		for _, c := range m.Boxes {
			if _, _, err := m.OfBox(c.Collection, c.World); err != nil {
				t.Fatal(err)
			}
			m.Meets(c.Collection, c.World)
		}
		again, err := m.Encode()
		if err != nil {
			// Escapes and exponents may be longer than they were.
			if len(data) < MaxBytes/8 {
				t.Fatal(err)
			}
			return
		}
		back, err := Decode(again)
		if err != nil {
			t.Fatalf("%s became %s: %v", data, again, err)
		}
		if more, err := back.Encode(); err != nil || !bytes.Equal(more, again) {
			t.Fatalf("%s became %s; %v", again, more, err)
		}
	})
}
