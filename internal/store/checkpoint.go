package store

import (
	"encoding/json"
	"fmt"

	"github.com/catfish-index/catfish/internal/store/disk"
)

// Checkpoint copies all durable data to a directory that is missing or empty,
// while reads and writes continue, and checks the copy (disk.DB.Checkpoint).
// disk.ErrNoLog: the store has no data directory.
func (st *Store) Checkpoint(dir string) (disk.Report, error) {
	if st.closed.Load() {
		return disk.Report{}, fmt.Errorf("%w: nothing was copied", ErrClosed)
	}
	return st.db.Checkpoint(dir)
}

// Copy is Checkpoint without the check (disk.DB.Copy).
func (st *Store) Copy(dir string) error {
	if st.closed.Load() {
		return fmt.Errorf("%w: nothing was copied", ErrClosed)
	}
	return st.db.Copy(dir)
}

// Counts are what a data directory has: features, different boxes, and records.
type Counts struct{ Features, Boxes, Records uint64 }

// CountKept counts what a data directory has.
func CountKept(r disk.Report) (n Counts) {
	n.Features = r.Keys
	for _, m := range r.Collections {
		var is metadata
		if json.Unmarshal(m.Metadata, &is) != nil {
			continue
		}
		switch is.Kind {
		case boxesKind:
			n.Boxes += r.KeysOf[m.Collection]
		case recordsKind:
			n.Records += r.KeysOf[m.Collection]
		}
	}
	n.Features -= n.Boxes + n.Records
	return n
}
