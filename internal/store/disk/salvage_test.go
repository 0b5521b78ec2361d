package disk

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestAcceptLossOfGap: a batch is missing in the middle of the log. Lagging entries
// before the gap are in the state afterwards; the rest of a collection whose creation
// is missing is dropped.
func TestAcceptLossOfGap(t *testing.T) {
	fs := vfs.NewMem()
	db := open(t, fs, Options{})
	commit(t, db, create(db, 1, "c"), put(1, "a", "old", 2), put(1, "b", "kept", 3))
	again := put(1, "a", "new", 4)
	again.OldRevision = 2
	commit(t, db, again)
	commit(t, db, create(db, 2, "lost"), put(1, "x", "lost", 6))
	commit(t, db, put(2, "y", "orphan", 7), put(1, "z", "after", 8))
	// As if an edit of the MANIFEST were missing.
	b := db.engine.NewBatch()
	err := errors.Join(b.DeleteRange(logKey(5), logKey(7), nil), b.Delete(collectionKey(metaPrefix, 2), nil),
		b.Delete(stateKey(1, []byte("x")), nil), b.Commit(pebble.Sync))
	if err != nil {
		t.Fatal(err)
	}
	closeDB(t, db)
	if _, err := Open("data", Options{FS: fs}); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "2 writes, of revisions 5 to 6") {
		t.Fatal(err)
	}
	store := db.Store()
	db = open(t, fs, Options{AcceptLoss: true})
	if db.Store() == store {
		t.Error("it counts as the same store")
	}
	want := map[string]string{"a": "new", "b": "kept", "z": "after"}
	got := map[string]string{}
	for k, r := range state(t, db, 1) {
		got[k] = r.value
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	if metas, err := db.Collections(); err != nil || len(metas) != 1 || len(state(t, db, 2)) != 0 {
		t.Error(metas, err, state(t, db, 2))
	}
	closeDB(t, db)
	if _, err := check(fs, "data"); err != nil {
		t.Error(err)
	}
}

// TestAcceptLossOfOlderLog: damage in a file of the WAL that is not the last one, which
// Pebble refuses to replay. Entries before it are served, and none after.
func TestAcceptLossOfOlderLog(t *testing.T) {
	fs := vfs.FS(vfs.NewMem())
	db := open(t, fs, Options{})
	commit(t, db, create(db, 1, "c"))
	for i := range 60 {
		commit(t, db, put(1, fmt.Sprint("k", i), strings.Repeat("v", 32<<10), db.Revision()+1))
	}
	all := readFiles(t, fs, "data")
	closeDB(t, db)
	var logs []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.HasSuffix(name, ".log") {
			logs = append(logs, name)
		}
	}
	if len(logs) < 3 {
		t.Fatal("the WAL has too few files for this test:", logs)
	}
	damaged := logs[len(logs)-2]
	all[damaged][len(all[damaged])/2] ^= 1
	fs = all.write(t)
	if _, err := Open("data", Options{FS: fs}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "replaying wal") {
		t.Fatal(err)
	}
	db = open(t, fs, Options{AcceptLoss: true})
	last := db.Revision()
	if last < 2 || last >= 61 || len(state(t, db, 1)) != int(last)-1 {
		t.Errorf("revision %d with %d keys", last, len(state(t, db, 1)))
	}
	closeDB(t, db)
	aside := readFiles(t, fs, "data/damaged-1")
	if len(aside) != len(all) {
		t.Errorf("%d files are kept, not %d", len(aside), len(all))
	}
	for name, b := range aside {
		if name = strings.Replace(name, "damaged-1/", "", 1); string(all[name]) != string(b) {
			t.Errorf("%s was not kept as it was", name)
		}
	}
}

// TestFailedLoadRemovesNoFile: a table is damaged where a start does not look before it
// loads. No file of before is removed when loading fails.
func TestFailedLoadRemovesNoFile(t *testing.T) {
	fs := vfs.FS(vfs.NewMem())
	db := open(t, fs, Options{})
	commit(t, db, create(db, 1, "c"))
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 2000 { // So the states have blocks of their own.
		commit(t, db, put(1, fmt.Sprint("k", i), fmt.Sprint(rng.Uint64(), rng.Uint64(), rng.Uint64()), db.Revision()+1))
	}
	closeDB(t, db)
	closeDB(t, open(t, fs, Options{})) // It writes the WAL to a table.
	all := readFiles(t, fs, "data")
	tables := 0
	for name, b := range all {
		if isTable(name) && len(b) > 10_000 {
			b[len(b)/10] ^= 1 // States come before the log.
			tables++
		}
	}
	if tables != 1 {
		t.Fatal(tables, "tables")
	}
	fs = all.write(t)
	db, err := Open("data", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	if err := load(db); !errors.Is(err, ErrCorrupt) {
		t.Fatal(err)
	}
	waitHealthy(db) // It froze when it found the damage, and another engine serves.
	closeDB(t, db)
	if now := readFiles(t, fs, "data"); !all.within(now) {
		t.Errorf("%v are left of %v", slices.Sorted(maps.Keys(now)), slices.Sorted(maps.Keys(all)))
	}
}

// TestOpenWhileCompacting: the disk fails for a compaction that a start has begun, and for
// which Pebble waits before it is open.
func TestOpenWhileCompacting(t *testing.T) {
	mem := vfs.NewCrashableMem()
	m := newModel()
	for i := range 8 { // Each start writes a table; 8 begin a compaction.
		db := open(t, mem, Options{})
		entries := []Entry{put(1, "k", fmt.Sprint(i), db.Revision()+1)}
		if i == 0 {
			entries = []Entry{create(db, 1, "c")}
		}
		commit(t, db, entries...)
		m.apply(entries)
		// Not file by file: the database deletes old ones meanwhile.
		left := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))})
		closeDB(t, db)
		mem = left
	}
	var tables atomic.Int64
	var mended atomic.Bool
	fs := inject(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && isTable(op.Path) && tables.Add(1) > 1 && !mended.Load() {
			return errorfs.ErrInjected
		}
		return nil
	}))
	tick := make(chan time.Time)
	db := open(t, fs, Options{After: func(time.Duration) <-chan time.Time { return tick }})
	m.verify(t, db, "while nothing can be compacted")
	if tables.Load() < 2 {
		t.Error("no compaction was begun")
	}
	mended.Store(true)
	for db.Healthy() != nil {
		nudge(tick)
	}
	m.verify(t, db, "mended")
	closeDB(t, db)
}
