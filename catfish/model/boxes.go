package model

import (
	"github.com/catfish-index/catfish/internal/rstar/remote"
)

// Collections of boxes that are kept, at the server
//
// Such a collection is the store's (store.Boxes), in memory that clients may read.
// Reads are those of any collection of boxes, by message and by offloading. Writes
// are answered later, when the commit leader has made them durable; those
// of one connection pass the commit queue in the order of their arrival.

// BoxesOptions configure a collection of boxes. They do not change.
type BoxesOptions struct {
	// Keep stores the collection in the server's data directory (ErrNotPermitted:
	// the server has none): each write is durable when it is acknowledged, as far as
	// ServerOptions.Sync says, and the boxes exist again after a restart.
	Keep bool
}

// Neighbor is an object found by Nearest, with its distance.
type Neighbor = remote.Neighbor
