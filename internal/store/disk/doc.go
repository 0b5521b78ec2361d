// Package disk keeps the state of a store and the log of its writes, on Pebble.
// It knows nothing of places: collections are numbers with opaque metadata, and
// hold keys with a value, a revision, an expiry and flags.
//
//	Commit(entries) --one batch--> | state | log | --WAL, fsync--> returns
//	                    a key that is written again is in the log first (lag.go)
//
//	restart:   Collections, then Load of each, by all cores
//	watchers:  Log(from), ErrTrimmed if that is no longer kept
//	paging:    Keys(collection, from)
//	backup:    Checkpoint, Check, Restore
//
// # Promises
//
// Revisions are contiguous: entry number n of a store has revision n. A batch is
// on disk whole or not at all. With SyncAlways a batch whose Commit returned nil
// survives any crash. With SyncInterval and SyncOff a crash loses the last batches,
// and the rest is still a prefix of what was committed.
//
// Readers (Load, Keys, Log) see acknowledged writes and nothing else: neither a
// batch that Commit is still waiting for, nor one that failed.
//
// # Starts
//
// Open compares the log with a seal of the last durable revision, which does not depend
// on what Pebble takes for the end of its files. If acknowledged writes are missing it
// fails with ErrLost, and no file was changed. Until Loaded is called none is removed.
//
// # Failed writes
//
// Pebble ends the process when it cannot write (guard.go). Here the first write
// that fails freezes the files instead: they stay as a crash at that moment would
// leave them, and everything after it goes to memory. Readers continue, commits are
// refused with ErrReadOnly. Meanwhile the database is opened a second time beside
// the frozen one, as after a crash; acknowledged writes that are missing
// there are written again; then the second takes the place of the first
// (recover.go). No restart is needed, and no commit is left in doubt: an error of
// Commit, except ErrInDoubt, means that its entries are not on disk and never will
// be. Close gives up waiting for the disk: that is ErrInDoubt.
//
// # Reading order
//
// layout.go, entry.go, lag.go, commit.go, guard.go, engine.go, recover.go; seal.go,
// inspect.go, first.go and salvage.go for the checks of a start.
package disk
