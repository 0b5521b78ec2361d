package disk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

func isLog(op errorfs.Op) bool { return strings.HasSuffix(op.Path, ".log") }

func isSync(op errorfs.Op) bool {
	return op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
}

// TestReadersSeeWhatIsAcknowledged: while a commit waits for the disk, no reader sees
// it; an iterator that began before keeps its state after.
func TestReadersSeeWhatIsAcknowledged(t *testing.T) {
	var blocking atomic.Bool
	reached, goOn := make(chan struct{}), make(chan struct{})
	fs := inject(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if isLog(op) && isSync(op) && blocking.CompareAndSwap(true, false) {
			close(reached)
			<-goOn
		}
		return nil
	}))
	db := open(t, fs, Options{})
	m := newModel()
	first := []Entry{create(db, 1, "c"), put(1, "a", "1", 2), put(1, "b", "1", 3)}
	commit(t, db, first...)
	m.apply(first)
	second := []Entry{put(1, "a", "2", 4), {Collection: 1, Kind: Delete, Key: []byte("b"), Revision: 5}, put(1, "c", "2", 6)}
	blocking.Store(true)
	done := make(chan error)
	go func() { done <- db.Commit(second) }()
	<-reached
	m.verify(t, db, "while a commit waits")
	if metas, err := db.Collections(); err != nil || len(metas) != 1 {
		t.Fatal(metas, err)
	}
	if _, err := db.Log(5); !errors.Is(err, ErrAhead) {
		t.Fatal(err)
	}
	it, err := db.Keys(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var old []string
	for it.Next() {
		old = append(old, string(it.Key()))
	}
	if err := errors.Join(it.Err(), it.Close()); err != nil || !slices.Equal(old, []string{"a", "b"}) {
		t.Fatal(old, err)
	}
	m.apply(second)
	m.verify(t, db, "after it")
	closeDB(t, db)
}

// TestLogTrims: about LogBytes are kept, the oldest go first, and a read of trimmed
// entries fails.
func TestLogTrims(t *testing.T) {
	for _, s := range []Sync{SyncAlways, SyncOff} {
		fs := vfs.NewMem()
		const limit = 1 << 16
		o := Options{LogBytes: limit, Sync: s}
		db := open(t, fs, o)
		commit(t, db, create(db, 1, "c"))
		value := strings.Repeat("v", 100)
		size := (&Entry{Key: []byte("k000"), Value: []byte(value)}).logBytes()
		check1 := func(what string) {
			t.Helper()
			first, err := db.First()
			if err != nil {
				t.Fatal(err)
			}
			kept := int64(db.Revision()-first+1) * size
			if kept > limit+limit/segments+size || kept < limit-limit/segments-size {
				t.Fatalf("%s: %d bytes from %d to %d are kept, the limit is %d", what, kept, first, db.Revision(), limit)
			}
			if _, err := db.Log(first - 1); !errors.Is(err, ErrTrimmed) {
				t.Fatal(err)
			}
			if l := log(t, db, first); len(l) != int(db.Revision()-first+1) || l[0].Revision != first {
				t.Fatal(len(l))
			}
		}
		for range 2000 {
			commit(t, db, put(1, fmt.Sprintf("k%03d", db.Revision()%500), value, db.Revision()+1))
		}
		check1("at first")
		if len(state(t, db, 1)) != 500 {
			t.Fatal("state was trimmed")
		}
		first, err := db.First()
		if err != nil {
			t.Fatal(err)
		}
		closeDB(t, db)
		if r, err := check(fs, "data"); err != nil || r.First != first || r.Last != 2001 || r.Keys != 500 || r.Bytes != 50000 {
			t.Fatal(r, err)
		}
		db = open(t, fs, o)
		for range 4000 {
			commit(t, db, put(1, fmt.Sprintf("k%03d", db.Revision()%500), value, db.Revision()+1))
		}
		check1("after opening again")
		closeDB(t, db)
	}
}

// TestTrimmedIsDurable, or entries that a crash loses could not be written again.
func TestTrimmedIsDurable(t *testing.T) {
	fs := vfs.NewCrashableMem()
	db := open(t, fs, Options{Sync: SyncOff, LogBytes: 2000})
	commit(t, db, create(db, 1, "c"))
	trimmed := false
	for range 200 {
		commit(t, db, put(1, "k", "v", db.Revision()+1))
		first, err := db.First()
		if err != nil {
			t.Fatal(err)
		}
		crashed := open(t, fs.CrashClone(vfs.CrashCloneCfg{}), Options{})
		if last := crashed.Revision(); first > last+1 {
			t.Fatalf("the log begins at %d, after a crash it ends at %d", first, last)
		}
		trimmed = trimmed || first > 1
		closeDB(t, crashed)
	}
	if !trimmed {
		t.Fatal("nothing was trimmed")
	}
	closeDB(t, db)
}

func TestLogEnds(t *testing.T) {
	db := open(t, vfs.NewMem(), Options{})
	if first, err := db.First(); err != nil || first != 1 {
		t.Fatal(first, err)
	}
	if l := log(t, db, 0); len(l) != 0 {
		t.Fatal(l)
	}
	commit(t, db, create(db, 1, "c"))
	if l := log(t, db, 2); len(l) != 0 {
		t.Fatal(l)
	}
	for _, from := range []uint64{3, math.MaxUint64} {
		if _, err := db.Log(from); !errors.Is(err, ErrAhead) {
			t.Fatal(err)
		}
	}
	closeDB(t, db)
}

