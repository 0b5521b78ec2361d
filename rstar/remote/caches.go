package remote

import "github.com/catfish-index/catfish/offload"

// Caches are the node caches that some clients share: one for each tree,
// there as long as somebody uses it. Clients with different Caches share
// nothing. The zero value is ready for use, by any number of goroutines.
type Caches struct {
	of offload.Shared[CacheKey, *Cache]
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

// Share returns the cache of a tree, nil for 0 bytes, and a function that
// gives it back. The last user's return drops it.
func (c *Caches) Share(k CacheKey) (*Cache, func()) {
	if k.Bytes == 0 {
		return nil, func() {}
	}
	return c.of.Share(k, func() *Cache { return NewCache(k.Bytes, int(k.NodeBytes)) })
}
