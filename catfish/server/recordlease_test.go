package server

import (
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/wire"
)

// A member of a group that its readers get no lease of, as it may hold what belongs to other
// groups, answers without leases on records.
func TestMembersThatAreNotReadLeaseNoRecords(t *testing.T) {
	s, _ := startMember(t)
	m, err := s.CreateKeptRecords(testRecords, model.RecordsOptions{Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Put(kv.Entry{Key: []byte("k"), Value: []byte("v")}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	c := dial(t, s, client.Options{Transport: model.TransportSoft})
	b, err := client.RawCall(t.Context(), c, wire.RawMessage{Kind: wire.KindOpen, Body: []byte(testRecords)})
	if err != nil {
		t.Fatal(err)
	}
	o, err := wire.GetOpenRecords(b)
	if err != nil {
		t.Fatal(err)
	}
	get := wire.AppendKey(wire.AppendHead(nil, o.Coll, 1|wire.WithLeases), []byte("k"))
	for _, hides := range []bool{false, true, false} {
		s.BoundLeases(func(l replica.Lease) replica.Lease {
			if hides {
				return replica.Lease{}
			}
			return l
		})
		b, err := client.RawCall(t.Context(), c, wire.RawMessage{Kind: wire.KindGet, Body: get})
		if err != nil || len(b) < wire.FoundBytes || (wire.GetFound(b).Lease > 0) == hides {
			t.Errorf("hides: %v: %x, %v", hides, b, err)
		}
	}
}
