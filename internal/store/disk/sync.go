package disk

import "github.com/cockroachdb/pebble/v2"

// syncNow makes committed entries durable. After an error the database is frozen.
func (db *DB) syncNow(e *engine) error {
	end := db.end.load()
	revision := end.revision
	if err := e.LogData(nil, pebble.Sync); err != nil {
		e.g.freeze(err)
	}
	if err := e.g.cause(); err != nil {
		return err // Then the sync may have been left out.
	}
	if err := db.seals.seal(end); err != nil {
		e.g.freeze(err)
		return err
	}
	for {
		d := db.durable.Load()
		if d >= revision || db.durable.CompareAndSwap(d, revision) {
			return nil
		}
	}
}

// durableUpTo makes sure of the revisions below one.
func (db *DB) durableUpTo(e *engine, below uint64) error {
	if db.durable.Load() >= below {
		return nil
	}
	return db.syncNow(e)
}

// syncer is the goroutine of SyncInterval.
func (db *DB) syncer() {
	for {
		select {
		case <-db.ctx.Done():
			return
		case <-db.o.After(db.o.Sync.every):
		}
		db.mu.Lock()
		e := db.engine
		e.acquire()
		db.mu.Unlock()
		if db.durable.Load() < db.revision.Load() && e.g.cause() == nil {
			_ = db.syncNow(e) // A failure freezes the database, which reports it.
		}
		e.release()
	}
}
