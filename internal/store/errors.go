package store

import (
	"errors"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/names"
)

// Errors. What is returned wraps one of them, or one of kv's (ErrNotFound,
// ErrExists, ErrConflict), record's, feature's or disk's. After disk.ErrInDoubt of a
// write, a create, a drop or a swap (Store.Close was called while the disk was failed)
// read the state when the store is open again, before trying again.
var (
	// ErrQuery: a query that no collection answers; the text says which part.
	ErrQuery = fault.ErrQuery
	// ErrUnknownCollection: there is none of that name.
	ErrUnknownCollection = fault.ErrUnknownCollection
	// ErrCollectionExists: there is one of that name, with other options.
	ErrCollectionExists = fault.ErrCollectionExists
	// ErrName: a name that no collection may have.
	ErrName = names.ErrName
	// ErrFeature: a feature that cannot be stored; the text says why.
	ErrFeature = fault.ErrFeature
	// ErrClosed: Close was called, or the collection was dropped. Nothing was written.
	ErrClosed = fault.ErrClosed
	// ErrPaused: the process did not run for a second in the middle of a search,
	// and the records that it was about to read may be overwritten. Search again.
	ErrPaused = fault.ErrPaused
	// ErrBudget: a search would look at more features than Buffer.Budget, or take longer
	// than one with a budget may.
	ErrBudget = errors.New("store: the search takes more than its budget")
	// ErrCorrupt: what is in memory or on disk contradicts itself.
	ErrCorrupt = errors.New("store: corrupt")
	// ErrLagged: the next change for a watcher is no longer kept: it was too
	// slow. Search again, and watch from then on.
	ErrLagged = fault.ErrLagged
	// ErrSwapped: the watched collection has another name since (Store.Swap). Search
	// again, and watch from then on.
	ErrSwapped = fault.ErrSwapped
	// ErrWatchLimit: one of WatchLimits; the text says which.
	ErrWatchLimit = fault.ErrWatchLimit
	// ErrOptions: an option out of its range.
	ErrOptions = fault.ErrOptions
)
