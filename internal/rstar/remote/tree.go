package remote

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/rstar"
)

// Tree is a client's knowledge of one tree in a server's memory. Its owner sets the
// exported fields before the first search. After that any number of Readers may use it.
type Tree struct {
	Base      rdma.Remote // of the slab
	Bytes     uint64      // of the slab that can be read there
	NodeBytes uint32
	BootID    uint64        // of the server that the tree was opened at
	Cache     *Cache        // nil: none
	Trust     time.Duration // time for which a copy is used without validating it again
	// KnownRoot makes searches without a cache read the header only where none is known, or
	// after a restart: a channel that reads one block at a time would wait for it, and FaRM
	// has none. A root that was split since carries a stamp that restarts the search.
	KnownRoot bool
	// WholeLeaves makes searches read leaves whole even where hardly an object is
	// expected (leafhead.go). That estimate takes objects to lie anywhere; searches
	// where objects crowd nearly always find some, and have paid a round trip for
	// nothing.
	WholeLeaves bool

	known atomic.Pointer[rstar.Header] // latest header read; nil at first
	// walks with a cache, for HeaderEvery. A Reader cannot count them: it goes from
	// client to client, and of two trees that it walks alternately one would have all
	// reads of headers.
	walks atomic.Uint64
}

// learn makes h the known header if it is newer.
func (t *Tree) learn(h rstar.Header) {
	for {
		old := t.known.Load()
		if old != nil && old.Moves >= h.Moves {
			return
		}
		newer := h // on the heap, unlike h: most headers are known already
		if t.known.CompareAndSwap(old, &newer) {
			return
		}
	}
}

// Errors of searches, besides those of rstar and offload.
var (
	// ErrServerChanged: the memory is another server's now.
	ErrServerChanged = errors.New("remote: server restarted")
	// ErrProtocol: the memory has content that no tree has.
	ErrProtocol = errors.New("remote: not a tree")
	// ErrGrown: the tree now uses more memory than Bytes. Ask its server where, and
	// search another Tree.
	ErrGrown = errors.New("remote: the tree has grown")
	// ErrTooLarge: there are more objects than Limits allows.
	ErrTooLarge = errors.New("remote: answer too large")
)
