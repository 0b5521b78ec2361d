package store

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// TestRecordsEachWriteFails: whichever write to the disk fails, once or for a while, each
// write of a record has a definite answer, and memory and disk agree, also after a crash.
func TestRecordsEachWriteFails(t *testing.T) {
	for _, once := range []bool{true, false} {
		for _, s := range []disk.Sync{disk.SyncAlways, disk.SyncOff} {
			t.Run(fmt.Sprint("once=", once, "/sync=", s), func(t *testing.T) {
				t.Parallel()
				hits, step := 0, int64(3)
				if s != disk.SyncAlways {
					step = 1 // It writes less often.
				}
				for i := int64(1); recordFault(t, once, s, i); i += step {
					hits++
				}
				t.Log(hits, "writes failed")
				if hits < 3 {
					t.Error("too few writes")
				}
			})
		}
	}
}

// recordFault makes write i of the disk fail, counted from before the collection is made,
// and reports whether there were that many writes.
func recordFault(t *testing.T, once bool, s disk.Sync, i int64) (hit bool) {
	d := &badDisk{MemFS: vfs.NewCrashableMem(), once: once}
	st, err := Open(t.Context(), d.options(s))
	if err != nil {
		t.Fatal(err)
	}
	d.breakAt(i)
	recover := func() {
		if d.since.Load() > 0 {
			d.repair()
			waitHealthy(st)
		}
	}
	var c *Records
	for c == nil {
		err := d.until(t, once, func() error {
			e, err := st.Create("records", Spec{Kind: KindRecords, Keep: true, Records: RecordsOptions{Shards: 2}})
			if err == nil {
				c = e.Kept
			}
			return err
		})
		if err != nil {
			recover()
		}
	}
	m, r := keptRecords{}, rand.New(rand.NewPCG(1, 2))
	for n := range 30 {
		what := fmt.Sprintf("fault at %d, write %d", i, n)
		_ = d.until(t, once, func() error { return recordStep(t, c, m, r) })
		m.verify(t, c, what)
		recover()
		if st.revision != st.db.Revision() {
			t.Fatalf("%s: revision %d in memory, %d in the log", what, st.revision, st.db.Revision())
		}
	}
	hit = d.since.Load() > 0
	if s == disk.SyncAlways {
		m.reopened(t, d.CrashClone(vfs.CrashCloneCfg{}), fmt.Sprintf("fault at %d, after a crash", i))
	}
	if err := st.Close(); err != nil {
		if s == disk.SyncAlways || !errors.Is(err, disk.ErrReadOnly) {
			t.Fatal(err)
		}
		return hit // Close has reported a loss.
	}
	m.reopened(t, d.MemFS, fmt.Sprintf("fault at %d, opened again", i))
	return hit
}

// reopened compares what another store finds on a disk.
func (want keptRecords) reopened(t *testing.T, fs *vfs.MemFS, what string) {
	t.Helper()
	st, err := Open(t.Context(), (&badDisk{MemFS: fs}).options(disk.SyncAlways))
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	e, err := st.Lookup("records")
	if err != nil || len(e.Parts()) != 2 {
		t.Fatalf("%s: %v, %v", what, e, err)
	}
	want.verify(t, e.Kept, what)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRecordsCrash: after a crash that loses any part of what was not synced, there are the
// records of a prefix of the writes, and with SyncAlways of all that were acknowledged.
func TestRecordsCrash(t *testing.T) {
	for _, s := range []disk.Sync{disk.SyncAlways, disk.SyncOff} {
		t.Run(fmt.Sprint("sync=", s), func(t *testing.T) {
			seed := rand.New(rand.NewPCG(7, 7))
			for round := range 20 {
				d := &badDisk{MemFS: vfs.NewCrashableMem()}
				st, err := Open(t.Context(), d.options(s))
				if err != nil {
					t.Fatal(err)
				}
				c := records(t, st, RecordsOptions{})
				m, states := keptRecords{}, []keptRecords{{}}
				for range 1 + seed.IntN(40) {
					if err := recordStep(t, c, m, seed); err != nil {
						t.Fatal(err)
					}
					states = append(states, maps.Clone(m))
				}
				crashed := d.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: seed.IntN(101), RNG: seed})
				if err := st.Close(); err != nil {
					t.Fatal(err)
				}
				if st, err = Open(t.Context(), (&badDisk{MemFS: crashed}).options(s)); err != nil {
					t.Fatal(err)
				}
				got, prefix := recordsIn(t, records(t, st, RecordsOptions{})), len(states)-1
				for prefix >= 0 && !maps.Equal(got, states[prefix]) {
					prefix--
				}
				if prefix < 0 || s == disk.SyncAlways && !maps.Equal(got, m) {
					t.Fatalf("round %d: what is left is state %d of %d:\n%.1000v\n%.1000v", round, prefix, len(states)-1, got, m)
				}
				if err := st.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestRecordsUndo: a put that is in the log and cannot be published is taken back there.
func TestRecordsUndo(t *testing.T) {
	d := &badDisk{MemFS: vfs.NewMem()}
	st, err := Open(t.Context(), d.options(disk.SyncAlways))
	if err != nil {
		t.Fatal(err)
	}
	c := records(t, st, RecordsOptions{Shards: 2})
	m := keptRecords{}
	put := func(key, value string, flags uint16) {
		t.Helper()
		revision, err := c.Put(kv.Entry{Key: []byte(key), Value: []byte(value), Flags: flags}, kv.Condition{})
		if err != nil {
			t.Fatal(err)
		}
		m[key] = keptRecord{value: value, flags: flags, revision: revision}
	}
	put("a", "1", 7)
	put("b", "1", 0)
	for _, key := range []string{"a", "new"} {
		if err := st.runAlone(func() error {
			w := c.write(disk.Put, key, kv.Condition{})
			w.key, w.value = []byte(key), AppendRecordValue(nil, []byte("2"), 8)
			st.numbered = st.revision
			if err := st.prepare(w, false); err != nil {
				return err
			}
			if err := st.commit([]disk.Entry{w.entry()}); err != nil {
				return err
			}
			if err := w.discard(); err != nil { // as if the index had no room for it
				return err
			}
			w.err = cuckoo.ErrFull
			return nilIf(st.undo(w), cuckoo.ErrFull)
		}); err != nil {
			t.Fatal(err)
		}
	}
	m.verify(t, c, "undone")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	// The log has the state of before under a new revision.
	was := m["a"]
	was.revision = st.revision - 2
	m["a"] = was
	m.reopened(t, d.MemFS, "opened again")
}
