//go:build linux

package rounds

import (
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/placement"
)

// Rounds of several groups have all actions beside each fault, at all steps.
func TestPlanOfGroups(t *testing.T) {
	for _, names := range [][]string{nil, {"kill-primary"}, {"kill-primary", "stop-primary", "cut-primary"}} {
		list, err := Choose(names)
		if err != nil {
			t.Fatal(err)
		}
		pairs, steps := map[string]bool{}, map[placement.Step]bool{}
		for seed := range uint64(len(list) * len(Actions())) {
			p := NewPlan(seed, list, 3)
			if q := NewPlan(seed, list, 3); p.String() != q.String() {
				t.Errorf("%v, then %v", p.String(), q.String())
			}
			m := p.Moving
			pairs[p.Fault.Name+m.Action.Name], steps[m.Step] = true, true
			if m.From == m.To || m.From > 2 || (m.To > 2) != (m.Action.Name == addGroup) || m.Slots > placement.MaxMoves {
				t.Errorf("%s", p.String())
			}
		}
		if len(pairs) != len(list)*len(Actions()) {
			t.Errorf("%d pairs of %d faults and %d actions", len(pairs), len(list), len(Actions()))
		}
		if len(list) > 1 && len(steps) != int(placement.Drop)+1 {
			t.Errorf("steps %v", steps)
		}
	}
	if p := NewPlan(1, Faults(), 1); p.Moving != nil {
		t.Errorf("one group: %s", p.String())
	}
}

// Keys are in the first and the last group of each map, also if the last one has few slots.
func TestKeySlots(t *testing.T) {
	for key := range keysOfRound {
		slot := int(placement.SlotOf([]byte(keyID(key))))
		if first := key%2 == 0; first && slot >= drainedSlots || !first && slot < placement.Slots-drainedSlots {
			t.Errorf("key %d has slot %d", key, slot)
		}
		if last := lastID(2, key); int(placement.SlotOf([]byte(last))) != slot || !isLast(last) {
			t.Errorf("the last write of key %d is of %s", key, last)
		}
	}
}

// A watcher of groups gets each write of an id once, in their order, from when it stands.
func TestWrongEventsOfGroups(t *testing.T) {
	// The key moves between its second and its third write: revisions begin again.
	third := put(0, 3, 50, 60)
	third.Revision = 1
	removed := put(0, 0, 70, 80)
	removed.Remove, removed.Revision = true, 2
	ops := []Op{put(0, 1, 10, 20), put(0, 2, 30, 40), unknown(put(0, 9, 41, 42)), third, removed, put(keysOfRound, 5, 10, 20)}
	stood := Event{Key: standing, Call: 1, End: 2}
	e := []Event{{Value: 1, Revision: 1}, {Value: 2, Revision: 2}, {Value: 3, Revision: 1}, {Revision: 2}}
	gone := Event{Revision: 2}
	again := Event{Key: standing, Call: 45, End: 46}
	before := put(0, 0, 42, 43) // deleted in the other group, which had the same revision
	before.Remove, before.Revision = true, 2
	ops = append(ops, before)
	for name, c := range map[string]struct {
		events []Event
		says   string
	}{
		"all":                           {[]Event{stood, e[0], e[1], gone, e[2], e[3]}, ""},
		"with one of unknown outcome":   {[]Event{stood, e[0], e[1], {Value: 9, Revision: 3}, gone, e[2], e[3]}, ""},
		"a watch that begins again":     {[]Event{stood, e[0], again, e[2], e[3]}, ""},
		"nothing":                       {nil, "never stood"},
		"one less":                      {[]Event{stood, e[0], gone, e[2], e[3]}, "no event"},
		"one less before the watch end": {[]Event{stood, e[1], again, e[2], e[3]}, "no event"},
		"without the last":              {[]Event{stood, e[0], e[1], gone, e[2]}, "no event"},
		"one twice":                     {[]Event{stood, e[0], e[0], e[1], gone, e[2], e[3]}, "two events"},
		"in disorder":                   {[]Event{stood, e[1], e[0], gone, e[2], e[3]}, "began later"},
		"of a copy":                     {[]Event{stood, e[0], again, e[0], e[2], e[3]}, "before the watch began"},
		"of no write":                   {[]Event{stood, e[0], e[1], {Value: 7, Revision: 3}, gone, e[2], e[3]}, "no write"},
		"of another revision":           {[]Event{stood, e[0], e[1], gone, {Value: 3, Revision: 4}, e[3]}, "no write"},
	} {
		wrong := strings.Join(wrongEventsOfGroups(c.events, ops), "; ")
		if (wrong != "") != (c.says != "") || !strings.Contains(wrong, c.says) {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

// Each id is in one group, at all members, as clients read it.
func TestWrongStores(t *testing.T) {
	m, err := placement.New([]placement.Group{{Name: "g1", Weight: 1}, {Name: "g2", Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	one, two := storedID{keysName, keyID(0)}, storedID{recordsName, keyID(1)}
	read := &Contents{Keys: map[int]uint64{0: 7, keysOfRound + 1: 8}}
	type values = map[storedID]string
	for name, c := range map[string]struct {
		g1, g1b, g2 values
		left        int
		says        string
	}{
		"right":                   {values{one: "7"}, values{one: "7"}, values{two: "8"}, 0, ""},
		"with last writes":        {values{one: "7", {keysName, lastID(1, 0)}: ""}, values{one: "7", {keysName, lastID(1, 0)}: ""}, values{two: "8"}, 0, ""},
		"in two groups":           {values{one: "7"}, values{one: "7"}, values{one: "7", two: "8"}, 1, ""},
		"in none":                 {values{one: "7"}, values{one: "7"}, values{}, 0, "no group has"},
		"not at the secondary":    {values{one: "7"}, values{}, values{two: "8"}, 0, "n1 and n2"},
		"other at the secondary":  {values{one: "7"}, values{one: "6"}, values{two: "8"}, 0, "n1 and n2"},
		"more at the secondary":   {values{one: "7"}, values{one: "7", {onceName, keyID(0)}: ""}, values{two: "8"}, 0, "n1 has 1 ids"},
		"that clients do not see": {values{one: "7", {recordsName, keyID(0)}: "5"}, values{one: "7", {recordsName, keyID(0)}: "5"}, values{two: "8"}, 0, "do not read"},
	} {
		all := map[string]*stored{"n1": {0, c.g1}, "n2": {0, c.g1b}, "n3": {1, c.g2}}
		if left := elsewhere(all, m); len(left) != c.left {
			t.Errorf("%s: left %q", name, left)
		}
		wrong := strings.Join(wrongStores(all, m, read), "; ")
		if (wrong != "") != (c.says != "") || !strings.Contains(wrong, c.says) {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

func TestTableOfActions(t *testing.T) {
	var b strings.Builder
	all := []Result{
		{Fault: "kill-primary", Action: moveSlots, Victim: victimSource, At: "freeze", Begun: 100, Moved: 90},
		{Fault: "kill-primary", Action: moveSlots, Victim: victimDestination, At: "drop", Begun: 50, Moved: 50, Broken: []string{"x"}},
	}
	if err := WriteTable(&b, Faults(), all); err != nil {
		t.Fatal(err)
	}
	want := "| slots move to another group | 2 | 150 | 140 | 0, 0, 1, 0, 0 | 0, 0, 0, 0, 1 | 1 |\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("%s\nwants %s", b.String(), want)
	}
}
