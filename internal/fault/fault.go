// Package fault has the sentinels of the store, of its disk and of a server that have a
// code on the wire. They are apart from these, so that a client knows them without
// linking the store. Packages store, internal/store/disk and catfish/model give each its
// name and its promise.
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

// Of a server and its collections. Package catfish exports and describes them.
var (
	ErrProtocol     = errors.New("catfish: protocol error")
	ErrServer       = errors.New("catfish: server error")
	ErrBusy         = errors.New("catfish: server is busy")
	ErrTooLarge     = errors.New("catfish: answer too large")
	ErrNotReady     = errors.New("catfish: collection is not ready")
	ErrNotPermitted = errors.New("catfish: not permitted")
	ErrNoServer     = errors.New("catfish: no server")
	ErrOption       = errors.New("catfish: bad option")
	ErrRestarted    = errors.New("catfish: server has restarted without its data")
	ErrKind         = errors.New("catfish: collection of another kind")
)

// Of watchers.
var (
	ErrLagged     = errors.New("store: a watcher has lost changes")
	ErrSwapped    = errors.New("store: the collection was swapped with another one")
	ErrWatchLimit = errors.New("store: too many watchers or areas")
)

// Of groups.
var (
	ErrNotPrimary     = errors.New("replica: not the primary")
	ErrTooFewInSync   = errors.New("replica: too few members in sync")
	ErrUnknownOutcome = errors.New("outcome unknown")
	ErrMoved          = errors.New("placement: another group has it")
	ErrSeveralGroups  = errors.New("placement: not possible yet on a store of several groups")
)

// Of the disk.
var (
	ErrReadOnly   = errors.New("disk: no writes until the data directory can be written again")
	ErrDiskClosed = errors.New("disk: closed")
	ErrTrimmed    = errors.New("disk: no longer in the log")
	ErrAhead      = errors.New("disk: revision of another history")
)
