package store

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

// keptRecords are what a collection must hold, by key.
type keptRecords map[string]keptRecord

type keptRecord struct {
	value    string
	flags    uint16
	expiry   time.Duration
	revision uint64
}

func records(t testing.TB, st *Store, o RecordsOptions) *Records {
	t.Helper()
	e, err := st.Create("records", Spec{Kind: KindRecords, Keep: true, Records: o})
	if err != nil {
		t.Fatal(err)
	}
	return e.Kept
}

// recordsIn are all records of a collection, by a scan of each shard.
func recordsIn(t testing.TB, c *Records) keptRecords {
	t.Helper()
	all := keptRecords{}
	for i, m := range c.Maps() {
		var b kv.ScanBuffer
		var err error
		for next := (cuckoo.Cursor{}); !next.Done; {
			next, err = m.Scan(next, &b, func(_ record.Ref, v record.View) {
				if c.shardOf(v.Key) != i {
					t.Errorf("%q is in shard %d, want %d", v.Key, i, c.shardOf(v.Key))
				}
				all[string(v.Key)] = keptRecord{string(v.Value), v.Flags, time.Duration(v.Expiry), v.Revision}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

func (want keptRecords) verify(t testing.TB, c *Records, what string) {
	t.Helper()
	if got := recordsIn(t, c); !maps.Equal(got, want) {
		t.Fatalf("%s: %d records, want %d:\n%.2000v\n%.2000v", what, len(got), len(want), got, want)
	}
	for key, r := range want {
		v, err := c.Get([]byte(key), &kv.Buffer{})
		if err != nil || string(v.Value) != r.value || v.Revision != r.revision {
			t.Fatalf("%s: get %q: revision %d, %v, want %d", what, key, v.Revision, err, r.revision)
		}
	}
}

// recordStep makes a write, whose condition may not hold, and notes it if it was
// acknowledged.
func recordStep(t *testing.T, c *Records, m keptRecords, r *rand.Rand) error {
	t.Helper()
	key := fmt.Sprint("key ", r.IntN(20))
	old, had := m[key]
	var cond kv.Condition
	want := error(nil)
	switch r.IntN(4) {
	case 0:
		cond.IfAbsent = true
		if had {
			want = kv.ErrExists
		}
	case 1:
		if cond.IfRevision = old.revision + uint64(r.IntN(2)); cond.IfRevision != 0 && (!had || cond.IfRevision != old.revision) {
			want = kv.ErrConflict
		}
	}
	if r.IntN(3) == 0 {
		if want == nil && !had {
			want = kv.ErrNotFound
		}
		err := c.Delete([]byte(key), cond)
		if err == nil {
			delete(m, key)
		}
		return unlessWanted(t, "delete "+key, err, want)
	}
	e := keptRecord{strings.Repeat("v", r.IntN(3000)) + fmt.Sprint(r.IntN(1000)), uint16(r.IntN(1 << 16)), 0, 0}
	if r.IntN(3) == 0 {
		e.expiry = time.Duration(1<<62 + r.IntN(1000))
	}
	revision, err := c.Put(kv.Entry{Key: []byte(key), Value: []byte(e.value), Flags: e.flags, Expiry: e.expiry}, cond)
	if err == nil {
		e.revision = revision
		m[key] = e
	}
	return unlessWanted(t, "put "+key, err, want)
}

// unlessWanted returns an error that is no refusal.
func unlessWanted(t *testing.T, what string, err, want error) error {
	t.Helper()
	switch refused := errors.Is(err, kv.ErrExists) || errors.Is(err, kv.ErrConflict) || errors.Is(err, kv.ErrNotFound); {
	case err != nil && !refused:
		return err
	case !errors.Is(err, want) || want == nil && err != nil:
		t.Errorf("%s: %v, want %v", what, err, want)
	}
	return nil
}

// TestRecords: random writes, with shards, flags and expiries, survive each restart.
func TestRecords(t *testing.T) {
	for _, s := range []disk.Sync{disk.SyncAlways, disk.SyncOff} {
		for _, shards := range []int{0, 3} {
			t.Run(fmt.Sprint("sync=", s, "/shards=", shards), func(t *testing.T) {
				o := Options{Dir: t.TempDir(), Sync: s, SlabBytes: 64 << 20}
				m, r := keptRecords{}, rand.New(rand.NewPCG(18, 4))
				for life := range 4 {
					st, err := Open(t.Context(), o)
					if err != nil {
						t.Fatal(err)
					}
					c := records(t, st, RecordsOptions{Shards: shards, Items: 4})
					if len(c.Maps()) != max(shards, 1) || c.o.Items != 4 {
						t.Fatalf("%d shards, %+v", len(c.Maps()), c.o)
					}
					m.verify(t, c, fmt.Sprint("life ", life))
					for range 200 {
						if err := recordStep(t, c, m, r); err != nil {
							t.Fatal(err)
						}
					}
					m.verify(t, c, fmt.Sprint("end of life ", life))
					if err := st.Close(); err != nil {
						t.Fatal(err)
					}
					if err := c.Delete([]byte("key 1"), kv.Condition{}); !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
				}
				rep, err := disk.Check(o.Dir)
				if err != nil || rep.Format != recordsFormat {
					t.Errorf("format %d, %v, want %d", rep.Format, err, recordsFormat)
				}
				if n := CountKept(rep); n != (Counts{Records: uint64(len(m))}) {
					t.Errorf("%+v, want %d records", n, len(m))
				}
			})
		}
	}
}

// TestRecordsTogether: several goroutines write, also the same keys, beside features and a
// watcher of these. Of the puts of a key that must be absent one succeeds.
func TestRecordsTogether(t *testing.T) {
	var says bytes.Buffer
	st := open(t, Options{
		Dir: t.TempDir(), SlabBytes: 64 << 20,
		Logger: slog.New(slog.NewTextHandler(&says, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	c, f := records(t, st, RecordsOptions{Shards: 2}), create(t, st, CollectionOptions{})
	w, err := f.Watch(t.Context(), WatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Add("all", Query{Area: query.Box(-180, -90, 180, 90)}); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	want := keptRecords{}
	var all sync.WaitGroup
	var won atomic.Int64
	const keys, writers = 30, 6
	for i := range writers {
		all.Go(func() {
			own := keptRecords{}
			for n := range keys {
				e := kv.Entry{Key: fmt.Append(nil, n), Value: fmt.Append(nil, "of ", i)}
				revision, err := c.Put(e, kv.Condition{IfAbsent: true})
				switch {
				case err == nil:
					won.Add(1)
					mu.Lock()
					want[string(e.Key)] = keptRecord{value: string(e.Value), revision: revision}
					mu.Unlock()
				case !errors.Is(err, kv.ErrExists):
					t.Error(err)
				}
				e.Key = fmt.Append(nil, i, " alone")
				r := keptRecord{value: fmt.Sprint(n)}
				e.Value = []byte(r.value)
				if r.revision, err = c.Put(e, kv.Condition{IfRevision: own[string(e.Key)].revision}); err != nil {
					t.Error(err)
				}
				own[string(e.Key)] = r
			}
			mu.Lock()
			maps.Copy(want, own)
			mu.Unlock()
		})
	}
	all.Go(func() {
		for i := range 20 {
			put(t, f, Feature{ID: fmt.Sprint("place ", i), Geometry: orb.Point{1, 2}})
		}
	})
	all.Wait()
	if won.Load() != keys {
		t.Errorf("%d puts of absent keys succeeded, want %d", won.Load(), keys)
	}
	want.verify(t, c, "written")
	for i := range 20 {
		e, err := w.Next(t.Context())
		if err != nil || e.ID != fmt.Sprint("place ", i) {
			t.Fatalf("event %d: %+v, %v", i, e, err)
		}
	}
	// A watcher that reads the log skips records, too.
	behind, err := f.Watch(t.Context(), WatchOptions{From: f.created})
	if err != nil {
		t.Fatal(err)
	}
	defer behind.Close()
	if err := behind.Add("all", Query{Area: query.Box(-180, -90, 180, 90)}); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < 20; {
		e, err := behind.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == query.Progress {
			continue
		}
		if e.ID != fmt.Sprint("place ", i) {
			t.Fatalf("event %d: %+v", i, e)
		}
		i++
	}
	if says.Len() > 0 {
		t.Error(says.String())
	}
}

// refusing is a group whose primary is another member.
type refusing struct{ recorder }

func (*refusing) Propose([]disk.Entry) error { return fault.ErrNotPrimary }

// TestRecordsExpire: a record that has expired is not found, and may be put as an absent
// one. The commit leader deletes it, which is in the log; that of a secondary does not.
func TestRecordsExpire(t *testing.T) {
	var now atomic.Int64
	now.Store(int64(time.Hour))
	o := Options{
		Dir: t.TempDir(), Replicated: true, SlabBytes: 64 << 20, StoreID: [16]byte{1},
		Now: func() time.Duration { return time.Duration(now.Load()) },
	}
	st, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	log := leading()
	st.Replicate(log)
	c := records(t, st, RecordsOptions{Shards: 2})
	put := func(key string, expiry time.Duration, cond kv.Condition) keptRecord {
		t.Helper()
		revision, err := c.Put(kv.Entry{Key: []byte(key), Value: []byte(key), Expiry: expiry}, cond)
		if err != nil {
			t.Fatal(err)
		}
		return keptRecord{key, 0, expiry, revision}
	}
	const at = time.Hour + time.Minute
	for i := range 20 {
		put(fmt.Sprint("mortal ", i), at, kv.Condition{})
	}
	want := keptRecords{"for good": put("for good", 0, kv.Condition{}), "later": put("later", 2*time.Hour, kv.Condition{})}
	now.Store(int64(at))
	want.verify(t, c, "expired")
	if err := c.Delete([]byte("mortal 3"), kv.Condition{}); !errors.Is(err, kv.ErrNotFound) {
		t.Error(err)
	}
	want["mortal 4"] = put("mortal 4", 0, kv.Condition{IfAbsent: true})
	st.Replicate(&refusing{})
	tidy := func() {
		for turn := range 100 {
			st.Tidy(turn)
		}
		if err := st.runAlone(func() error { return nil }); err != nil { // after the deletes
			t.Fatal(err)
		}
	}
	tidy()
	if n := c.Len(); n != 22 {
		t.Errorf("a secondary has deleted: %d records, want 22", n)
	}
	st.Replicate(log)
	log.all = nil
	tidy()
	if n := c.Len(); n != len(want) {
		t.Errorf("%d records, want %d", n, len(want))
	}
	if len(log.all) != 19 || slices.ContainsFunc(log.all, func(e disk.Entry) bool {
		return e.Kind != disk.Delete || e.Flags&(expiredFlag|recordFlag) != expiredFlag|recordFlag
	}) {
		t.Errorf("%d entries: %+v", len(log.all), log.all)
	}
	want.verify(t, c, "deleted")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err = Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	want.verify(t, records(t, st, RecordsOptions{}), "opened again")
}

// TestRecordsLimits: what no log entry can be is refused alone, and the other writes of its
// batch are carried out.
func TestRecordsLimits(t *testing.T) {
	st := open(t, Options{Dir: t.TempDir(), SlabBytes: 1 << 30})
	c := records(t, st, RecordsOptions{})
	for _, key := range [][]byte{nil, make([]byte, record.MaxKeyBytes+1)} {
		if _, err := c.Put(kv.Entry{Key: key}, kv.Condition{}); !errors.Is(err, record.ErrTooLarge) {
			t.Errorf("a key of %d bytes: %v", len(key), err)
		}
		if err := c.Delete(key, kv.Condition{}); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("a key of %d bytes: %v", len(key), err)
		}
	}
	var turn Writes
	var results []error
	put := func(key string, value []byte) {
		turn.PutRecord(Name{}, c, key, value, 0, kv.Condition{}, func(_ uint64, err error) { results = append(results, err) })
	}
	huge := make([]byte, disk.MaxValueBytes+1) // with flags
	put("a", AppendRecordValue(nil, []byte("1"), 0))
	put("b", huge)
	put("c", []byte{1}) // has no flags
	put("d", huge[:flagsBytes])
	if n := turn.all[1].weight(); n <= maxBatch {
		t.Errorf("%d bytes weigh %d, and a batch takes %d", len(huge), n, maxBatch)
	}
	turn.Submit()
	if err := st.runAlone(func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	want := []error{nil, record.ErrTooLarge, ErrCorrupt, nil}
	for i, err := range results {
		if !errors.Is(err, want[i]) {
			t.Errorf("write %d: %v, want %v", i, err, want[i])
		}
	}
	if len(results) != 4 || !strings.Contains(results[1].Error(), fmt.Sprint(MaxRecordBytes)) {
		t.Error(results)
	}
	_, err := c.Get([]byte("a"), new(kv.Buffer))
	v, err2 := c.Get([]byte("d"), new(kv.Buffer))
	if err != nil || err2 != nil || len(v.Value) != 0 {
		t.Error(err, err2, v)
	}
}

// TestRecordsOfTwoKinds: a directory with kept records wants them kept, and a collection in
// memory alone cannot be kept. The members of a group keep all records.
func TestRecordsOfTwoKinds(t *testing.T) {
	o := Options{Dir: filepath.Join(t.TempDir(), "data"), SlabBytes: 64 << 20}
	st := open(t, o)
	records(t, st, RecordsOptions{})
	if e, err := st.Create("memory", Spec{Kind: KindRecords}); err != nil || e.Kept != nil {
		t.Fatal(e, err)
	}
	if _, err := st.Create("memory", Spec{Kind: KindRecords, Keep: true}); !errors.Is(err, ErrCollectionExists) {
		t.Error(err)
	}
	if _, err := st.Create("records", Spec{Kind: KindRecords, Keep: true, Records: RecordsOptions{Shards: 2}}); !errors.Is(err, ErrCollectionExists) {
		t.Error(err)
	}
	if ok, err := st.Drop("memory"); !ok || err != nil {
		t.Error(ok, err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	o.Collections = []Named{{"records", Spec{Kind: KindRecords}}}
	if st, err := Open(t.Context(), o); !errors.Is(err, ErrCollectionExists) {
		t.Error(st, err)
	}
	if _, err := open(t, Options{SlabBytes: 64 << 20}).Create("r", Spec{Kind: KindRecords, Keep: true}); !errors.Is(err, fault.ErrNotPermitted) {
		t.Error(err)
	}
	of := Options{
		Dir: t.TempDir(), Replicated: true, SlabBytes: 16 << 20, StoreID: [16]byte{1},
		Collections: []Named{{"named", Spec{Kind: KindRecords}}},
	}
	group := open(t, of)
	group.Replicate(leading())
	if err := group.CreateNamed(); err != nil {
		t.Fatal(err)
	}
	if e, err := group.Create("r", Spec{Kind: KindRecords}); err != nil || e.Kept == nil {
		t.Error(e, err)
	}
	if e, err := group.Lookup("named"); err != nil || e.Kept == nil {
		t.Error(e, err)
	}
}

// TestRecordsDropped: a drop ends writes, and the next start has the others.
func TestRecordsDropped(t *testing.T) {
	o := Options{Dir: t.TempDir(), SlabBytes: 64 << 20}
	st := open(t, o)
	c := records(t, st, RecordsOptions{Shards: 2})
	if _, err := c.Put(kv.Entry{Key: []byte("k")}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	if ok, err := st.Drop("records"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, err := c.Put(kv.Entry{Key: []byte("k")}, kv.Condition{}); !errors.Is(err, ErrUnknownCollection) {
		t.Error(err)
	}
	if c = records(t, st, RecordsOptions{}); c.Len() != 0 {
		t.Error(c.Len())
	}
	m := keptRecords{"k": {value: "2"}}
	revision, err := c.Put(kv.Entry{Key: []byte("k"), Value: []byte("2")}, kv.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	m["k"] = keptRecord{value: "2", revision: revision}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	m.verify(t, records(t, open(t, o), RecordsOptions{}), "opened again")
}

// TestRecordsBackup: a checkpoint has them.
func TestRecordsBackup(t *testing.T) {
	dir := t.TempDir()
	st := open(t, Options{Dir: filepath.Join(dir, "data"), SlabBytes: 64 << 20})
	c, m := records(t, st, RecordsOptions{Shards: 2}), keptRecords{}
	for r := rand.New(rand.NewPCG(1, 2)); len(m) < 10; {
		if err := recordStep(t, c, m, r); err != nil {
			t.Fatal(err)
		}
	}
	rep, err := st.Checkpoint(filepath.Join(dir, "backup"))
	if n := CountKept(rep); err != nil || n.Records != 10 || n.Features != 0 {
		t.Fatal(n, err)
	}
	if _, err := disk.Restore(filepath.Join(dir, "backup"), filepath.Join(dir, "restored")); err != nil {
		t.Fatal(err)
	}
	m.verify(t, records(t, open(t, Options{Dir: filepath.Join(dir, "restored"), SlabBytes: 64 << 20}), RecordsOptions{}), "restored")
}
