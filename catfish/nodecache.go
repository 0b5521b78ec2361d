package catfish

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

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

// cacheBytes is how much the client may keep of each collection.
func (c *core) cacheBytes() int64 {
	switch b := c.opts.CacheBytes; {
	case b != 0:
		return max(b, 0)
	case c.opts.Custom == nil && c.scheme.Cached:
		return DefaultCacheBytes
	}
	return 0
}

// kept is an internal node that a client keeps (rstar/validate.go).
type kept struct {
	node rstar.Node
	// For those who trust it without a look: when it was last found to be
	// right, on the clock of sinceStart, and the M of the search that did.
	// M is stored first: who sees the time sees that M or a later one's,
	// and each M is stored by a search that had validated the node.
	moves, at atomic.Uint64
}

// keptBytes is what a node takes besides its own bytes: the entry, its
// place in a set, and what the allocator rounds up.
const keptBytes = 128

type nodeCache = offload.Cache[kept]

// trusted reports whether the node was found to be right by a search with
// the same M or a later one, at from or later, and is not of a later move:
// another client, or search, may have renewed it, and not others.
func (k *kept) trusted(from, moves uint64) bool {
	return k.at.Load() >= from && k.moves.Load() >= moves && k.node.Stamp() <= moves
}

func (k *kept) confirm(at, moves uint64) {
	k.moves.Store(moves)
	k.at.Store(at)
}

var start = time.Now()

// sinceStart is the time in nanoseconds, monotonic, never 0.
func sinceStart() uint64 { return uint64(time.Since(start)) + 1 }

// cacheKey names a collection of one incarnation of a server. The address
// is part of it, as the client was given it: no server gets to fill the
// cache of another.
type cacheKey struct {
	addr   string
	bootID uint64
	coll   uint32
	node   uint32
	bytes  int64
}

// nodeCaches are the caches of this process: all clients of a collection
// use the same.
var nodeCaches = struct {
	sync.Mutex
	of map[cacheKey]*sharedCache
}{of: map[cacheKey]*sharedCache{}}

type sharedCache struct {
	nodeCache *nodeCache
	users     int
}

// shareCache returns the cache of a collection, nil for 0 bytes, and a
// function that gives it back.
func shareCache(k cacheKey) (*nodeCache, func()) {
	if k.bytes == 0 {
		return nil, func() {}
	}
	nodeCaches.Lock()
	defer nodeCaches.Unlock()
	s := nodeCaches.of[k]
	if s == nil {
		s = &sharedCache{nodeCache: offload.NewCache[kept](k.bytes, int(k.node)+keptBytes)}
		nodeCaches.of[k] = s
	}
	s.users++
	return s.nodeCache, sync.OnceFunc(func() {
		nodeCaches.Lock()
		defer nodeCaches.Unlock()
		if s.users--; s.users == 0 {
			delete(nodeCaches.of, k)
		}
	})
}
