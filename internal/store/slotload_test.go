package store

import (
	"errors"
	"fmt"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

// The load of a slot is the sum of what its ids have in all collections; boxes have none.
func TestSlotLoad(t *testing.T) {
	st := open(t, Options{Dir: t.TempDir(), SlabBytes: 64 << 20, Sync: disk.SyncOff})
	c := create(t, st, CollectionOptions{})
	for name, kind := range map[string]Kind{"boxes": KindBoxes, "records": KindRecords} {
		if _, err := st.Create(name, Spec{Kind: kind, Keep: true}); err != nil {
			t.Fatal(err)
		}
	}
	boxes, err := st.Of("boxes", KindBoxes)
	if err != nil {
		t.Fatal(err)
	}
	boxes.Boxes.InsertLater([]rstar.Item{{Rect: rstar.Rect{MaxX: 1}, ID: 1}}, func(_ int, err error) {
		if err != nil {
			t.Error(err)
		}
	})
	var want [placement.Slots]uint64
	var states []MovedState
	for i := range 500 {
		f := Feature{ID: fmt.Sprint(i), Geometry: orb.Point{1, 1}, Properties: fmt.Appendf(nil, `{"n":"%*d"}`, i, i)}
		value, err := f.Encode(0)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Put(t.Context(), f, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
		record := AppendRecordValue(nil, make([]byte, 3*i), 7)
		states = append(states, MovedState{Collection: "records", Records: true, ID: []byte(f.ID), Value: record})
		want[placement.SlotOf([]byte(f.ID))] += uint64(2*len(f.ID) + len(value) + len(record))
	}
	// Slots count whether they are the store's own or not.
	if err := st.SetSlots(Slots{Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	if err := st.CopyIn(t.Context(), states, nil); err != nil {
		t.Fatal(err)
	}
	load, err := st.SlotLoad(t.Context(), func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for slot := range want {
		if load[slot] != want[slot] {
			t.Errorf("slot %d: %d bytes, want %d", slot, load[slot], want[slot])
		}
	}
	full := errors.New("full")
	if _, err := st.SlotLoad(t.Context(), func() error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
}
