package disk

import (
	"errors"
	"sync/atomic"
)

// counters are of a DB, whichever of its engines serves.
type counters struct {
	syncs      Histogram // microseconds
	logBytes   atomic.Int64
	recoveries atomic.Uint64
}

// Stats is the state of a DB.
type Stats struct {
	Dir      string `json:"dir"`
	Sync     string `json:"sync"`     // always, off or an interval
	Revision uint64 `json:"revision"` // of the last entry acknowledged
	Durable  uint64 `json:"durable"`  // not above it: known to survive a crash
	// LogBytes are about what the log takes, before compression.
	LogBytes int64 `json:"log_bytes"`
	// Syncs are fsyncs of the write-ahead log, in microseconds.
	Syncs HistogramStats `json:"syncs"`
	// ReadOnly is why commits are refused, empty: they are not.
	ReadOnly string `json:"read_only,omitempty"`
	// Recoveries is how often commits were taken again after a failure.
	Recoveries uint64 `json:"recoveries"`
}

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
