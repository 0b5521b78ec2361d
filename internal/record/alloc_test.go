//go:build !race

package record

import (
	"testing"
	"time"
)

// TestNoAllocations: in the steady state nothing on the hot paths allocates.
func TestNoAllocations(t *testing.T) {
	h := newHeap(t, 64)
	now := time.Duration(0)
	key, value := keyOf(1), make([]byte, 32)
	put := func() Ref {
		now += time.Millisecond
		ref, err := h.Put(Record{Key: key, Value: value}, now)
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	update := func(ref Ref) {
		if err := h.Kill(ref, now); err != nil {
			t.Fatal(err)
		}
		h.Reclaim(now, 10)
	}
	for range 5000 {
		update(put())
	}
	ref := put()
	long, err := h.Put(Record{Key: key, Value: make([]byte, 100_000)}, now)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1<<18)
	b := append([]byte(nil), h.at(ref)...)
	space := h.Space()
	leases := make([]time.Duration, 0, 4)
	refs := []Ref{ref, long}
	for name, f := range map[string]func(){
		"Put, Kill, Reclaim": func() { update(put()) },
		"Parse":              func() { _, _ = space.Parse(ref, b, key) },
		"Parse, stale":       func() { _, _ = space.Parse(ref+1, b, key) },
		"Parse, other key":   func() { _, _ = space.Parse(ref, b, value) },
		"View":               func() { _, _ = h.View(ref, key) },
		"Grant":              func() { h.GrantMany(refs, now, leases[:0]) },
		"Read":               func() { _, buf, _ = h.Read(ref, key, buf) },
		"Read, long":         func() { _, buf, _ = h.Read(long, key, buf) },
	} {
		if n := testing.AllocsPerRun(1, func() {
			for range 500 {
				f()
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations in 500 runs", name, n)
		}
	}
}
