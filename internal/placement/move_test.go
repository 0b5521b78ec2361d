package placement

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSteps: of all functions in all steps, those of the step work, and Decide alone
// changes an owner.
func TestSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := aMap(t)
		p := aPart(t, m)
		at := m.moving(p)
		functions := map[string]func(Part) (*Map, error){
			"copied": m.Copied, "recopy": m.Recopy, "received": m.Received, "decide": m.Decide, "dropped": m.Dropped, "undo": m.Undo,
			"freeze": func(p Part) (*Map, error) { return m.Freeze(p, 7) },
		}
		works := map[Step][]string{
			Copy: {"copied", "undo"}, CatchUp: {"recopy", "freeze", "undo"}, Freeze: {"received", "undo"}, Wait: {"decide", "undo"}, Drop: {"dropped"},
		}
		before, _ := m.Encode()
		for name, f := range functions {
			n, err := f(p)
			if at < 0 {
				if !errors.Is(err, ErrUnknown) {
					t.Fatalf("%s of %v, which does not move: %v", name, p, err)
				}
				continue
			}
			if !slices.Contains(works[m.Moves[at].Step], name) {
				if !errors.Is(err, ErrStep) {
					t.Fatalf("%s at %v: %v", name, m.Moves[at].Step, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s at %v: %v", name, m.Moves[at].Step, err)
			}
			if err := n.Validate(); err != nil || n.Version != m.Version+1 {
				t.Fatalf("%s: version %d after %d; %v", name, n.Version, m.Version, err)
			}
			for s := range m.Slots {
				if n.Slots[s] != m.Slots[s] && (name != "decide" || p != Part{Slot: uint16(s)} || n.Slots[s] != m.Moves[at].To) {
					t.Fatalf("%s gave slot %d to %d", name, s, n.Slots[s])
				}
			}
			for i, c := range m.Boxes {
				for j, r := range c.Ranges {
					now := n.Boxes[i].Ranges[j]
					decided := name == "decide" && p == Part{Collection: c.Collection, Start: r.Start} && now.Group == m.Moves[at].To
					if now.Group != r.Group && !decided || now.Bounds != r.Bounds {
						t.Fatalf("%s made %v of %v", name, now, r)
					}
				}
			}
			if name == "undo" || name == "dropped" {
				if n.moving(p) >= 0 {
					t.Fatalf("%s: %v moves", name, p)
				}
			}
		}
		if after, _ := m.Encode(); !slices.Equal(after, before) {
			t.Fatal("a map has changed")
		}
	})
}

// TestTakes: one group at most takes writes of a part, none while it is frozen, and both
// groups of a move keep the data.
func TestTakes(t *testing.T) {
	part := Part{Slot: SlotOf([]byte("x"))}
	m, err := New(groupsOf(1, 1, 1))
	m = must(t, m, err)
	m.Slots[part.Slot] = 0
	check := func(takes int, want error, keeps ...bool) {
		t.Helper()
		for g := range m.Groups {
			err := m.Takes(Index(g), []byte("x"))
			switch {
			case g == takes && !errors.Is(err, want), g != takes && !errors.Is(err, ErrMoved):
				t.Errorf("group %d: %v", g, err)
			}
			if keep, err := m.Keeps(Index(g), part); keep != keeps[g] || err != nil {
				t.Errorf("group %d keeps it: %v, %v", g, keep, err)
			}
		}
	}
	next := func(n *Map, err error) {
		t.Helper()
		m = must(t, n, err)
	}
	check(0, nil, true, false, false)
	next(m.Begin(Move{Part: part, From: 0, To: 1}))
	_, err = m.Begin(Move{Part: part, From: 0, To: 2})
	is(t, err, ErrBusy, part.String(), `"b"`)
	_, err = m.Begin(Move{Part: Part{Slot: 9}, From: m.Slots[9], To: 2, Step: Wait})
	is(t, err, ErrStep, "slot 9", "wait")
	check(0, nil, true, true, false)
	next(m.Copied(part))
	check(0, nil, true, true, false)
	next(m.Freeze(part, 12))
	check(0, ErrFrozen, true, true, false)
	undone, err := m.Undo(part)
	must(t, undone, err)
	is(t, undone.Takes(0, []byte("x")), nil)
	next(m.Received(part))
	if m.Moves[0].Until != 12 {
		t.Errorf("until %d", m.Moves[0].Until)
	}
	check(0, ErrFrozen, true, true, false)
	next(m.Decide(part))
	check(1, nil, true, true, false)
	_, err = m.Undo(part)
	is(t, err, ErrStep, "not undone")
	next(m.Dropped(part))
	check(1, nil, false, true, false)
	_, err = m.Keeps(0, Part{Slot: Slots})
	is(t, err, ErrUnknown, "slot 4096 of 4096")
	_, err = m.Keeps(0, Part{Collection: "roads"})
	is(t, err, ErrUnknown, `"roads"`)
}

// TestStepFacts: after a crash a copy begins again, all later steps are resumed.
func TestStepFacts(t *testing.T) {
	for s := range Step(len(steps)) {
		if (s.After() == Restart) != (s == Copy) || s.Frozen() != (s == Freeze || s == Wait) || s.Undoable() == (s == Drop) {
			t.Errorf("%v: %+v", s, steps[s])
		}
	}
	if s := Step(5).String(); s != "step 5" {
		t.Error(s)
	}
}
