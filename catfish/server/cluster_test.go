package server

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// Requests of many ids are answered if the connection has told the server's epoch, whichever
// way they are answered; requests of one id always.
func TestRequestsOfManyIDsAreByTheMap(t *testing.T) {
	s, _ := startMember(t)
	st, err := s.Store()
	if err != nil {
		t.Fatal(err)
	}
	all, err := st.CreateFeatures("places", store.CollectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	places, err := s.store.Lookup("places")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * soonFeatures { // more than are looked at at once
		if _, _, err := all.Put(t.Context(), store.Feature{ID: fmt.Sprint(i), Geometry: orb.Point{}}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	find := func(at float64) []byte {
		q := query.Query{Area: query.Box(at-0.5, at-0.5, at+0.5, at+0.5)}
		b, err := wire.AppendFindQuery(wire.AppendHead(nil, places.Number, 0), &q, feature.Geographic)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	boxes, err := s.store.Lookup(model.DefaultCollection)
	if err != nil {
		t.Fatal(err)
	}
	search := wire.AppendRect(wire.AppendHead(nil, boxes.Number, 0), rstar.Rect{MaxX: 1, MaxY: 1})
	many := map[string]wire.RawMessage{
		"find":         {Kind: wire.KindFind, Body: find(5)},
		"find, a task": {Kind: wire.KindCountFeatures, Body: find(0)},
		"describe":     {Kind: wire.KindDescribe, Body: wire.AppendHead(nil, places.Number, 0)},
		"search":       {Kind: wire.KindSearch, Body: search},
		"erase":        {Kind: wire.KindEraseWhere, Body: find(5)},
	}
	get := wire.RawMessage{Kind: wire.KindGet, Body: wire.AppendKey(wire.AppendHead(nil, places.Number, 1), []byte("1"))}
	var now atomic.Pointer[wire.Cluster]
	s.SetCluster(now.Load)
	for _, transport := range []string{model.TransportSoft, model.TransportTCP} {
		now.Store(nil)
		c := dial(t, s, client.Options{Transport: transport})
		ask := func(m wire.RawMessage, want error) {
			t.Helper()
			if _, err := client.RawCall(t.Context(), c, m); !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("%s, kind %d: %v, want %v", transport, m.Kind, err, want)
			}
		}
		asked := func(want error) {
			t.Helper()
			for _, m := range many {
				ask(m, want)
			}
			ask(get, nil)
			var asking sync.WaitGroup
			for range 32 { // some of them in batches
				asking.Go(func() { ask(many["search"], want); ask(many["find"], want) })
			}
			asking.Wait()
		}
		tell := func(epoch, version uint64) (*wire.Cluster, error) {
			b, err := client.RawCall(t.Context(), c, wire.RawMessage{Kind: wire.KindMap, Body: wire.MapRequest{Epoch: epoch, Version: version}.Append(nil)})
			if err != nil {
				return nil, err
			}
			return wire.GetCluster(b)
		}
		asked(nil)
		if _, err := tell(1, 1); !errors.Is(err, model.ErrNotReady) {
			t.Errorf("the map of a server that has none: %v", err)
		}
		now.Store(&wire.Cluster{Epoch: 1, Version: 1, Groups: []wire.ClusterGroup{{Name: "g"}}})
		asked(nil) // There is one group.
		now.Store(&wire.Cluster{Epoch: 3, Version: 5, Map: []byte(`{}`), Groups: []wire.ClusterGroup{{Name: "g"}, {Name: "h"}}})
		asked(model.ErrServer) // The text says why.
		ask(wire.RawMessage{Kind: wire.KindOpen, Body: []byte("places")}, model.ErrServer)
		for _, told := range []struct {
			epoch, version uint64
			whole          bool
			want           error
		}{{2, 2, true, model.ErrMoved}, {3, 4, true, nil}, {3, 5, false, nil}, {6, 6, true, model.ErrMoved}} {
			got, err := tell(told.epoch, told.version)
			if err != nil || got.Version != 5 || (got.Map != nil) != told.whole || len(got.Groups) != 2 {
				t.Errorf("told %+v: %+v, %v", told, got, err)
			}
			asked(told.want)
			ask(wire.RawMessage{Kind: wire.KindOpen, Body: []byte("places")}, nil)
			b, err := client.RawCall(t.Context(), c, wire.RawMessage{Kind: wire.KindLease})
			if err != nil {
				t.Fatal(err)
			}
			if is, err := wire.GetStanding(b); err != nil || is.Epoch != 3 {
				t.Errorf("a lease of epoch %d, %v, want 3", is.Epoch, err)
			}
		}
	}
}

// A request during which the map changes is refused, although it has begun by the right one.
func TestTheMapChangesDuringARequest(t *testing.T) {
	s, _ := startMember(t)
	now := &wire.Cluster{Epoch: 1, Version: 1, Groups: []wire.ClusterGroup{{Name: "g"}, {Name: "h"}}}
	s.SetCluster(func() *wire.Cluster { return now })
	v := &service{s: s}
	from := &peer{epoch: 1}
	r := v.reading(from, wire.KindFind)
	if err := r.moved(); err != nil {
		t.Fatal(err)
	}
	now = &wire.Cluster{Epoch: 2, Version: 2, Groups: now.Groups}
	if err := r.Err(); !errors.Is(err, model.ErrMoved) {
		t.Errorf("the answer of a request by the map before: %v", err)
	}
	if r := v.reading(from, wire.KindGet); r.Err() != nil {
		t.Error("a request of one id depends on the epoch")
	}
}

// The store gets a map before the server shows it: what a request by the map before finds meanwhile lacks what
// went to another group, and is refused.
func TestTheStoreHasALaterMap(t *testing.T) {
	s, _ := startMember(t)
	now := &wire.Cluster{Epoch: 1, Version: 1, Groups: []wire.ClusterGroup{{Name: "g"}, {Name: "h"}}}
	s.SetCluster(func() *wire.Cluster { return now })
	set := func(epoch uint64) {
		if err := s.store.SetSlots(store.Slots{Epoch: epoch, Owned: store.AllSlots()}); err != nil {
			t.Fatal(err)
		}
	}
	set(1)
	v, from := &service{s: s}, &peer{epoch: 1}
	for _, kind := range []fastmsg.Kind{wire.KindFind, wire.KindSearch} {
		r := v.reading(from, kind)
		if err := errors.Join(r.moved(), r.Err()); err != nil {
			t.Errorf("kind %d by the map of both: %v", kind, err)
		}
	}
	set(2)
	for _, kind := range []fastmsg.Kind{wire.KindFind, wire.KindNear, wire.KindCountFeatures, wire.KindScan, wire.KindSearch} {
		r := v.reading(from, kind)
		if r.moved() == nil || !errors.Is(r.Err(), model.ErrMoved) {
			t.Errorf("kind %d by the map before the store's: %v, %v", kind, r.moved(), r.Err())
		}
	}
}

// With keys, requests that concern no collection need no role, and are not taken for ones that do.
func TestLeaseAndMapWithAKey(t *testing.T) {
	keys, _, texts := keyFile(t, access.Entry{Roles: []string{"*:read"}})
	s := startServer(t, Options{Keys: keys})
	s.SetCluster(func() *wire.Cluster {
		return &wire.Cluster{Epoch: 1, Version: 1, Map: []byte(`{}`), Groups: []wire.ClusterGroup{{Name: "g"}}}
	})
	c := dial(t, s, client.Options{Key: texts[0]})
	for kind, body := range map[fastmsg.Kind][]byte{wire.KindLease: nil, wire.KindMap: wire.MapRequest{Epoch: 1, Version: 1}.Append(nil)} {
		if _, err := client.RawCall(t.Context(), c, wire.RawMessage{Kind: kind, Body: body}); err != nil {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
}
