package server

import (
	"errors"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

// A group's primary says what each slot has, over rings and sockets, also if its map has several
// groups; that of another group is not asked.
func TestSlotLoad(t *testing.T) {
	s, _ := startMember(t)
	st, err := s.Store()
	if err != nil {
		t.Fatal(err)
	}
	places, err := st.CreateFeatures("places", store.CollectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := places.Put(t.Context(), store.Feature{ID: "a", Geometry: orb.Point{}}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	c := dial(t, s, client.Options{Transport: model.TransportTCP}) // before there are several groups
	s.SetCluster(func() *wire.Cluster {
		return &wire.Cluster{Epoch: 1, Version: 1, Map: []byte(`{}`), Groups: []wire.ClusterGroup{{Name: "g"}, {Name: "h"}}}
	})
	for _, transport := range []string{model.TransportSoft, model.TransportTCP} {
		load, err := client.SlotLoad(t.Context(), s.Addr(), "g", client.Options{Transport: transport, Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		for slot, n := range load {
			if (n > 1) != (uint16(slot) == placement.SlotOf([]byte("a"))) {
				t.Errorf("%s: slot %d has %d bytes", transport, slot, n)
			}
		}
		if _, err := client.SlotLoad(t.Context(), s.Addr(), "h", client.Options{Transport: transport, Logger: quiet()}); !errors.Is(err, model.ErrNoServer) {
			t.Errorf("asked as another group: %v", err)
		}
	}
	for _, kind := range []fastmsg.Kind{wire.KindSlotLoad, wire.KindSlotRequests} {
		if _, err := client.RawCall(t.Context(), c, wire.RawMessage{Kind: kind, Body: []byte{0}}); !errors.Is(err, model.ErrProtocol) {
			t.Errorf("a request of kind %d with a payload: %v", kind, err)
		}
	}
	// Requests are counted once the store has slots.
	if err := st.SetSlots(store.Slots{Epoch: 1, Owned: store.AllSlots()}); err != nil {
		t.Fatal(err)
	}
	for range 4000 {
		if _, err := places.Get(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	r, err := client.SlotRequests(t.Context(), s.Addr(), "g", client.Options{Transport: model.TransportTCP, Logger: quiet()})
	if err != nil || r.Counted[placement.SlotOf([]byte("a"))] < 100 || r.Sum() > 1000 || r.Over <= 0 {
		t.Errorf("%d requests counted in %v, %v", r.Sum(), r.Over, err)
	}
}
