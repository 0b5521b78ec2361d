package store

import (
	"fmt"

	"github.com/catfish-index/catfish/internal/fault"
)

// Bulk loads that ended with their primary
//
// In a group a bulk load (boxload.go) is in the log of all members, under its number, and
// only the member that began it can end it:
//
//	began it, and is the primary      writes on
//	began it, and was deposed         Load fails with the next batch
//	another member                    cannot know the rest of the boxes
//
// So a member that becomes the primary drops all others. The one that began a load may be
// deposed and become the primary again between two batches, without noticing, and another
// primary has dropped the load meanwhile. So it looks before each batch whether the log
// still has the load: what is written under a dropped number, no member could apply.

// stillLoads is fault.ErrNotPrimary if the load of a number was dropped by another
// primary. The commit leader calls it.
func (st *Store) stillLoads(num uint32) error {
	if st.loads[num] {
		return nil
	}
	return fmt.Errorf("%w: another member became it during the bulk load, which was dropped", fault.ErrNotPrimary)
}

// dropLoad ends a load of this process that failed.
func (st *Store) dropLoad(num uint32) error {
	return st.runAlone(func() error {
		if _, is := st.loads[num]; !is {
			return nil // It was dropped; or it has become the collection, as the group has found.
		}
		st.loads[num] = false
		return st.dropLeft(num)
	})
}

// dropLeft is called by the commit leader.
func (st *Store) dropLeft(num uint32) error {
	err := st.commitDrop(Name{}, num)
	if err == nil {
		delete(st.loads, num)
	}
	return err
}

// DropLeftLoads drops the bulk loads in the log that no Load of this process will end. A
// member of a group calls it when it has become the primary.
func (st *Store) DropLeftLoads() error {
	return st.runAlone(func() error {
		for num, loads := range st.loads {
			if loads {
				continue
			}
			if err := st.dropLeft(num); err != nil {
				return err
			}
		}
		return nil
	})
}
