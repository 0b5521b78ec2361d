package remote

import (
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// kept is an internal node that a client keeps (rstar/validate.go).
type kept struct {
	node rstar.Node
	// For those who trust it without a look: when it was last found to be
	// right, on the clock of its Cache, and the M of the search that did.
	// M is stored first: who sees the time sees that M or a later one's,
	// and each M is stored by a search that had validated the node.
	moves, at atomic.Uint64
}

// keptBytes is what a node takes besides its own bytes: the entry, its
// place in a set, and what the allocator rounds up.
const keptBytes = 128

// Cache holds internal nodes of one tree, for any number of clients.
type Cache struct {
	nodes *offload.Cache[kept] // by chunk
	start time.Time
}

// NewCache makes a cache of at most limit bytes for nodes of nodeBytes.
func NewCache(limit int64, nodeBytes int) *Cache {
	return &Cache{nodes: offload.NewCache[kept](limit, nodeBytes+keptBytes), start: time.Now()}
}

// now is the time in nanoseconds, monotonic, never 0.
func (c *Cache) now() uint64 { return uint64(time.Since(c.start)) + 1 }

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
