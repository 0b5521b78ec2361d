package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/boottime"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// startMember returns a server that says it is the primary of a group.
func startMember(t *testing.T) (*Server, *catfishtest.GroupOfOne) {
	t.Helper()
	s := startServer(t, AsMember(Options{DataDir: t.TempDir(), Transports: []string{model.TransportSoft}}, [16]byte{1}))
	if err := s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	g := catfishtest.NewGroupOfOne()
	st, err := s.Store()
	if err != nil {
		t.Fatal(err)
	}
	st.Replicate(g)
	s.SetGroup(func() *wire.GroupHello {
		return &wire.GroupHello{Name: "g", Node: "n", Role: wire.RolePrimary, Term: 1, Primary: "n"}
	})
	return s, g
}

// Every way of answering a read by message looks at the lease: at once, by a task, by a task
// in steps, and in batches.
func TestReadsByMessageNeedALease(t *testing.T) {
	s, g := startMember(t)
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
	const many = 2 * soonFeatures // more than are looked at at once
	for i := range many {
		if _, _, err := all.Put(t.Context(), store.Feature{ID: fmt.Sprint(i), Geometry: orb.Point{}}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := s.CreateCollection("boxes")
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(60_000) { // more than soonNodes of nodes
		if err := tree.Insert(square(float64(i%250), float64(i/250)), i); err != nil {
			t.Fatal(err)
		}
	}
	boxes, err := s.store.Lookup("boxes")
	if err != nil {
		t.Fatal(err)
	}
	head := func(coll, arg uint32, more ...byte) []byte { return append(wire.AppendHead(nil, coll, arg), more...) }
	rect := func(n float64) []byte { return wire.AppendRect(nil, rstar.Rect{MinX: -n, MinY: -n, MaxX: n, MaxY: n}) }
	find := func(n float64) []byte {
		b, err := wire.AppendFindQuery(head(places.Number, 0), &query.Query{Area: query.Box(n-0.5, n-0.5, n+0.5, n+0.5)}, feature.Geographic)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	key := wire.AppendKey(nil, []byte("1"))
	selection, err := wire.AppendSelection(nil, &feature.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	point := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 0), 0)
	requests := map[string]wire.RawMessage{
		"find":             {Kind: wire.KindFind, Body: find(5)},
		"find, a task":     {Kind: wire.KindCountFeatures, Body: find(0)},
		"get":              {Kind: wire.KindGet, Body: head(places.Number, 1, key...)},
		"pick":             {Kind: wire.KindPick, Body: head(places.Number, 1, append(selection, key...)...)},
		"describe":         {Kind: wire.KindDescribe, Body: head(places.Number, 0)},
		"search":           {Kind: wire.KindSearch, Body: head(boxes.Number, 0, rect(1)...)},
		"search, in steps": {Kind: wire.KindCount, Body: head(boxes.Number, 0, rect(1000)...)},
		"search many":      {Kind: wire.KindSearchMany, Body: head(boxes.Number, 1, rect(1)...)},
		"nearest":          {Kind: wire.KindNearest, Body: head(boxes.Number, 1, point...)},
	}
	for _, transport := range []string{model.TransportSoft, model.TransportTCP} {
		c := dial(t, s, client.Options{Transport: transport})
		ask := func(name string, want error) {
			t.Helper()
			if _, err := client.RawCall(t.Context(), c, requests[name]); !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("%s, %s: %v, want %v", transport, name, err, want)
			}
		}
		for name := range requests {
			g.Grant(1, time.Hour)
			ask(name, nil)
			g.Grant(1, 0)
			ask(name, model.ErrNotPrimary)
			g.Grant(1|replica.OfSecondary, time.Hour)
			ask(name, model.ErrNotPrimary)
		}
		g.Grant(1, 0)
		var asking sync.WaitGroup
		for range 64 { // some of them in batches
			asking.Go(func() {
				for range 20 {
					ask("search", model.ErrNotPrimary)
					ask("find", model.ErrNotPrimary)
					ask("get", model.ErrNotPrimary)
				}
			})
		}
		asking.Wait()
		// A connection may say that it reads at a secondary.
		if _, err := client.RawCall(t.Context(), c, wire.RawMessage{Kind: wire.KindLease, Body: []byte{wire.ReadInSync}}); err != nil {
			t.Fatal(err)
		}
		g.Grant(1|replica.OfSecondary, time.Hour)
		for name := range requests {
			ask(name, nil)
		}
		g.Grant(1|replica.OfSecondary, 0)
		for name := range requests {
			ask(name, model.ErrNotPrimary)
		}
	}
	// Writes and what concerns no data are answered without a lease.
	g.Grant(1, 0)
	c := dial(t, s, client.Options{Transport: model.TransportSoft, Policy: "fast"})
	if _, err := c.Stats(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.CreateFeatures(t.Context(), "more", model.FeaturesOptions{}); err != nil {
		t.Error(err)
	}
}

// The answer to a question for the lease, and heartbeats, show it.
func TestMembersShowTheirLease(t *testing.T) {
	s, g := startMember(t)
	c := dial(t, s, client.Options{Transport: model.TransportSoft, Policy: "fast"})
	if _, err := client.RawCall(t.Context(), c, wire.RawMessage{Kind: wire.KindLease, Body: []byte{9}}); !errors.Is(err, model.ErrProtocol) {
		t.Error(err)
	}
	if err := c.CreateFeatures(t.Context(), "a", model.FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}
	before := boottime.Now()
	b, err := client.RawCall(t.Context(), c, wire.RawMessage{Kind: wire.KindLease})
	if err != nil {
		t.Fatal(err)
	}
	is, err := wire.GetStanding(b)
	want := wire.Standing{Now: is.Now, Lease: g.Lease(), Revision: s.store.Revision(), End: g.End()}
	if err != nil || is != want || is.Now < before || is.Now > boottime.Now() || is.Revision == 0 {
		t.Errorf("%+v, %v, want %+v after %v", is, err, want, before)
	}
	if n := s.load().Numbers; n != [2]uint64{1, uint64(g.Lease().Until)} {
		t.Errorf("heartbeats have %d, want %+v", n, g.Lease())
	}
	for _, n := range []int{0, wire.StandingBytes - 1, wire.StandingBytes + 1} {
		if _, err := wire.GetStanding(make([]byte, n)); !errors.Is(err, model.ErrProtocol) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
