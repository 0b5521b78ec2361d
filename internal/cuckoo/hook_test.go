package cuckoo

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestGrowHook: an index uses no memory that it was not given, continues without, asks
// seldom, and returns the reason when an insertion fails. With memory it accepts the
// items that it refused before.
func TestGrowHook(t *testing.T) {
	const slab = 2 << 20
	reason := errors.New("no more")
	for _, l := range layouts {
		t.Run(fmt.Sprintf("%v-%d", l.kind, l.items), func(t *testing.T) {
			mem := aligned(slab)
			given, limit := int64(0), int64(1<<18)
			asked, refused := 0, 0
			x, err := New(l.kind, mem, Options{Items: l.items, Buckets: 1 << 8, Grow: func(n int64) (int64, error) {
				if asked++; n <= given {
					t.Errorf("asked for %d bytes, has %d", n, given)
				}
				if n > limit {
					refused++
					return given, reason
				}
				given = min(n+n/8, limit)
				return given, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			r := newRand(uint64(l.items))
			refs := map[uint64]uint64{}
			insert := func() error {
				ref, hash := uint64(len(refs)+1), r.Uint64()
				err := x.Insert(hash, ref)
				if err == nil {
					refs[ref] = hash
				}
				return err
			}
			check := func(what string) {
				t.Helper()
				if rest := mem[given:]; !bytes.Equal(rest, make([]byte, len(rest))) {
					t.Fatalf("%s: memory was used that was not given", what)
				}
				for ref, hash := range refs {
					if !slices.Contains(x.Lookup(nil, hash), ref) {
						t.Fatalf("%s: item %d is not found", what, ref)
					}
				}
			}
			for err = nil; err == nil; {
				err = insert()
			}
			if !errors.Is(err, ErrFull) || !errors.Is(err, reason) {
				t.Fatalf("%d items: %v", len(refs), err)
			}
			check("refused")
			grown := x.Stats().Grown
			if l.kind != Compact && (grown == 0 || x.Stats().Load() < 0.45) {
				t.Errorf("%d growths, load %v", grown, x.Stats().Load())
			}
			// Between MaxLoad and the end it asked once for each askAgain inserts.
			if most := x.Stats().Capacity/askAgain + 3; refused > most {
				t.Errorf("%d refusals, want at most %d", refused, most)
			}
			// Once with each write that fails, not with others.
			for range 10 {
				before := refused
				if err := insert(); err == nil && refused != before || err != nil && (!errors.Is(err, reason) || refused != before+1) {
					t.Errorf("%v after %d refusals more", err, refused-before)
				}
			}
			// Now there is memory for the insertion that would fail.
			limit = slab
			for range 2000 {
				if err := insert(); err != nil {
					t.Fatal(err)
				}
			}
			check("given")
			if s := x.Stats(); l.kind != Compact && s.Grown == grown {
				t.Errorf("no growth: %+v", s)
			}
			// To the end of the slab, where asking would not help.
			before := refused
			for err = nil; err == nil; {
				err = insert()
			}
			if !errors.Is(err, ErrFull) || errors.Is(err, reason) || refused != before {
				t.Errorf("%v, %d refusals more", err, refused-before)
			}
			check("full")
		})
	}
}

// TestGrowHookLater: a growth that was refused is made while there is room left,
// not only when an insertion would fail.
func TestGrowHookLater(t *testing.T) {
	const items = 5
	first := uint64(firstTables) + tablesBytes(14)
	deny := true
	x, err := New(GCuckoo, aligned(8<<20), Options{Items: items, Buckets: 1 << 14, Grow: func(n int64) (int64, error) {
		if uint64(n) > first && deny {
			return 0, errors.New("not now")
		}
		return n, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := newRand(1)
	at := x.(*table).growthLoad()
	for n := 1; x.Stats().Grown == 0; n++ {
		if err := x.Insert(r.Uint64(), uint64(n)); err != nil {
			t.Fatal(err)
		}
		deny = n < at+10
		if n > at+2*askAgain {
			t.Fatalf("no growth at %d items, %d were its load", n, at)
		}
	}
	if x.Stats().Stashed != 0 {
		t.Errorf("the stash was used: %+v", x.Stats())
	}
}

// TestGrowHookAtFirst: without memory for the first tables there is no index.
func TestGrowHookAtFirst(t *testing.T) {
	reason := errors.New("no more")
	for _, l := range layouts {
		if _, err := New(l.kind, aligned(1<<20), Options{Items: l.items, Grow: func(int64) (int64, error) { return 0, reason }}); !errors.Is(err, reason) {
			t.Errorf("%v: %v", l, err)
		}
		if _, err := New(l.kind, aligned(1<<20), Options{Items: l.items, Grow: func(n int64) (int64, error) { return n - 1, nil }}); err == nil {
			t.Errorf("%v: less than it asked for is enough", l)
		}
	}
}
