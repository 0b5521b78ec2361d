package server

import (
	"errors"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/wire"
)

// TestShardsAreCreatedAndDropped: shards are listed, counted and dropped under the collection's
// name alone, and they take places in the table, which a drop frees.
func TestShardsAreCreatedAndDropped(t *testing.T) {
	s := startServer(t, Options{ClientCollections: 6, Workers: 2})
	ctx := t.Context()
	c := dial(t, s, client.Options{})
	if err := c.CreateRecords(ctx, "mine", model.RecordsOptions{Shards: 7}); !errors.Is(err, model.ErrBusy) {
		t.Errorf("7 shards of a client that may have 6 collections: %v", err)
	}
	for round := range 3 {
		if err := c.CreateRecords(ctx, "mine", model.RecordsOptions{Shards: 4}); err != nil {
			t.Fatal(err)
		}
		if err := c.CreateRecords(ctx, "other", model.RecordsOptions{Shards: 3}); !errors.Is(err, model.ErrBusy) {
			t.Errorf("3 more: %v", err)
		}
		r, err := c.Records("mine")
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			if _, err := r.Put(ctx, model.Record{Key: testKey(i)}, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		l, err := c.Collections(ctx)
		if err != nil || len(l) != 2 || l[1].Name != "mine" || l[1].Objects != 40 || l[1].Shards != 4 || l[1].SlabBytes > 64<<20 {
			t.Errorf("%+v, %v", l, err)
		}
		if names := s.Collections(); !slices.Equal(names, []string{model.DefaultCollection, "mine"}) {
			t.Errorf("%v", names)
		}
		c2, err := s.store.Lookup("mine")
		if err != nil || len(c2.Parts()) != 4 {
			t.Fatal(c2, err)
		}
		if ok, err := c.DropCollection(ctx, "mine/1"); ok || err == nil {
			t.Errorf("a shard was dropped: %v", err)
		}
		if _, err := client.RawCall(ctx, c, wire.RawMessage{Kind: wire.KindDrop, Body: []byte("mine/1")}); err != nil {
			t.Error(err)
		}
		at, err := r.Shard(ctx, testKey(round))
		if err != nil || at.Of != 4 || at.Owner != at.Number%2 {
			t.Errorf("%+v, %v", at, err)
		}
		_, x, err := r.Explain(ctx, testKey(round))
		if err != nil || x.Shard == nil || *x.Shard != *at {
			t.Errorf("%+v, %v", x, err)
		}
		if ok, err := c.DropCollection(ctx, "mine"); !ok || err != nil {
			t.Fatal(ok, err)
		}
		waitDropped(s)
		for _, part := range c2.Parts() {
			if _, err := s.store.ByNumber(part.Number); !errors.Is(err, model.ErrUnknownCollection) {
				t.Errorf("%q is still there: %v", part.Name, err)
			}
		}
	}
}

// TestWrongShard: a write to a shard that does not have the key is refused, and changes
// nothing: a client that knows no shards, or other ones, loses no record.
func TestWrongShard(t *testing.T) {
	s := startRecords(t, Options{RecordShards: 2})
	c, err := s.store.Lookup(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	v := service{s: s, transport: model.TransportTCP}
	for i, part := range c.Parts() {
		for _, key := range [][]byte{testKey(1), testKey(2), testKey(3), testKey(4)} {
			var want error
			if wire.ShardOf(c.Shards.Seed, key, 2) != i {
				want = model.ErrProtocol
			}
			put := wire.AppendPut(wire.AppendRevision(wire.AppendHead(nil, part.Number, 0), 0), 0, 0, key)
			if err := v.answer(new(peer), wire.KindPut, put, nil).err; !errors.Is(err, want) {
				t.Errorf("put of %q into shard %d: %v, want %v", key, i, err, want)
			}
			remove := append(wire.AppendRevision(wire.AppendHead(nil, part.Number, 0), 0), key...)
			if err := v.answer(new(peer), wire.KindRemove, remove, nil).err; !errors.Is(err, want) {
				t.Errorf("remove of %q from shard %d: %v, want %v", key, i, err, want)
			}
		}
	}
	if st := recordsStats(c); st.Puts != 4 || st.Deletes != 4 {
		t.Errorf("%d puts, %d deletes", st.Puts, st.Deletes)
	}
	for _, name := range []string{"records/2", "records/-1", "records/", "records/x", "default/0", "/1", "x/1"} {
		if err := v.answer(new(peer), wire.KindOpen, []byte(name), nil).err; !errors.Is(err, model.ErrUnknownCollection) {
			t.Errorf("open of %q: %v", name, err)
		}
	}
}

// TestRolesOfShards: a key's role for the collection holds for all its shards.
func TestRolesOfShards(t *testing.T) {
	keys, _, k := keyFile(t, access.Entry{Roles: []string{testRecords + ":write"}}, access.Entry{Roles: []string{"other:write"}})
	s := startRecords(t, Options{Keys: keys, RecordShards: 4, Workers: 2})
	for _, p := range kvPaths() {
		o := p.options()
		o.Key, o.Collection, o.Shared = k[0], testRecords, new(client.Shared)
		r := dialRecords(t, s, o)
		for i := range 20 {
			if _, err := r.Put(t.Context(), model.Record{Key: testKey(i)}, kv.Condition{}); err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			if _, err := r.Get(t.Context(), testKey(i), nil); err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
		}
	}
	for i, want := range []error{nil, access.ErrPermission} {
		g, err := s.access.byKey(k[i])
		if err != nil {
			t.Fatal(err)
		}
		for n := range 4 {
			if err := g.check(s, wire.KindOpen, []byte(wire.ShardName(testRecords, n))); !errors.Is(err, want) {
				t.Errorf("key %d opens shard %d: %v, want %v", i, n, err, want)
			}
		}
	}
}
