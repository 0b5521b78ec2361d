// Package fault has the sentinels of the store and of its disk that have a code on the
// wire. They are apart from both, so that a client knows them without linking
// the store. Packages store and store/disk give each its name and its promise.
package fault

import "errors"

// Of queries, features and collections.
var (
	ErrQuery             = errors.New("store: bad query")
	ErrFeature           = errors.New("store: bad feature")
	ErrOptions           = errors.New("store: bad option")
	ErrUnknownCollection = errors.New("unknown collection")
	ErrCollectionExists  = errors.New("store: the collection exists")
	ErrClosed            = errors.New("closed")
	ErrPaused            = errors.New("store: the search was stopped for too long")
)

// Of watchers.
var (
	ErrLagged     = errors.New("store: a watcher has lost changes")
	ErrSwapped    = errors.New("store: the collection was swapped with another one")
	ErrWatchLimit = errors.New("store: too many watchers or areas")
)

// Of the disk.
var (
	ErrReadOnly   = errors.New("disk: no writes until the data directory can be written again")
	ErrDiskClosed = errors.New("disk: closed")
	ErrTrimmed    = errors.New("disk: no longer in the log")
	ErrAhead      = errors.New("disk: revision of another history")
)
