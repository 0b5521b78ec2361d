package disk

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// TestModel: collections come, change and go, keys are put and deleted, the
// database is closed and opened; a map has the expected contents.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fs := vfs.NewMem()
		o := Options{Sync: rapid.SampledFrom([]Sync{SyncAlways, SyncOff}).Draw(rt, "sync"), LogBytes: rapid.SampledFrom([]int64{300, 1 << 20}).Draw(rt, "log"), lagBytes: rapid.SampledFrom([]int64{0, 200}).Draw(rt, "lag")}
		db := open(t, fs, o)
		rows := map[uint32]map[string]row{}
		names := map[uint32]Meta{}
		one := func(revision uint64) (n Entry) {
			n = Entry{Collection: rapid.Uint32Range(0, 3).Draw(rt, "collection"), Revision: revision,
				Key: []byte(rapid.OneOf(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.StringN(1, 3, 8)).Draw(rt, "key")), Value: rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(rt, "value"),
				Expiry: rapid.Int64().Draw(rt, "expiry"), Flags: rapid.Uint16().Draw(rt, "flags")}
			c := n.Collection
			if rows[c] == nil {
				n.Kind, rows[c] = Create, map[string]row{}
				names[c] = Meta{Collection: c, Name: string(n.Key), Metadata: n.Value, Created: revision, Changed: revision}
				return n
			}
			switch n.Kind = rapid.SampledFrom([]Kind{Put, Put, Put, Put, Delete, Delete, Alter, Drop}).Draw(rt, "kind"); n.Kind {
			case Put:
				if rapid.IntRange(0, 5).Draw(rt, "log only") > 0 {
					n.OldRevision = rows[c][string(n.Key)].revision
				}
				rows[c][string(n.Key)] = row{string(n.Value), revision, n.Expiry, n.Flags}
			case Delete:
				n.Value = nil
				delete(rows[c], string(n.Key))
			case Alter:
				m := names[c]
				m.Name, m.Metadata, m.Changed = string(n.Key), n.Value, revision
				names[c] = m
			case Drop:
				n.Key, n.Value = nil, nil
				delete(rows, c)
				delete(names, c)
			}
			return n
		}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			var entries []Entry
			for i := range rapid.IntRange(1, 6).Draw(rt, "entries") {
				entries = append(entries, one(db.Revision()+1+uint64(i)))
			}
			commit(t, db, entries...)
			if got := state(t, db, 1); !maps.Equal(got, rows[1]) {
				rt.Fatalf("%v, not %v", got, rows[1])
			}
			if rapid.IntRange(0, 9).Draw(rt, "reopen") == 0 {
				closeDB(t, db)
				if _, err := check(fs, "data"); err != nil {
					rt.Fatal(err)
				}
				db = open(t, fs, o)
			}
		}
		metas, err := db.Collections()
		if err != nil || len(metas) != len(names) {
			rt.Fatal(metas, names, err)
		}
		for _, m := range metas {
			if want := names[m.Collection]; m.Name != want.Name || !bytes.Equal(m.Metadata, want.Metadata) || m.Created != want.Created || m.Changed != want.Changed {
				rt.Fatal(m, want)
			}
		}
		for c := range uint32(4) {
			if got := state(t, db, c); !maps.Equal(got, rows[c]) {
				rt.Fatalf("collection %d: %v, not %v", c, got, rows[c])
			}
			from := rapid.StringN(0, 2, 4).Draw(rt, "from")
			var want []string
			for _, k := range slices.Sorted(maps.Keys(rows[c])) {
				if k >= from {
					want = append(want, k)
				}
			}
			if got := keys(t, db, c, from); !slices.Equal(got, want) {
				rt.Fatalf("collection %d from %q: %q, not %q", c, from, got, want)
			}
		}
		closeDB(t, db)
		if _, err := check(fs, "data"); err != nil {
			rt.Fatal(err)
		}
	})
}

