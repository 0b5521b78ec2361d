package disk

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// again is a Put of an existing key.
func again(key, value string, old, revision uint64) Entry {
	n := put(1, key, value, revision)
	n.OldRevision = old
	return n
}

// written are the revisions of the states that Pebble has.
func written(t *testing.T, db *DB) map[string]uint64 {
	t.Helper()
	it, err := db.engine.NewIter(&pebble.IterOptions{LowerBound: []byte{statePrefix}, UpperBound: []byte{statePrefix + 1}})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]uint64{}
	for ok := it.First(); ok; ok = it.Next() {
		_, revision, _, _, err := parseState(it.Value())
		if err != nil {
			t.Fatal(err)
		}
		all[string(it.Key()[collectionBytes:])] = revision
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

// The first entry that lags comes in a batch, whose other entries may be trimmed before
// anything is written back.
func TestLagBeginsAfterTheBatch(t *testing.T) {
	fs := vfs.NewMem()
	db := open(t, fs, Options{LogBytes: 300})
	commit(t, db, create(db, 1, "c"), put(1, "a", strings.Repeat("v", 300), 2), again("a", "w", 2, 3))
	commit(t, db, put(1, "b", "", 4)) // This one trims.
	if first, err := db.First(); err != nil || first == 1 || len(db.engine.lag.newest) != 1 {
		t.Fatal(first, err)
	}
	want := state(t, db, 1)
	closeDB(t, db)
	db = open(t, fs, Options{})
	if got := state(t, db, 1); len(got) != 2 || !maps.Equal(got, want) {
		t.Fatal(got, want)
	}
	closeDB(t, db)
}

// TestLag: a key's second write is in the log only, all readers see it, also after a
// crash, and it is written back when it is the last of its key and too much lags.
func TestLag(t *testing.T) {
	fs := vfs.NewCrashableMem()
	value := strings.Repeat("v", 50)
	size := (&Entry{Key: []byte("a"), Value: []byte(value)}).logBytes()
	db := open(t, fs, Options{lagBytes: 8 * size})
	if commit(t, db, create(db, 1, "c"), put(1, "a", value, 2), put(1, "b", value, 3), put(1, "c", value, 4)); db.id.format != 1 || db.engine.lag.on {
		t.Fatal("it lags before a key was written again")
	}
	commit(t, db, again("a", value, 2, 5), again("b", value, 3, 6), again("a", value, 5, 7))
	if got, want := written(t, db), map[string]uint64{"a": 2, "b": 3, "c": 4}; !maps.Equal(got, want) {
		t.Fatal(got)
	}
	want := map[string]row{"a": {value, 7, 7, 7}, "b": {value, 6, 6, 6}, "c": {value, 4, 4, 4}}
	if got := state(t, db, 1); !maps.Equal(got, want) {
		t.Fatal(got)
	}
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	if r, err := check(crashed, "data"); err != nil || r.Format != lagFormat || r.Keys != 3 || r.Bytes != 150 {
		t.Fatal(r, err)
	}
	other := open(t, crashed, Options{})
	if got := state(t, other, 1); !maps.Equal(got, want) {
		t.Fatal(got)
	}
	if got, want := written(t, other), map[string]uint64{"a": 7, "b": 6, "c": 4}; !maps.Equal(got, want) || len(other.engine.lag.newest) > 0 {
		t.Fatal(got, "is written back by Open, want", want)
	}
	commit(t, other, again("a", value, 7, 8), again("b", value, 6, 9))
	// A later entry removes a key, and creates it again.
	commit(t, other, Entry{Collection: 1, Kind: Delete, Key: []byte("a"), OldRevision: 8, Revision: 10}, put(1, "b", "", 11))
	if got, want := state(t, other, 1), map[string]row{"b": {"", 11, 11, 11}, "c": want["c"]}; !maps.Equal(got, want) {
		t.Fatal(got)
	}
	closeDB(t, other)

	old := uint64(4)
	for range 6 { // 8 to 13: then 9 entries lag
		commit(t, db, again("c", value, old, db.Revision()+1))
		old = db.Revision()
	}
	if got, want := written(t, db), map[string]uint64{"a": 2, "b": 3, "c": 4}; !maps.Equal(got, want) {
		t.Fatal(got)
	}
	commit(t, db, again("c", value, old, 14))
	if got, want := written(t, db), map[string]uint64{"a": 2, "b": 3, "c": 4}; !maps.Equal(got, want) {
		t.Fatal(got, "of which 5 was written, and is not the last of its key")
	}
	commit(t, db, again("c", value, 14, 15))
	if got, want := written(t, db), map[string]uint64{"a": 2, "b": 6, "c": 4}; !maps.Equal(got, want) {
		t.Fatal(got)
	}
	if applied, ok, err := readApplied(db.engine.NewIter); applied != 6 || !ok || err != nil {
		t.Fatal(applied, ok, err)
	}
	closeDB(t, db)
	if _, err := check(fs, "data"); err != nil {
		t.Fatal(err)
	}
}

// TestDropEndsLag: no state of a collection that was dropped is written back.
func TestDropEndsLag(t *testing.T) {
	fs := vfs.NewMem()
	db := open(t, fs, Options{lagBytes: 100})
	commit(t, db, create(db, 1, "c"), Entry{Kind: Create, Collection: 2, Key: []byte("d"), Revision: 2}, put(1, "a", "1", 3), put(2, "a", "1", 4))
	n := again("a", "2", 4, 6)
	n.Collection = 2
	commit(t, db, again("a", "2", 3, 5), n, Entry{Kind: Drop, Collection: 1, Revision: 7})
	for range 100 {
		commit(t, db, put(2, "b", "1", db.Revision()+1))
	}
	if got := state(t, db, 2)["a"]; got.revision != 6 || len(written(t, db)) != 2 || written(t, db)["a"] != 6 {
		t.Fatal(got, written(t, db))
	}
	closeDB(t, db)
	if _, err := check(fs, "data"); err != nil {
		t.Fatal(err)
	}
}

// Entries that are trimmed are written back before, however little lags.
func TestLagDueBeforeTrim(t *testing.T) {
	var l lag
	l.span.limit = 16 * 100
	for r := range uint64(6) {
		n := again("a", "", 1+r, 10+r)
		l.add(&n)
		l.span.bytes, l.span.segments[r].bytes = 100*int64(1+r), 100
	}
	for trimmed, want := range map[uint64][3]uint64{0: {}, 10: {}, 11: {10, 11, 1}, 13: {10, 13, 3}, 16: {10, 16, 6}} {
		if from, to, n := l.due(trimmed, 15); from != want[0] || to != want[1] || n != int(want[2]) {
			t.Errorf("trimmed up to %d: %d to %d, %d segments, want %v", trimmed, from, to, n, want)
		}
	}
}

// TestLagIsInTheLog: trimmed entries were written back.
func TestLagIsInTheLog(t *testing.T) {
	fs := vfs.NewMem()
	db := open(t, fs, Options{LogBytes: 1000})
	commit(t, db, create(db, 1, "c"), put(1, "a", "1", 2), put(1, "b", "1", 3))
	commit(t, db, again("a", "2", 2, 4))
	// A name is no key.
	commit(t, db, Entry{Kind: Alter, Collection: 1, Key: []byte("a"), Revision: 5})
	if got := state(t, db, 1)["a"]; got.revision != 4 {
		t.Fatal(got)
	}
	for old := uint64(3); db.Revision() < 300; old = db.Revision() {
		many := []Entry{again("b", "2", old, db.Revision()+1)}
		for len(many) < 40 {
			many = append(many, again("b", "2", db.Revision()+uint64(len(many)), db.Revision()+1+uint64(len(many))))
		}
		commit(t, db, many...)
		if first, err := db.First(); err != nil {
			t.Fatal(err)
		} else if applied, _, err := readApplied(db.engine.NewIter); err != nil || applied+1 < first {
			t.Fatalf("the log begins at %d, state has all up to %d", first, applied)
		}
	}
	if got := state(t, db, 1); got["a"].revision != 4 || got["b"].revision != db.Revision() {
		t.Fatal(got)
	}
	closeDB(t, db)
	if _, err := check(fs, "data"); err != nil {
		t.Fatal(err)
	}
}

// TestCheckFindsLag: changes to lagging entries are detected.
func TestCheckFindsLag(t *testing.T) {
	applied := func(v ...byte) func(*pebble.Batch) error {
		return func(b *pebble.Batch) error { return b.Set(appliedKey, v, nil) }
	}
	for name, c := range map[string]struct {
		tamper func(*pebble.Batch) error
		opens  bool
	}{
		"nothing":     {opens: true},
		"missing":     {func(b *pebble.Batch) error { return b.Delete(stateKey(1, []byte("a")), nil) }, true},
		"not applied": {applied(3, 0, 0, 0, 0, 0, 0, 0), true},
		"none":        {func(b *pebble.Batch) error { return b.Delete(appliedKey, nil) }, true},
		"beyond":      {applied(4, 0, 0, 0, 0, 0, 0, 0), false},
		"short":       {applied(2, 0, 0), false},
		"longer key":  {func(b *pebble.Batch) error { return b.Set([]byte{appliedPrefix, 0}, make([]byte, 8), nil) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			db := open(t, fs, Options{})
			commit(t, db, create(db, 1, "c"), put(1, "a", "1", 2))
			commit(t, db, again("a", "2", 2, 3))
			if c.tamper != nil {
				b := db.engine.NewBatch()
				if err := errors.Join(c.tamper(b), b.Commit(pebble.Sync)); err != nil {
					t.Fatal(err)
				}
			}
			closeDB(t, db)
			if _, err := check(fs, "data"); (err == nil) != (c.tamper == nil) || err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			if !c.opens {
				if _, err := Open("data", Options{FS: fs}); !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestLagDoesNotAllocate for a key that lags already.
func TestLagDoesNotAllocate(t *testing.T) {
	db := open(t, vfs.NewMem(), Options{Sync: SyncOff})
	commit(t, db, create(db, 1, "c"))
	for i := range 8 {
		commit(t, db, put(1, fmt.Sprint("key", i), "value", db.Revision()+1))
	}
	entries := make([]Entry, 8)
	for i := range entries {
		entries[i] = again(fmt.Sprint("key", i), "value", uint64(2+i), 0)
	}
	if n := testing.AllocsPerRun(1000, func() {
		for i := range entries {
			entries[i].Revision = db.Revision() + 1 + uint64(i)
		}
		if err := db.Commit(entries); err != nil {
			t.Fatal(err)
		}
	}); n >= 1 {
		t.Fatal(n, "allocations a commit")
	}
	closeDB(t, db)
}
