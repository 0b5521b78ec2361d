package offload

import (
	"math/rand/v2"
	"sync"
	"testing"
)

func put[V any](c *Cache[V], key uint64, v V) { c.Put(key, func(p *V) { *p = v }) }

func TestCache(t *testing.T) {
	c := NewCache[int](64*100, 100)
	if c.Cap() != 64 {
		t.Fatalf("room for %d, want 64", c.Cap())
	}
	if v := c.Get(7); v != nil {
		t.Fatalf("an empty cache has %d", *v)
	}
	put(c, 7, 70)
	first := c.Get(7)
	if first == nil || *first != 70 {
		t.Fatalf("got %v, want 70", first)
	}
	put(c, 7, 71)
	if v := c.Get(7); v == nil || *v != 71 || *first != 70 || c.Len() != 1 {
		t.Fatalf("got %v, %d entries; want 71 in place of 70", v, c.Len())
	}
	c.Drop(7, first) // already replaced
	if c.Get(7) == nil {
		t.Fatal("what replaced it was dropped")
	}
	c.Drop(7, c.Get(7))
	if c.Get(7) != nil || c.Len() != 0 {
		t.Fatal("dropped, and still there")
	}
}

// TestCacheSmall: the least cache has one set.
func TestCacheSmall(t *testing.T) {
	c := NewCache[int](1, 100)
	for i := range uint64(100) {
		put(c, i, int(i))
		if v := c.Get(i); v == nil || *v != int(i) {
			t.Fatalf("%d is not cached", i)
		}
	}
	if c.Len() != c.Cap() || c.Cap() != cacheWays {
		t.Fatalf("%d entries of %d, want %d", c.Len(), c.Cap(), cacheWays)
	}
}

// TestCacheClock: entries used between insertions stay, unused ones are replaced.
func TestCacheClock(t *testing.T) {
	c := NewCache[int](1, 1)
	for i := range uint64(cacheWays) {
		put(c, i, 0)
	}
	for i := uint64(100); i < 200; i++ {
		c.Get(3)
		put(c, i, 0)
		if c.Get(3) == nil {
			t.Fatalf("the one in use went for %d", i)
		}
	}
	for i := range uint64(cacheWays) {
		if i != 3 && c.Get(i) != nil {
			t.Errorf("%d, never used, is still there", i)
		}
	}
}

// TestCacheSpreads: keys in a row and keys a power of two apart fill the
// cache to a half without losing more than a few.
func TestCacheSpreads(t *testing.T) {
	for _, stride := range []uint64{1, 2, 64, 4096, 1 << 32} {
		c := NewCache[int](2048, 1)
		for i := range uint64(1024) {
			put(c, i*stride, 0)
		}
		if n := c.Len(); n < 1024*95/100 {
			t.Errorf("keys %d apart: %d of 1024 stayed, want 95 %%", stride, n)
		}
	}
}

func TestCacheManyGoroutines(t *testing.T) {
	c := NewCache[uint64](128, 1)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range 20000 {
				k := r.Uint64N(300)
				switch v := c.Get(k); {
				case v != nil && *v != k:
					t.Errorf("under %d is %d", k, *v)
					return
				case v == nil:
					put(c, k, k)
				case r.IntN(8) == 0:
					c.Drop(k, v)
				}
			}
		})
	}
	wg.Wait()
}

func TestCacheGetDoesNotAllocate(t *testing.T) {
	c := NewCache[int](1000, 1)
	put(c, 1, 1)
	if n := testing.AllocsPerRun(100, func() { c.Get(1); c.Get(2) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
