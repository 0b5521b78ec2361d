package cluster

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/catfish-index/catfish/internal/placement"
)

// boxesAt are boxes, and how many of them each group has by the map.
type boxesAt []uint64

func (b boxesAt) load(context.Context, *placement.Map, string) (*BoxLoad, error) {
	return &BoxLoad{Sample: b, Each: boxBytes}, nil
}

func (b boxesAt) of(m *placement.Map) map[string]int {
	has := map[string]int{}
	for _, at := range b {
		_, g, err := m.RangeAt("roads", at)
		if err != nil {
			panic(err)
		}
		has[m.Groups[g].Name]++
	}
	return has
}

// A new group gets its share of the boxes, by ranges that are divided and moved, some at a time; and a group
// that is drained is left with nothing, and removed.
func TestRebalanceAndDrainBoxes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := roads(t)
		go carry(t.Context(), r, 3, 10)
		var boxes boxesAt
		for i := range uint64(200) {
			boxes = append(boxes, i<<50, half+i*i<<45)
		}
		o := Options{Boxes: boxes.load, Tolerance: .05}
		if result, err := Rebalance(t.Context(), r, o); err != nil || result.Moves != 0 {
			t.Fatalf("of equal shares %+v, %v", result, err)
		}
		if _, err := Add(t.Context(), r, placement.Group{Name: "g3", Weight: 2}); err != nil {
			t.Fatal(err)
		}
		m, planned, load, err := Plan(t.Context(), r, o)
		if err != nil {
			t.Fatal(err)
		}
		ranges := slices.DeleteFunc(planned, func(v placement.Move) bool { return v.Collection == "" })
		n := uint64(0)
		for _, v := range ranges {
			n += load.Bytes(v.Part)
		}
		if len(ranges) == 0 || n < 195*boxBytes || n > 205*boxBytes || len(curveOf(m, "roads").Ranges) < 3 {
			t.Errorf("%d bytes of ranges are planned to move: %+v", n, ranges)
		}
		o.Moves = 50
		result, err := Rebalance(t.Context(), r, o)
		if has := boxes.of(r.now()); err != nil || has["g3"] < 195 || has["g3"] > 205 || min(has["g1"], has["g2"]) < 95 {
			t.Errorf("%v, %+v, %v", has, result, err)
		}
		if again, err := Rebalance(t.Context(), r, o); err != nil || again.Moves != 0 {
			t.Errorf("again: %+v, %v", again, err)
		}
		if _, err := Drain(t.Context(), r, "g1", o); err != nil {
			t.Fatal(err)
		}
		// Without a word of where boxes are, and without boxes.
		if _, err := Drain(t.Context(), r, "g2", Options{}); err != nil {
			t.Fatal(err)
		}
		for _, g := range []string{"g1", "g2"} {
			if _, err := Remove(t.Context(), r, g); err != nil {
				t.Error(err)
			}
		}
		if has := boxes.of(r.now()); has["g3"] != len(boxes) {
			t.Errorf("%v", has)
		}
	})
}

// A named range moves to a group; one that another group has is refused, and its move can be undone.
func TestMoveRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := roads(t)
		first := []placement.Part{{Collection: "roads"}}
		if _, err := Move(t.Context(), r, first, "g3", "g2", Options{}); !errors.Is(err, ErrRefused) {
			t.Error(err)
		}
		if _, err := Move(t.Context(), r, []placement.Part{{Collection: "roads", Start: 7}}, "", "g2", Options{}); !errors.Is(err, placement.ErrUnknown) {
			t.Error(err)
		}
		if _, err := change(t.Context(), r, func(m *placement.Map) (*placement.Map, error) {
			return m.Begin(placement.Move{Part: first[0], From: 0, To: 1})
		}); err != nil {
			t.Fatal(err)
		}
		if undone, _, err := Undo(t.Context(), r, first); undone != 1 || err != nil {
			t.Error(undone, err)
		}
		go carry(t.Context(), r, 4, 0)
		result, err := Move(t.Context(), r, first, "g1", "g2", Options{})
		if g, _ := r.now().Owner(first[0]); err != nil || result.Moves != 1 || g != 1 {
			t.Errorf("%+v, %v, group %d", result, err, g)
		}
	})
}
