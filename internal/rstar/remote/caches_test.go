package remote

import "testing"

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
		if again, release := c.Share(k); again != cache {
			t.Errorf("two users of %+v have two caches", k)
		} else {
			release()
		}
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
