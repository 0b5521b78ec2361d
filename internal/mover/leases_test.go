package mover

import (
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica"
)

// Leases end with the map that was read, are short when a move nears, and none is granted while slots are
// frozen; a secondary answers no messages then, either.
func TestLeases(t *testing.T) {
	now := 10 * time.Second
	l := Leases{Now: func() time.Duration { return now }}
	long := replica.Lease{Term: 3, Until: now + time.Hour}
	second := replica.Lease{Term: 3 | replica.OfSecondary, Until: now + time.Hour}
	if got := l.Grant(long); got != long || l.OfSecondary(second) != second || l.sent() != 0 {
		t.Errorf("without a map: %+v", got)
	}
	l.Read(now)
	l.Read(now - time.Second) // by a look that took longer
	for what, c := range map[string]struct {
		short, held bool
		want        time.Duration
		second      time.Duration
	}{
		"no move":        {want: now + mapLease, second: now + mapLease},
		"a move nears":   {short: true, want: now + shortLease, second: now + mapLease},
		"slots are held": {short: true, held: true},
	} {
		l.bound(c.short, c.held)
		if got := l.Grant(long); got.Until != c.want || (got.Term == 0) != c.held {
			t.Errorf("%s: %+v, want until %v", what, got, c.want)
		}
		if got := l.OfSecondary(second); got.Until != c.second || (got.Term == 0) != c.held {
			t.Errorf("%s, messages of a secondary: %+v, want until %v", what, got, c.second)
		}
		if got := l.OfSecondary(long); got != long {
			t.Errorf("%s, messages of a primary: %+v", what, got)
		}
		if l.Grant(replica.Lease{}) != (replica.Lease{}) {
			t.Errorf("%s: a lease of a member that has none", what)
		}
	}
	if l.sent() != now+mapLease {
		t.Errorf("leases hold until %v", l.sent())
	}
}

// A group gains a slot by a map that gives it one, and may have gained one by a map that comes late.
func TestGains(t *testing.T) {
	inWorld(t, func(w *world) {
		var m [2]*Mover
		for i, g := range w.groups {
			m[i] = g.is.Load().m
		}
		gains := func(is *placement.Map, began time.Duration, a, b bool) {
			w.t.Helper()
			if m[0].Gains(is, began) != a || m[1].Gains(is, began) != b {
				w.t.Errorf("%v and %v, want %v and %v", !a, !b, a, b)
			}
		}
		is, now := w.keeper.now(), w.now()
		gains(is, now, false, false)
		next := *is
		next.Version, next.Epoch = is.Version+1, is.Version+1
		gains(&next, now, false, false)
		gains(&next, now+mapLease+1, true, true)
		next.Slots[0] = 1
		gains(&next, now, false, true)
		// The groups have other places in a map without one that was before them.
		swapped := next
		swapped.Groups = []placement.Group{next.Groups[1], next.Groups[0]}
		for slot, of := range next.Slots {
			swapped.Slots[slot] = 1 - of
		}
		gains(&swapped, now, false, true)
		if New(Options{}).Gains(&next, now) {
			w.t.Error("a member that starts gains nothing")
		}
	})
}
