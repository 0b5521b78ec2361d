package api

import (
	"errors"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/rstar"
)

// ErrNoCollection is wrapped by a Backend's error about an unknown name.
// Callers get NOT_FOUND. A retry is useless until the collection has been
// created.
var ErrNoCollection = errors.New("api: no such collection")

// Collection is what the service needs from a tree; *rstar.Tree implements it.
// All methods are safe for concurrent use and check rectangles themselves.
// Errors wrap rstar's sentinels where one fits. A collection whose inserts wait
// for a disk may also have a method
//
//	InsertMany(items []rstar.Item) (n int, err error)
//
// which inserts the items together, and returns how many of the first ones are stored.
type Collection interface {
	// Insert stores one object.
	Insert(r rstar.Rect, id uint64) error
	// Delete removes one object that has exactly this rectangle and id,
	// and reports whether there was one.
	Delete(r rstar.Rect, id uint64) (bool, error)
	// Update moves an object in one step, and reports whether it existed.
	Update(old, new rstar.Rect, id uint64) (bool, error)
	// Load fills an empty collection, all or nothing. If it is not empty
	// the error wraps rstar.ErrNotEmpty and nothing is changed.
	Load(items []rstar.Item) error
	// SearchSome appends to dst up to limit objects that intersect q and
	// returns the extended slice. If that takes more than about the given
	// number of nodes, it returns dst unchanged and a Scan that continues. The
	// service always gives a positive limit.
	SearchSome(dst []rstar.Item, q rstar.Rect, limit, nodes int) ([]rstar.Item, *rstar.Scan)
	// SearchManySome yields the objects that intersect each of qs, in the order
	// of qs, for as many of the first ones as the number of nodes allows, until
	// yield returns false. It returns how many are answered, and a Scan of the
	// next one if that one alone takes more nodes. It answers at least one, or
	// returns a Scan.
	SearchManySome(qs []rstar.Rect, nodes int,
		yield func(query int, r rstar.Rect, id uint64) bool) (int, *rstar.Scan)
	// CountSome returns how many objects intersect q, or, if that takes more
	// than the given number of nodes, a Scan that counts them.
	CountSome(q rstar.Rect, nodes int) (int, *rstar.Scan)
	// Browse finds the objects in ascending distance from (x, y).
	Browse(x, y float64) *rstar.Browse
	// Closed reports whether the collection has been closed, or dropped. An
	// answer that was found meanwhile may then be empty for that reason.
	Closed() bool
	// Len returns the number of objects.
	Len() int
	// Stats describes the tree.
	Stats() rstar.Stats
}

// Backend is what the services need of a server besides its store. ServerBackend makes
// it of a catfish.Server.
type Backend struct {
	// Collection returns the collection of boxes with this name, which is never empty.
	// For an unknown name the error wraps ErrNoCollection, and for one that is
	// still being loaded catfish.ErrNotReady. The collection may be closed at
	// any time: calls that use it then end with COLLECTION_CLOSED. Both functions are
	// safe for concurrent use.
	Collection func(name string) (Collection, error)
	// Collections returns all names, in any order. The caller owns the slice.
	Collections func() []string
	// Host of the calls; nil: there is always room, and the calls share scheduling slots
	// among themselves.
	Host Host
}

// Host is the process whose processors and memory calls use. *catfish.Server is one. The
// methods are safe for concurrent use.
//
// CheckMemory() error returns an error that wraps catfish.ErrBusy while memory is full. Calls
// that need more are then refused with RESOURCE_EXHAUSTED, SERVER_BUSY: inserts, updates,
// loads, and answers of more than 1 MiB. Connections are not refused: an idle one holds
// little, their number is bounded, and a supervisor connects to check the server's health,
// and would otherwise kill it.
//
// RunStep(ctx, source string, step func()) error calls step when this source gets a
// scheduling slot, of which a few long calls have one at a time, round robin among sources.
// So a short call never waits behind a long one. The error is the reason why ctx ended
// before that.
type Host = limits.Host
