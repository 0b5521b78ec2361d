package disk

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// faults injects errors into writes, by their number: from first, until cleared or
// just once.
type faults struct {
	n, first atomic.Int64
	once     bool
	only     func(errorfs.Op) bool
	cleared  atomic.Bool
	hit      atomic.Bool
}

func (f *faults) String() string { return "faults" }

func (f *faults) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || f.only != nil && !f.only(op) {
		return nil
	}
	n := f.n.Add(1)
	if f.cleared.Load() || n < f.first.Load() || f.once && n != f.first.Load() {
		return nil
	}
	f.hit.Store(true)
	return errorfs.ErrInjected
}

// inject is errorfs.Wrap, but faults reach recycled files, too: they are created again.
func inject(fs vfs.FS, inj errorfs.Injector) vfs.FS { return injectFS{errorfs.Wrap(fs, inj)} }

type injectFS struct{ *errorfs.FS }

func (fs injectFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := fs.Remove(from); err != nil {
		return nil, err
	}
	return fs.Create(to, c)
}

// soon is a clock on which every wait ends at once.
func soon(time.Duration) <-chan time.Time {
	runtime.Gosched()
	c := make(chan time.Time, 1)
	c <- time.Time{}
	return c
}

// waitHealthy until the database has recovered.
func waitHealthy(db *DB) {
	for db.Healthy() != nil {
		runtime.Gosched()
	}
}

// A model is what a database must hold.
type model struct {
	rows map[string]row
	log  []Entry
	ends map[uint64]bool // last revisions of batches
}

func newModel() *model { return &model{rows: map[string]row{}, ends: map[uint64]bool{0: true}} }

func (m *model) apply(entries []Entry) {
	m.ends[uint64(len(m.log)+len(entries))] = true
	for _, n := range entries {
		m.log = append(m.log, n)
		switch n.Kind {
		case Put:
			m.rows[string(n.Key)] = row{string(n.Value), n.Revision, n.Expiry, n.Flags}
		case Delete:
			delete(m.rows, string(n.Key))
		}
	}
}

// prefix is the model of what is on disk.
func (m *model) prefix(t *testing.T, fs vfs.FS) *model {
	db := open(t, fs, Options{})
	defer closeDB(t, db)
	if !m.ends[db.Revision()] {
		t.Fatalf("revision %d: half a batch", db.Revision())
	}
	p := newModel()
	p.apply(m.log[:db.Revision()])
	return p
}

func (m *model) verify(t *testing.T, db *DB, what string) {
	t.Helper()
	if got, want := db.Revision(), uint64(len(m.log)); got != want {
		t.Fatalf("%s: revision %d, not %d", what, got, want)
	}
	if got := state(t, db, 1); !maps.Equal(got, m.rows) {
		t.Fatalf("%s: state %v, not %v", what, got, m.rows)
	}
	if got := keys(t, db, 1, ""); len(got) != len(m.rows) {
		t.Fatalf("%s: keys %v, not %v", what, got, m.rows)
	}
	l := log(t, db, 1)
	if len(l) != len(m.log) {
		t.Fatalf("%s: %d entries, not %d", what, len(l), len(m.log))
	}
	for i, n := range l {
		if want := m.log[i]; n.Revision != want.Revision || n.Kind != want.Kind || string(n.Value) != string(want.Value) {
			t.Fatalf("%s: entry %v, not %v", what, n, want)
		}
	}
}

// batch makes entries that overwrite and delete each other's keys.
func batch(rng *rand.Rand, db *DB, m *model) (entries []Entry) {
	if db.Revision() == 0 {
		return []Entry{create(db, 1, "c")}
	}
	last := map[string]uint64{}
	for i := range 1 + rng.IntN(4) {
		n := put(1, fmt.Sprint("k", rng.IntN(12)), fmt.Sprint("v", rng.Uint32()), db.Revision()+1+uint64(i))
		var ok bool
		if n.OldRevision, ok = last[string(n.Key)]; !ok {
			n.OldRevision = m.rows[string(n.Key)].revision
		}
		if last[string(n.Key)] = n.Revision; rng.IntN(4) == 0 {
			n = Entry{Collection: 1, Kind: Delete, Key: n.Key, Revision: n.Revision}
			last[string(n.Key)] = 0
		}
		entries = append(entries, n)
	}
	return entries
}

