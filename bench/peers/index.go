package peers

import (
	"errors"

	"github.com/catfish-index/catfish/rstar"
)

// Batch is the number of queries in one call of a search or nearest function.
// A cgo call takes some 30 ns, so a query is charged 0.03 ns of it; and a
// batch is far shorter than a benchmark.
const Batch = 1024

// ErrNotOffered: the library lacks the operation, as the fields of Peer say.
var ErrNotOffered = errors.New("peers: the library does not offer this")

// Answer sums up the results of searches: enough to detect wrong answers, and
// nearly free for every peer.
type Answer struct{ Count, Sum uint64 }

// Add adds the answer to other searches.
func (a *Answer) Add(b Answer) {
	a.Count += b.Count
	a.Sum += b.Sum
}

// Index is a tree of one library. Ids are 0 to n-1. Not safe for
// concurrent use, but for what the library itself promises.
type Index interface {
	// Insert inserts the items one by one.
	Insert(items []rstar.Item) error
	// Load fills an empty tree at once.
	Load(items []rstar.Item) error
	// Delete removes the items one by one. One that is absent is an
	// error.
	Delete(items []rstar.Item) error
	// Search prepares queries, which must stay unchanged, and returns a
	// function that runs those in [lo, hi). It is valid until the next Search
	// or Close.
	Search(qs []rstar.Rect) func(lo, hi int) Answer
	// Nearest does the same for the k objects nearest to the center of
	// each rectangle. The ids of query i go to ids[(i-lo)*k:], in any
	// order; there must be k objects.
	Nearest(at []rstar.Rect, k int) func(lo, hi int, ids []uint64)
	// OutsideBytes is the memory in use outside of Go's heap and malloc.
	OutsideBytes() int64
	// Close frees the tree.
	Close() error
}

// Appender is an Index with a second way to search: into a reused slice, whose
// results are then summed.
type Appender interface {
	SearchAppend(qs []rstar.Rect) func(lo, hi int) Answer
}

// Peer is one library, or one way to set it up.
type Peer struct {
	Name    string
	Inserts bool // Insert is offered
	Loads   bool // Load is offered
	Deletes bool // Delete is offered
	Nearest bool // Nearest is offered
	// New returns an empty tree that will hold up to n objects.
	New func(n int) (Index, error)
}

// Builds reports whether the peer can be built that way: by insert or by
// load.
func (p Peer) Builds(how string) bool {
	return how == "insert" && p.Inserts || how == "load" && p.Loads
}

// All returns catfish and the peers that the build tags enable, in the order
// of reports.
func All() []Peer {
	all := []Peer{catfishPeer, tidwallPeer, simplefeaturesPeer}
	all = append(all, boostPeers()...)
	return append(all, geosPeers()...)
}

func center(r rstar.Rect) (x, y float64) {
	return r.MinX + (r.MaxX-r.MinX)/2, r.MinY + (r.MaxY-r.MinY)/2
}
