package store

import (
	"errors"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/boottime"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/replica"
)

// What a member reads counts while it is what its callers want, before and after.
func TestReadingOfAMember(t *testing.T) {
	until := func(term uint64) replica.Lease { return replica.Lease{Term: term, Until: boottime.Now() + time.Hour} }
	over := func(term uint64) replica.Lease { return replica.Lease{Term: term, Until: boottime.Now()} }
	secondary := func(term uint64) uint64 { return term | replica.OfSecondary }
	st, g := member(t, t.TempDir()), new(recorder)
	if err := st.Reading(AtPrimary).Err(); !errors.Is(err, fault.ErrNotPrimary) {
		t.Errorf("a member that starts: %v", err)
	}
	st.Replicate(g)
	for name, c := range map[string]struct {
		before, after         replica.Lease
		primary, inSync, door bool // whether it counts
	}{
		"no lease":                      {replica.Lease{}, replica.Lease{}, false, false, true},
		"the primary":                   {until(1), until(1), true, true, true},
		"a primary that stood still":    {until(1), over(1), false, false, false},
		"a primary that is over":        {over(1), over(1), false, false, false},
		"a deposed primary":             {until(1), until(secondary(2)), false, false, false},
		"deposed, and the primary anew": {until(1), until(3), false, false, false},
		"a secondary":                   {until(secondary(1)), until(secondary(1)), false, true, true},
		"a secondary that stood still":  {until(secondary(1)), over(secondary(1)), false, false, true},
		"a secondary that was promoted": {until(secondary(1)), until(2), false, false, true},
	} {
		for mode, want := range map[ReadMode]bool{AtPrimary: c.primary, AtInSync: c.inSync, AtAny: c.door} {
			g.lease = c.before
			r := st.Reading(mode)
			g.lease = c.after
			if err := r.Err(); (err == nil) != want || err != nil && !errors.Is(err, fault.ErrNotPrimary) {
				t.Errorf("%s, mode %d: %v", name, mode, err)
			}
		}
	}
}

// A store in no group is read as before.
func TestReadingWithoutAGroup(t *testing.T) {
	st, err := New(Options{SlabBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for mode := AtPrimary; mode <= AtAny; mode++ {
		if r := st.Reading(mode); r != (Reading{}) || r.Err() != nil {
			t.Errorf("mode %d: %+v", mode, r)
		}
	}
	if _, ok := st.Standing(); ok {
		t.Error("it says that it is a member")
	}
}
