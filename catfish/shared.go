package catfish

import "github.com/catfish-index/catfish/rstar/remote"

// Shared is what clients have in common: the nodes that one has read and
// cached serve the others. Clients with different Shared share nothing.
type Shared struct {
	caches remote.Caches
}

// processShared is for all clients of this process.
var processShared Shared

// DefaultCacheBytes is room for the internal nodes of four million objects:
// with 35 objects to a leaf and 60 children to a node 2 MiB of them, in a
// cache that is best filled to a half.
const DefaultCacheBytes = 4 << 20

// Limits of Options.CacheBytes: room for one set of offload.Cache, and for
// the internal nodes of all objects that a slab of a terabyte can hold.
const (
	minCacheBytes = 64 << 10
	maxCacheBytes = 32 << 30
)

// cacheBytes bounds the client's cache of each collection, 0: none.
func (c *core) cacheBytes() int64 {
	switch b := c.opts.CacheBytes; {
	case b != 0:
		return max(b, 0)
	case c.opts.Custom == nil && c.scheme.Cached:
		return DefaultCacheBytes
	}
	return 0
}
