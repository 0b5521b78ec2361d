package remote

import "sync"

// Caches are the node caches that some clients share: one for each tree,
// there as long as somebody uses it. Clients with different Caches share
// nothing. The zero value is ready for use, by any number of goroutines.
type Caches struct {
	mu sync.Mutex
	of map[CacheKey]*shared
}

// CacheKey names a tree of one incarnation of a server. The address is
// part of it, as the client was given it: no server gets to fill the cache
// of another.
type CacheKey struct {
	Addr      string
	BootID    uint64
	Tree      uint32
	NodeBytes uint32
	Bytes     int64 // of the cache
}

type shared struct {
	cache *Cache
	users int
}

// Share returns the cache of a tree, nil for 0 bytes, and a function that
// gives it back. The last user's return drops it.
func (c *Caches) Share(k CacheKey) (*Cache, func()) {
	if k.Bytes == 0 {
		return nil, func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.of[k]
	if s == nil {
		if c.of == nil {
			c.of = make(map[CacheKey]*shared)
		}
		s = &shared{cache: NewCache(k.Bytes, int(k.NodeBytes))}
		c.of[k] = s
	}
	s.users++
	return s.cache, sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if s.users--; s.users == 0 {
			delete(c.of, k)
		}
	})
}
