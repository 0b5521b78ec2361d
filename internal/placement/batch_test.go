package placement

import (
	"errors"
	"reflect"
	"testing"
)

// Steps of many moves are one version, and change nothing of the map before; a step that fails changes
// nothing, and after an error there is no map.
func TestBatch(t *testing.T) {
	m, err := New([]Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	var moves []Move
	for s := range uint16(MaxMoves) {
		moves = append(moves, Move{Part: Part{Slot: s}, To: 1})
	}
	if m, err = m.Begin(moves...); err != nil {
		t.Fatal(err)
	}
	before, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	one := m
	for _, v := range moves[:9] {
		for _, step := range []func(*Map) (*Map, error){
			func(m *Map) (*Map, error) { return m.Copied(v.Part) },
			func(m *Map) (*Map, error) { return m.Freeze(v.Part, 7) },
			func(m *Map) (*Map, error) { return m.Received(v.Part) },
			func(m *Map) (*Map, error) { return m.Decide(v.Part) },
		} {
			if one, err = step(one); err != nil {
				t.Fatal(err)
			}
		}
	}
	if one, err = one.Undo(moves[9].Part); err != nil {
		t.Fatal(err)
	}
	all, err := m.Batch(func(n *Map) error {
		for _, v := range moves[:9] {
			_, a := n.Copied(v.Part)
			_, b := n.Freeze(v.Part, 7)
			_, c := n.Received(v.Part)
			_, d := n.Decide(v.Part)
			if err := errors.Join(a, b, c, d); err != nil {
				return err
			}
			if _, err := n.Copied(v.Part); !errors.Is(err, ErrStep) {
				t.Errorf("a step again: %v", err)
			}
		}
		_, err := n.Undo(moves[9].Part)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if all.Version != m.Version+1 || all.Epoch != all.Version {
		t.Errorf("version %d, epoch %d, after %d", all.Version, all.Epoch, m.Version)
	}
	if all.Slots != one.Slots || !reflect.DeepEqual(all.Moves, one.Moves) {
		t.Error("other slots or moves than by one step after another")
	}
	if after, err := m.Encode(); err != nil || string(after) != string(before) {
		t.Errorf("the map before has changed, %v", err)
	}
	if next, err := all.Undo(moves[20].Part); err != nil || next == all || len(all.Moves) != MaxMoves-1 {
		t.Errorf("the map of a batch is changed by a later step: %v", err)
	}
	failed := errors.New("no")
	if n, err := m.Batch(func(*Map) error { return failed }); n != nil || !errors.Is(err, failed) {
		t.Error(n, err)
	}
	if n := testing.AllocsPerRun(3, func() {
		if _, err := m.Batch(func(n *Map) error {
			for _, v := range moves {
				if _, err := n.Copied(v.Part); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}); n > 8 {
		t.Errorf("%.0f allocations for %d steps", n, len(moves))
	}
}
