package store

import (
	"encoding/json"
	"fmt"

	"github.com/catfish-index/catfish/store/disk"
)

// Checkpoint copies all durable data to a directory that is missing or empty,
// while reads and writes continue, and checks the copy (disk.DB.Checkpoint).
// disk.ErrNoLog: the store has no data directory.
func (st *Store) Checkpoint(dir string) (disk.Report, error) {
	st.mu.RLock()
	closed := st.closed
	st.mu.RUnlock()
	if closed {
		return disk.Report{}, fmt.Errorf("%w: nothing was copied", ErrClosed)
	}
	return st.db.Checkpoint(dir)
}

// CountKept returns the number of features in a data directory, and of different boxes.
func CountKept(r disk.Report) (features, boxes uint64) {
	features = r.Keys
	for _, m := range r.Collections {
		var is metadata
		if json.Unmarshal(m.Metadata, &is) == nil && is.Kind == boxesKind {
			boxes += r.KeysOf[m.Collection]
		}
	}
	return features - boxes, boxes
}
