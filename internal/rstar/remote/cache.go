package remote

import (
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// cachedNode is a copy of an internal node (rstar/validate.go).
type cachedNode struct {
	node rstar.Node
	// The time when the copy was last found to be right, on the clock of its Cache, and
	// the M of the search that found it so; for Tree.Trust. M is stored first: a reader
	// that sees the time sees that M or a later search's, and each M comes from a
	// search that had validated the copy.
	moves, at atomic.Uint64
}

// nodeOverhead is the memory of a copy besides the node's bytes: the entry, its place
// in a set, and the allocator's rounding.
const nodeOverhead = 128

// Cache holds copies of internal nodes of one tree. Any number of Readers
// may use it at once.
type Cache struct {
	nodes *offload.Cache[cachedNode] // by chunk
	start time.Time
}

// NewCache makes a cache of at most limit bytes for nodes of nodeBytes.
func NewCache(limit int64, nodeBytes int) *Cache {
	return &Cache{nodes: offload.NewCache[cachedNode](limit, nodeBytes+nodeOverhead), start: time.Now()}
}

// now is the time in nanoseconds, monotonic, never 0.
func (c *Cache) now() uint64 { return uint64(time.Since(c.start)) + 1 }

// trusted reports whether a walk with moves may use the copy without
// validating it: a search with the same M or a later one found it right, at
// from or later, and the copy itself is of no later move. (Another client
// may have replaced this copy after a move, and not those of other nodes.)
func (k *cachedNode) trusted(from, moves uint64) bool {
	return k.at.Load() >= from && k.moves.Load() >= moves && k.node.Stamp() <= moves
}

// confirm notes that the copy was right at a time, for a search with moves.
func (k *cachedNode) confirm(at, moves uint64) {
	k.moves.Store(moves)
	k.at.Store(at)
}
