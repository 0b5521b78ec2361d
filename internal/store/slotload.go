package store

import (
	"context"

	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// SlotLoad returns how many bytes the ids and values of each slot have in the directory, as
// plans of moves weigh slots (placement.Map.Balance); those of slots that are not the store's
// own, too. It goes through all ids: a second for some million. pace is called every 65,536
// of them; its error ends the work. It needs a data directory.
func (st *Store) SlotLoad(ctx context.Context, pace func() error) (*[placement.Slots]uint64, error) {
	load, all := new([placement.Slots]uint64), Parts{SlotSet: AllSlots()}
	for at := (SlotCursor{}); !at.Done; {
		if err := pace(); err != nil {
			return nil, err
		}
		var err error
		at, err = st.eachID(ctx, &all, at, func(_ *Entry, keys *disk.Keys) (bool, error) {
			id := keys.Key()
			load[placement.SlotOf(id)] += uint64(len(id) + keys.ValueBytes())
			return true, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return load, nil
}
