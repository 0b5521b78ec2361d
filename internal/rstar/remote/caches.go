package remote

import "github.com/catfish-index/catfish/offload"

// Caches are the node caches that some clients share: one for each tree, kept while a
// client uses it. Clients with different Caches share nothing. The zero value is ready
// for use, by any number of goroutines.
type Caches struct {
	of offload.Shared[CacheKey, *Cache]
}

// CacheKey names a tree of one incarnation of a server. The address that the client was
// given is part of it, so that no server fills the cache of another.
type CacheKey struct {
	Addr      string
	BootID    uint64
	Tree      uint32
	NodeBytes uint32
	Bytes     int64 // of the cache
}

// Share returns the cache of a tree, nil for 0 bytes, and a function that gives it
// back. It is dropped when the last user has given it back.
func (c *Caches) Share(k CacheKey) (*Cache, func()) {
	if k.Bytes == 0 {
		return nil, func() {}
	}
	return c.of.Share(k, func() *Cache { return NewCache(k.Bytes, int(k.NodeBytes)) })
}
