package store

import (
	"errors"

	"github.com/catfish-index/catfish/internal/names"
)

// Errors. What is returned wraps one of them, or one of kv's (ErrNotFound,
// ErrExists, ErrConflict), record's, feature's or disk's. After disk.ErrInDoubt of a
// write, a create, a drop or a swap (Store.Close was called while the disk was failed)
// read the state when the store is open again, before trying again.
var (
	// ErrQuery: a query that no collection answers; the text says which part.
	ErrQuery = errors.New("store: bad query")
	// ErrUnknownCollection: there is none of that name.
	ErrUnknownCollection = errors.New("unknown collection")
	// ErrCollectionExists: there is one of that name, with other options.
	ErrCollectionExists = errors.New("store: the collection exists")
	// ErrName: a name that no collection may have.
	ErrName = names.ErrName
	// ErrFeature: a feature that cannot be stored; the text says why.
	ErrFeature = errors.New("store: bad feature")
	// ErrClosed: Close was called, or the collection was dropped. Nothing was written.
	ErrClosed = errors.New("closed")
	// ErrPaused: the process did not run for a second in the middle of a search,
	// and the records that it was about to read may be overwritten. Search again.
	ErrPaused = errors.New("store: the search was stopped for too long")
	// ErrBudget: a search would look at more features than Buffer.Budget, or take longer
	// than one with a budget may.
	ErrBudget = errors.New("store: the search takes more than its budget")
	// ErrCorrupt: what is in memory or on disk contradicts itself.
	ErrCorrupt = errors.New("store: corrupt")
	// ErrLagged: the next change for a watcher is no longer kept: it was too
	// slow. Search again, and watch from then on.
	ErrLagged = errors.New("store: a watcher has lost changes")
	// ErrSwapped: the watched collection has another name since (Store.Swap). Search
	// again, and watch from then on.
	ErrSwapped = errors.New("store: the collection was swapped with another one")
	// ErrWatchLimit: one of WatchLimits; the text says which.
	ErrWatchLimit = errors.New("store: too many watchers or areas")
	// ErrOptions: an option out of its range.
	ErrOptions = errors.New("store: bad option")
)