// TestLoadInParts: a collection of several tables, between others, by several
// workers.
func TestLoadInParts(t *testing.T) {
	db := open(t, vfs.NewMem(), Options{Sync: SyncOff})
	for c := range uint32(3) {
		commit(t, db, create(db, c, "c"))
	}
	want := map[string]row{}
	for i := range 6 { // Fewer tables than Pebble compacts.
		for c := range uint32(3) {
			if i >= 3 && c != 1 {
				continue // So that some tables begin within collection 1.
			}
			n := put(c, fmt.Sprint("k", i), fmt.Sprint(c), db.Revision()+1)
			commit(t, db, n)
			if c == 1 {
				want[string(n.Key)] = row{"1", n.Revision, n.Expiry, n.Flags}
			}
		}
		if err := db.engine.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	parts, err := divide(db.engine.DB, collectionKey(statePrefix, 1), collectionEnd(statePrefix, 1))
	if err != nil || len(parts) < 2 {
		t.Fatal(parts, err)
	}
	if got := state(t, db, 1); !maps.Equal(got, want) {
		t.Fatal(got)
	}
	closeDB(t, db)
}

func TestLoadEnds(t *testing.T) {
	db := open(t, vfs.NewMem(), Options{Sync: SyncOff})
	commit(t, db, create(db, 1, "c"))
	for range 5000 {
		commit(t, db, put(1, fmt.Sprint(db.Revision()), "v", db.Revision()+1))
	}
	stop := errors.New("stop")
	nothing := func(int, []byte, []byte, uint64, int64, uint16) error { return nil }
	err := db.Load(t.Context(), 1, 2, func(int, []byte, []byte, uint64, int64, uint16) error { return stop })
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Load(ctx, 1, 2, nothing); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := db.Load(t.Context(), 1, 0, nothing); !errors.Is(err, ErrOptions) {
		t.Fatal(err)
	}
	if err := db.Load(t.Context(), 9, 2, func(int, []byte, []byte, uint64, int64, uint16) error { return stop }); err != nil {
		t.Fatal(err)
	}
	closeDB(t, db)
	if err := db.Load(t.Context(), 1, 2, nothing); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

// TestIDsOnly: keys in order, without a directory; no values, no log, no backup.
func TestIDsOnly(t *testing.T) {
	db, err := Open("", Options{IDsOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	commit(t, db, create(db, 1, "c"), put(1, "b", "1", 2), put(1, "a", "1", 3))
	commit(t, db, Entry{Collection: 1, Kind: Delete, Key: []byte("b"), Revision: 4}, put(1, "c", "1", 5))
	if got := keys(t, db, 1, ""); !slices.Equal(got, []string{"a", "c"}) || db.Revision() != 5 {
		t.Fatal(got)
	}
	if _, err := db.Log(1); !errors.Is(err, ErrNoLog) {
		t.Fatal(err)
	}
	if err := db.Load(t.Context(), 1, 1, nil); !errors.Is(err, ErrNoLog) {
		t.Fatal(err)
	}
	if _, err := db.Checkpoint("x"); !errors.Is(err, ErrNoLog) {
		t.Fatal(err)
	}
	closeDB(t, db)
}

// TestIteratorsOutliveClose: and the directory stays locked as long.
func TestIteratorsOutliveClose(t *testing.T) {
	fs := vfs.NewMem()
	db := open(t, fs, Options{})
	commit(t, db, create(db, 1, "c"), put(1, "a", "1", 2))
	it, err := db.Keys(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	closeDB(t, db)
	if _, err := Open("data", Options{FS: fs}); !errors.Is(err, ErrLocked) {
		t.Fatal(err)
	}
	if !it.Next() || string(it.Key()) != "a" || it.Next() {
		t.Fatal("another key")
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	closeDB(t, open(t, fs, Options{}))
	if err := db.Commit([]Entry{put(1, "a", "1", 3)}); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	if err := db.Close(); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

// TestIntervalSyncs: at each tick, and not before; its failure refuses writes.
func TestIntervalSyncs(t *testing.T) {
	tick := make(chan time.Time)
	var failing atomic.Bool
	mem := vfs.NewCrashableMem()
	fs := inject(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && failing.Load() {
			return errorfs.ErrInjected
		}
		return nil
	}))
	db := open(t, fs, Options{Sync: SyncInterval(time.Hour), After: func(d time.Duration) <-chan time.Time {
		if d != time.Hour {
			return soon(d)
		}
		return tick
	}})
	crashed := func() uint64 {
		again := open(t, mem.CrashClone(vfs.CrashCloneCfg{}), Options{})
		defer closeDB(t, again)
		return again.Revision()
	}
	commit(t, db, create(db, 1, "c"), put(1, "a", "1", 2))
	if got := crashed(); got != 0 {
		t.Fatal("durable before the tick", got)
	}
	tick <- time.Time{}
	tick <- time.Time{} // The first one's sync has ended.
	if got := crashed(); got != 2 {
		t.Fatal("not durable after the tick", got)
	}
	commit(t, db, put(1, "a", "2", 3))
	failing.Store(true)
	tick <- time.Time{}
	tick <- time.Time{}
	err := db.Commit([]Entry{put(1, "a", "3", 4)})
	if !errors.Is(err, ErrReadOnly) || !errors.Is(err, errorfs.ErrInjected) {
		t.Fatal(err)
	}
	if got := state(t, db, 1)["a"].value; got != "2" {
		t.Fatal(got)
	}
	failing.Store(false)
	waitHealthy(db)
	if got := crashed(); got != 3 {
		t.Fatal("not written again", got)
	}
	commit(t, db, put(1, "a", "3", 4))
	closeDB(t, db)
}
