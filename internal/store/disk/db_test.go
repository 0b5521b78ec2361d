package disk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// row is an entry of state.
type row struct {
	value    string
	revision uint64
	expiry   int64
	flags    uint16
}

func open(t testing.TB, fs vfs.FS, o Options) *DB {
	t.Helper()
	o.FS = fs
	db, err := Open("data", o)
	if err != nil {
		t.Fatal(err)
	}
	db.Loaded()
	return db
}

func closeDB(t testing.TB, db *DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func create(db *DB, c uint32, name string) Entry {
	return Entry{Collection: c, Kind: Create, Key: []byte(name), Value: []byte("meta"), Revision: db.Revision() + 1}
}

func put(c uint32, key, value string, revision uint64) Entry {
	return Entry{Collection: c, Kind: Put, Key: []byte(key), Value: []byte(value), Revision: revision, Expiry: int64(revision), Flags: uint16(revision)}
}

func commit(t testing.TB, db *DB, entries ...Entry) {
	t.Helper()
	if err := db.Commit(entries); err != nil {
		t.Fatal(err)
	}
}

func state(t testing.TB, db *DB, c uint32) map[string]row {
	t.Helper()
	parts := make([]map[string]row, 3)
	for i := range parts {
		parts[i] = map[string]row{}
	}
	err := db.Load(context.Background(), c, len(parts), func(w int, key, value []byte, revision uint64, expiry int64, flags uint16) error {
		if _, ok := parts[w][string(key)]; ok {
			return fmt.Errorf("%q twice", key)
		}
		parts[w][string(key)] = row{string(value), revision, expiry, flags}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]row{}
	for _, p := range parts {
		for k, v := range p {
			if _, ok := all[k]; ok {
				t.Fatalf("%q from two workers", k)
			}
			all[k] = v
		}
	}
	return all
}

func keys(t testing.TB, db *DB, c uint32, from string) (all []string) {
	t.Helper()
	it, err := db.Keys(c, []byte(from))
	if err != nil {
		t.Fatal(err)
	}
	for it.Next() {
		all = append(all, string(it.Key()))
	}
	if err := errors.Join(it.Err(), it.Close()); err != nil {
		t.Fatal(err)
	}
	return all
}

func log(t testing.TB, db *DB, from uint64) (all []Entry) {
	t.Helper()
	it, err := db.Log(from)
	if err != nil {
		t.Fatal(err)
	}
	for it.Next() {
		all = append(all, it.Entry())
	}
	if err := errors.Join(it.Err(), it.Close()); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestReopen(t *testing.T) {
	for _, s := range []Sync{SyncAlways, SyncOff, SyncInterval(1 << 40)} {
		t.Run(s.String(), func(t *testing.T) {
			fs := vfs.NewMem()
			db := open(t, fs, Options{Sync: s})
			id := db.Store()
			commit(t, db, create(db, 7, "cafes"), put(7, "b", "1", 2), put(7, "a", "2", 3))
			commit(t, db, put(7, "c", "3", 4), Entry{Collection: 7, Kind: Delete, Key: []byte("b"), Revision: 5, Old: []byte("1"), OldRevision: 2, OldExpiry: 77})
			for range 2 {
				if got := state(t, db, 7); len(got) != 2 || got["a"] != (row{"2", 3, 3, 3}) || got["c"] != (row{"3", 4, 4, 4}) {
					t.Fatal(got)
				}
				if got := keys(t, db, 7, "b"); !slices.Equal(got, []string{"c"}) {
					t.Fatal(got)
				}
				l := log(t, db, 1)
				if len(l) != 5 || l[4].Kind != Delete || string(l[4].Old) != "1" || l[4].OldRevision != 2 || l[4].OldExpiry != 77 || string(l[2].Value) != "2" {
					t.Fatal(l)
				}
				m, err := db.Collections()
				if err != nil || len(m) != 1 || m[0].Name != "cafes" || string(m[0].Metadata) != "meta" || m[0].Created != 1 || m[0].Collection != 7 {
					t.Fatal(m, err)
				}
				if db.Revision() != 5 || db.Store() != id {
					t.Fatal(db.Revision())
				}
				closeDB(t, db)
				db = open(t, fs, Options{Sync: s})
			}
			closeDB(t, db)
		})
	}
}
