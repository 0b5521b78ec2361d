package remote

import "testing"

// TestCaches: users of one key share one cache until the last has left.
func TestCaches(t *testing.T) {
	var c Caches
	k := CacheKey{Addr: "a:1", BootID: 2, Tree: 3, NodeBytes: 704, Bytes: cacheBytes}
	first, release1 := c.Share(k)
	second, release2 := c.Share(k)
	if first == nil || first != second {
		t.Fatal("two users of one key have two caches")
	}
	release1()
	release1() // a second time does nothing
	third, release3 := c.Share(k)
	if third != first {
		t.Error("the cache was dropped while it was in use")
	}
	release2()
	release3()
	if len(c.of) != 0 {
		t.Errorf("%d caches are left after their users", len(c.of))
	}
	fresh, release := c.Share(k)
	defer release()
	if fresh == first {
		t.Error("a cache came back after its last user had left")
	}
}

// TestCachesKeys: whatever part of the key differs, the cache does too.
func TestCachesKeys(t *testing.T) {
	var c Caches
	k := CacheKey{Addr: "a:1", BootID: 2, Tree: 3, NodeBytes: 704, Bytes: cacheBytes}
	keys := []CacheKey{k, k, k, k, k, k}
	keys[1].Addr = "b:1"
	keys[2].BootID++
	keys[3].Tree++
	keys[4].NodeBytes += 320
	keys[5].Bytes *= 2
	seen := map[*Cache]bool{}
	for _, k := range keys {
		cache, release := c.Share(k)
		defer release()
		seen[cache] = true
	}
	if len(seen) != len(keys) {
		t.Errorf("%d caches for %d keys", len(seen), len(keys))
	}
	k.Bytes = 0
	if cache, release := c.Share(k); cache != nil {
		t.Error("a cache of no bytes")
	} else {
		release()
	}
}

// TestCachesApart: two handles share nothing, whatever the key.
func TestCachesApart(t *testing.T) {
	var a, b Caches
	k := CacheKey{Addr: "a:1", BootID: 2, Tree: 3, NodeBytes: 704, Bytes: cacheBytes}
	of1, release1 := a.Share(k)
	of2, release2 := b.Share(k)
	if of1 == of2 {
		t.Fatal("two handles gave out one cache")
	}
	release1()
	if again, release := b.Share(k); again != of2 {
		t.Error("a return to one handle dropped the other's cache")
	} else {
		release()
	}
	release2()
}
