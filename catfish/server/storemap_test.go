package server

import (
	"reflect"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/wire"
)

// The statistics have the slots of each group, and moves between two groups by step.
func TestStoreMap(t *testing.T) {
	s := startServer(t, Options{})
	if m := s.Stats().Map; m != nil {
		t.Errorf("without a map: %+v", m)
	}
	m, err := placement.New([]placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	part := func(n uint16) placement.Part { return placement.Part{Slot: n} }
	if m, err = m.Begin(placement.Move{Part: part(4095), From: 1, To: 0}, placement.Move{Part: part(0), From: 0, To: 1},
		placement.Move{Part: part(1), From: 0, To: 1}, placement.Move{Part: part(2), From: 0, To: 1}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []placement.Part{part(1), part(2)} {
		if m, err = m.Copied(p); err != nil {
			t.Fatal(err)
		}
		if m, err = m.Freeze(p, 7); err != nil {
			t.Fatal(err)
		}
	}
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	s.SetCluster(func() *wire.Cluster { return &wire.Cluster{Version: m.Version, Epoch: 1, Map: b} })
	want := &model.StoreMap{Version: m.Version, Epoch: 1, Groups: []model.GroupSlots{{Name: "a", Slots: 2048, Frozen: 2}, {Name: "b", Slots: 2048}},
		Moves: []model.GroupMoves{{From: "a", To: "b", Step: "copy", Parts: 1}, {From: "a", To: "b", Step: "freeze", Parts: 2}, {From: "b", To: "a", Step: "copy", Parts: 1}}}
	if got := s.Stats().Map; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
