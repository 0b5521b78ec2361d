package cuckoo

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// TestConcurrentLookups: readers find items that are never deleted while a writer moves
// them: by kicks in a nearly full table, by growth, and with keys of equal hash through
// the stash.
func TestConcurrentLookups(t *testing.T) {
	for _, l := range layouts {
		t.Run(fmt.Sprintf("%v/items=%d", l.kind, l.items), func(t *testing.T) {
			x, err := New(l.kind, aligned(4<<20), Options{Items: l.items, Buckets: 32})
			if err != nil {
				t.Fatal(err)
			}
			const kept = 30
			for i := range uint64(kept) {
				h := hashOf(i)
				if i < 14 {
					h = hashOf(0)
				}
				if err := x.Insert(h, i+1); err != nil {
					t.Fatal(err)
				}
			}
			var done atomic.Bool
			var wg sync.WaitGroup
			for g := range uint64(2) {
				wg.Go(func() {
					var buf [64]uint64
					for n := g; !done.Load(); n++ {
						i := n % kept
						h := hashOf(i)
						if i < 14 {
							h = hashOf(0)
						}
						if got := x.Lookup(buf[:0], h); !slices.Contains(got, i+1) {
							t.Errorf("item %d is missing: %v", i, got)
							return
						}
					}
				})
			}
			r := newRand(3)
			there := map[uint64]bool{}
			for n := range 20_000 {
				i := 1000 + r.Uint64N(100+uint64(n)/10)
				if there[i] {
					err = x.Delete(hashOf(i), i)
				} else {
					err = x.Insert(hashOf(i), i)
				}
				if err != nil {
					t.Error(err)
					break
				}
				there[i] = !there[i]
			}
			done.Store(true)
			wg.Wait()
		})
	}
}

// TestHostileKeys: keys of one hash, beyond the capacity of two buckets and the stash,
// are refused; others are not, and the tables do not grow because of them.
func TestHostileKeys(t *testing.T) {
	for _, l := range layouts[:6] {
		x, err := New(l.kind, aligned(4<<20), Options{Items: l.items, Buckets: 1024})
		if err != nil {
			t.Fatal(err)
		}
		room := uint64(2*l.items + StashItems)
		for i := range room + 10 {
			err := x.Insert(7, i+1)
			if refused := errors.Is(err, ErrTooManyAlike); refused != (i >= room) || err != nil && !refused {
				t.Fatalf("%+v: item %d: %v", l, i, err)
			}
		}
		n := uint64(0)
		for ; n < uint64(l.items)*1400; n++ {
			if err := x.Insert(hashOf(n), n+100); err != nil {
				t.Fatalf("%+v: other item %d: %v, %+v", l, n, err, x.Stats())
			}
		}
		s := x.Stats()
		if s.Load() < 0.1 || s.Grown > 2 {
			t.Errorf("%+v: load %v, grown %d times", l, s.Load(), s.Grown)
		}
	}
}

// TestRelease: the old tables may become zeros once they are out of use.
func TestRelease(t *testing.T) {
	mem := aligned(1 << 20)
	released := uint64(0)
	x, err := New(GCuckoo, mem, Options{Buckets: 4, Release: func(offset, bytes uint64) {
		clear(mem[offset : offset+bytes])
		released += bytes
	}})
	if err != nil {
		t.Fatal(err)
	}
	const n = 5000
	for i := range uint64(n) {
		if err := x.Insert(hashOf(i), i+1); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint64(n) {
		if got := x.Lookup(nil, hashOf(i)); !slices.Contains(got, i+1) {
			t.Fatalf("item %d: %v", i, got)
		}
	}
	if released == 0 {
		t.Error("nothing was released")
	}
}

func TestBadOptions(t *testing.T) {
	mem := aligned(1 << 20)
	for _, o := range []Options{{Items: 6}, {Items: -1}, {Buckets: 3}, {Buckets: -2}, {MaxLoad: 2}, {MaxLoad: -1}, {MaxKicks: -1}} {
		if _, err := New(GCuckoo, mem, o); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := New(Compact+1, mem, Options{}); !errors.Is(err, ErrOptions) {
		t.Error(err)
	}
	for _, m := range [][]byte{nil, mem[:4096], mem[8:]} {
		if _, err := New(GCuckoo, m, Options{}); !errors.Is(err, ErrMemory) {
			t.Errorf("%d bytes: %v", len(m), err)
		}
	}
	x, err := New(Compact, mem, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Insert(1, MaxCompactRef+1); !errors.Is(err, ErrRef) {
		t.Error(err)
	}
}

// TestCursor: any cursor is safe.
func TestCursor(t *testing.T) {
	for _, l := range layouts {
		x, err := New(l.kind, aligned(1<<20), Options{Items: l.items, Buckets: 16})
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(40) {
			if err := x.Insert(hashOf(i), i+1); err != nil {
				t.Fatal(err)
			}
		}
		r := newRand(1)
		for range 10_000 {
			c := Cursor{Moves: r.Uint64() >> r.IntN(64), Next: r.Uint64() >> r.IntN(64), Sub: r.Uint64() >> r.IntN(64),
				Log2: uint8(r.IntN(256) >> r.IntN(8)), Size: uint8(r.IntN(256) >> r.IntN(8))}
			if _, err := x.Scan(c, 5, func(_, ref uint64) {
				if ref == 0 || ref > 40 {
					t.Fatalf("reference %d", ref)
				}
			}); err != nil && !errors.Is(err, ErrScanLost) {
				t.Fatal(err)
			}
		}
	}
}