// script commits and flushes. m gets the contents that the database must have: after
// each failure it is known whether the batch is in.
func script(t *testing.T, db *DB, f *faults, m *model) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 24 {
		entries := batch(rng, db, m)
		verdict := make(chan error, 1)
		go func() { verdict <- db.Commit(entries) }()
		var err error
	wait:
		for {
			select {
			case err = <-verdict:
				break wait
			default:
				// A commit may wait for the end of a lasting fault.
				if f.hit.Load() && !f.once && f.n.Load() > f.first.Load()+40 {
					f.cleared.Store(true)
				}
				runtime.Gosched()
			}
		}
		switch {
		case err == nil:
			m.apply(entries)
		case !errors.Is(err, ErrReadOnly):
			t.Fatal(err)
		}
		m.verify(t, db, fmt.Sprint("after commit ", i))
		if f.hit.Load() {
			f.cleared.Store(true)
			waitHealthy(db)
			m.verify(t, db, fmt.Sprint("recovered after commit ", i))
		}
		if i%5 == 4 {
			db.mu.Lock()
			e := db.engine
			e.acquire()
			db.mu.Unlock()
			flushed, err := e.AsyncFlush()
			if err != nil {
				t.Fatal(err)
			}
			<-flushed
			e.release()
			// A fault in the background is seen before it matters.
			m.verify(t, db, fmt.Sprint("flushed after commit ", i))
		}
	}
}

func openFaulty(t *testing.T, fs vfs.FS, f *faults, s Sync) *DB {
	for {
		db, err := Open("data", Options{FS: inject(fs, f), Sync: s, After: soon, lagBytes: 400})
		if err == nil {
			return db
		}
		if !errors.Is(err, errorfs.ErrInjected) || !f.hit.Load() {
			t.Fatal(err)
		}
		f.cleared.Store(true)
	}
}

// TestEachWriteFails: whichever write to the disk fails, once or for a while, every
// commit has a definite answer, readers see just the acknowledged writes, and so
// does a process that opens the directory after a crash.
func TestEachWriteFails(t *testing.T) {
	for _, once := range []bool{true, false} {
		for _, s := range []Sync{SyncAlways, SyncOff, SyncInterval(time.Millisecond)} {
			t.Run(fmt.Sprint("once=", once, "/sync=", s), func(t *testing.T) {
				t.Parallel()
				hits, step := 0, int64(1)
				if !s.always() {
					step = 3 // The same writes, mostly.
				}
				for i := int64(1); ; i += step {
					fs := vfs.NewCrashableMem()
					f := &faults{once: once}
					f.first.Store(i)
					db := openFaulty(t, fs, f, s)
					m := newModel()
					script(t, db, f, m)
					hit := f.hit.Load()
					if s.always() {
						for _, percent := range []int{0, 50} {
							crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(uint64(i), 0))})
							verifyCrashed(t, crashed, m, fmt.Sprintf("write %d, crash with %d %%", i, percent))
						}
					}
					if err := db.Close(); err != nil {
						if s.always() || !errors.Is(err, ErrReadOnly) || !errors.Is(err, errorfs.ErrInjected) {
							t.Fatal(err)
						}
						// Close has reported a loss: a prefix is left.
						m = m.prefix(t, fs)
					}
					again := open(t, fs, Options{})
					m.verify(t, again, fmt.Sprint("opened again, write ", i))
					closeDB(t, again)
					if _, err := check(fs, "data"); err != nil {
						t.Fatal(i, err)
					}
					if !hit {
						break
					}
					hits++
				}
				t.Log(hits, "writes failed")
				if hits < 30 {
					t.Fatal("too few writes")
				}
			})
		}
	}
}

func verifyCrashed(t *testing.T, fs vfs.FS, m *model, what string) {
	t.Helper()
	db := open(t, fs, Options{})
	m.verify(t, db, what)
	closeDB(t, db)
	if _, err := check(fs, "data"); err != nil {
		t.Fatal(what, err)
	}
}