// TestEntriesRefused: each for its reason, and none of the batch is written.
func TestEntriesRefused(t *testing.T) {
	db := open(t, vfs.NewMem(), Options{})
	commit(t, db, create(db, 1, "c"))
	good := put(1, "a", "1", 2)
	for _, n := range []Entry{
		{Collection: 1, Revision: 3, Key: []byte("a")},
		{Collection: 1, Revision: 3, Key: []byte("a"), Kind: Drop + 1},
		{Collection: 1, Revision: 3, Kind: Put},
		{Collection: 1, Revision: 3, Kind: Delete},
		{Collection: 1, Revision: 3, Kind: Delete, Key: []byte("a"), Value: []byte("1")},
		{Collection: 1, Revision: 3, Kind: Drop, Key: []byte("a")},
		{Collection: 1, Revision: 3, Kind: Put, Key: make([]byte, MaxKeyBytes+1)},
		{Collection: 1, Revision: 3, Kind: Create, Key: []byte("again")},
		{Collection: 2, Revision: 3, Kind: Put, Key: []byte("a")},
		{Collection: 2, Revision: 3, Kind: Alter, Key: []byte("a")},
		{Collection: 2, Revision: 3, Kind: Drop},
		put(1, "a", "1", 2),
		put(1, "a", "1", 4),
		put(1, "a", "1", 0),
	} {
		if err := db.Commit([]Entry{good, n}); !errors.Is(err, ErrEntry) {
			t.Fatal(n, err)
		}
	}
	commit(t, db)
	if db.Revision() != 1 || len(state(t, db, 1)) != 0 || db.Healthy() != nil {
		t.Fatal(db.Revision())
	}
	closeDB(t, db)
}

// TestCommitDoesNotAllocate, except for Pebble's occasional allocations.
func TestCommitDoesNotAllocate(t *testing.T) {
	db := open(t, vfs.NewMem(), Options{Sync: SyncOff})
	commit(t, db, create(db, 1, "c"))
	entries := []Entry{put(1, "key", "value", 0)}
	if n := testing.AllocsPerRun(1000, func() {
		entries[0].Revision = db.Revision() + 1
		if err := db.Commit(entries); err != nil {
			t.Fatal(err)
		}
	}); n >= 1 {
		t.Fatal(n, "allocations a commit")
	}
	closeDB(t, db)
}

// FuzzParse: no bytes cause a panic, and accepted bytes are written back unchanged.
func FuzzParse(f *testing.F) {
	e := Entry{Collection: 1, Kind: Put, Key: []byte("k"), Value: []byte("v"), Old: []byte("o"), OldRevision: 1, Expiry: -1, Flags: 3}
	b := make([]byte, e.logBytes()-logKeyBytes)
	e.put(b)
	f.Add(b)
	e.Client, e.Number = 7, 8
	f.Add(e.Append(nil))
	term := TermEntry(1, 2)
	f.Add(term.Append(nil))
	f.Add(Meta{Name: "n", Metadata: []byte("m"), Created: 1, Changed: 2}.encode())
	f.Add([]byte(newIdentity().String()))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := parseEntry(7, b); err == nil {
			out := make([]byte, n.logBytes()-logKeyBytes)
			n.put(out)
			if !bytes.Equal(b, out) {
				t.Fatalf("%x, not %x", out, b)
			}
		}
		if m, err := parseMeta(7, b); err == nil && !bytes.Equal(m.encode(), b) {
			t.Fatalf("%x, not %x", m.encode(), b)
		}
		if value, revision, expiry, flags, err := parseState(b); err == nil {
			out := make([]byte, stateHeader)
			putStateHeader(out, revision, expiry, flags)
			if out = append(out, value...); !bytes.Equal(b, out) {
				t.Fatalf("%x, not %x", out, b)
			}
		}
		if id, err := parseIdentity(string(b)); err == nil {
			if again, err := parseIdentity(id.String()); err != nil || again != id {
				t.Fatal(id, err)
			}
		}
		_, _, _ = parseCollection(b)
		_, _ = parseLogKey(b)
		_ = fmt.Sprint(Kind(len(b)))
	})
}
