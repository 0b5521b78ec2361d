package disk

import (
	"errors"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/store/storestats"
)

// counters are of a DB, whichever of its engines serves.
type counters struct {
	syncs      Histogram // microseconds
	logBytes   atomic.Int64
	recoveries atomic.Uint64
}

// Stats are the disk's part of a store's.
type Stats = storestats.Disk

// Stats returns the state.
func (db *DB) Stats() Stats {
	s := Stats{
		Dir: db.dir, Sync: db.o.Sync.String(),
		Revision: db.revision.Load(), Durable: db.durable.Load(), LogBytes: db.o.counters.logBytes.Load(),
		Syncs: db.o.counters.syncs.Stats(), Recoveries: db.o.counters.recoveries.Load(),
	}
	if err := db.Healthy(); err != nil && !errors.Is(err, ErrClosed) {
		s.ReadOnly = err.Error()
	}
	return s
}
