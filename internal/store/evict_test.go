package store

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// cacheBytes is the limit of the tests' caches: some 100 records.
const cacheBytes = 96 << 10

// cacheTurn makes some writes together, in one batch of the log if they fit, and notes what
// was acknowledged last of each key. Random conditions judge the present record.
func cacheTurn(t *testing.T, c *Records, last map[string]string, r *rand.Rand) {
	t.Helper()
	var turn Writes
	for range 1 + r.IntN(40) {
		key := fmt.Sprint("key ", r.IntN(300))
		if r.IntN(8) == 0 {
			turn.DeleteRecord(Name{}, c, key, kv.Condition{}, func(_ uint64, err error) {
				if err != nil && !errors.Is(err, kv.ErrNotFound) {
					t.Errorf("delete %s: %v", key, err)
				}
				delete(last, key)
			})
			continue
		}
		value := fmt.Sprint(r.Uint64(), strings.Repeat("v", r.IntN(1500)))
		cond := kv.Condition{IfAbsent: r.IntN(3) == 0}
		turn.PutRecord(Name{}, c, key, AppendRecordValue(nil, []byte(value), 0), 0, cond, func(_ uint64, err error) {
			switch _, was := last[key]; {
			case err == nil:
				last[key] = value
			case !errors.Is(err, kv.ErrExists) || !cond.IfAbsent || !was:
				t.Errorf("put %s: %v", key, err)
			}
		})
	}
	turn.Submit()
}

// cached verifies that the records are of those that were acknowledged, each with its last
// value, within the limit, and that no more are missing than were evicted.
func cached(t *testing.T, c *Records, last map[string]string) {
	t.Helper()
	var s kv.Stats
	for i, m := range c.Maps() {
		if m.Bytes() > m.MaxBytes() {
			t.Fatalf("shard %d: %d bytes, limit %d", i, m.Bytes(), m.MaxBytes())
		}
		s.Add(m.Stats())
	}
	has, bytes := recordsIn(t, c), int64(0)
	for key, r := range has {
		bytes += kv.RecordBytes(len(key), len(r.value), false)
		if want, ok := last[key]; !ok || r.value != want {
			t.Fatalf("%s is %.30q, want %.30q", key, r.value, want)
		}
	}
	if missing := len(last) - len(has); bytes != int64(s.Cache.Bytes) || uint64(missing) > s.Cache.Evicted {
		t.Fatalf("%d bytes, noted %d; %d missing, %d evicted", bytes, s.Cache.Bytes, missing, s.Cache.Evicted)
	}
}

// A kept cache holds its limit through batches of writes, and the log has what was evicted:
// a restart finds the same.
func TestKeptCache(t *testing.T) {
	for _, shards := range []int{0, 3} {
		for _, sync := range []disk.Sync{disk.SyncOff, disk.SyncAlways} {
			turns := 40
			if sync == disk.SyncAlways {
				turns = 12
			}
			o := Options{Dir: t.TempDir(), Sync: sync, SlabBytes: 16 << 20}
			r, last := rand.New(rand.NewPCG(5, uint64(shards))), map[string]string{}
			var has keptRecords
			for life := range 3 {
				st := open(t, o)
				c := records(t, st, RecordsOptions{Shards: shards, MaxBytes: cacheBytes})
				if got := recordsIn(t, c); life > 0 && !maps.Equal(got, has) {
					t.Fatalf("life %d begins with %d records, %d were there", life, len(got), len(has))
				}
				// Keys are divided again, and a shard may have more than its part: one shrinks at a time.
				for slices.ContainsFunc(c.Maps(), func(m *kv.Map) bool { return m.Bytes() > m.MaxBytes() }) {
					st.Tidy(0)
					_ = st.runAlone(func() error { return nil })
				}
				if shards > 0 {
					has = recordsIn(t, c)
				}
				for key := range last {
					if _, ok := has[key]; life > 0 && !ok {
						delete(last, key) // It was evicted in a life before.
					}
				}
				for range turns {
					cacheTurn(t, c, last, r)
					if err := st.runAlone(func() error { return nil }); err != nil { // All before are done.
						t.Fatal(err)
					}
					cached(t, c, last)
				}
				has = recordsIn(t, c)
				if life > 0 && len(has) == len(last) {
					t.Error("nothing was evicted")
				}
				if err := st.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// An evicted record is absent for conditions and deletes, and a put that exceeds the limit
// alone is refused with both sizes, and evicts nothing.
func TestEvictedIsAbsent(t *testing.T) {
	st := open(t, Options{Dir: t.TempDir(), Sync: disk.SyncOff, SlabBytes: 16 << 20})
	c := records(t, st, RecordsOptions{MaxBytes: cacheBytes})
	put := func(key string, bytes int, cond kv.Condition) (uint64, error) {
		return c.Put(kv.Entry{Key: []byte(key), Value: make([]byte, bytes)}, cond)
	}
	first, err := put("first", 100, kv.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	revision := st.Revision()
	var found kv.Buffer
	if _, err := put("too large", cacheBytes, kv.Condition{}); !errors.Is(err, record.ErrTooLarge) ||
		!strings.Contains(err.Error(), fmt.Sprint(kv.RecordBytes(9, cacheBytes, false))) || !strings.Contains(err.Error(), fmt.Sprint(cacheBytes)) {
		t.Errorf("a record of %d bytes: %v", cacheBytes, err)
	}
	if _, err := c.Get([]byte("first"), &found); err != nil || st.Revision() != revision {
		t.Errorf("a put that was refused has evicted: %v", err)
	}
	if _, err := put("all", cacheBytes-100, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get([]byte("first"), &found); !errors.Is(err, kv.ErrNotFound) || c.Len() != 1 {
		t.Errorf("%v, %d records", err, c.Len())
	}
	if err := c.Delete([]byte("first"), kv.Condition{}); !errors.Is(err, kv.ErrNotFound) {
		t.Error(err)
	}
	if _, err := put("first", 1, kv.Condition{IfRevision: first}); !errors.Is(err, kv.ErrConflict) {
		t.Error(err)
	}
	if _, err := put("first", 1, kv.Condition{IfAbsent: true}); err != nil {
		t.Error(err)
	}
}

// A cache that is loaded with a smaller limit shrinks to it, some records a batch, and stays
// so; until then puts evict no more than they bring.
func TestCacheShrinks(t *testing.T) {
	o := Options{Dir: t.TempDir(), Sync: disk.SyncOff, SlabBytes: 16 << 20}
	st := open(t, o)
	c := records(t, st, RecordsOptions{MaxBytes: 1 << 20})
	for i := range 4000 {
		if _, err := c.Put(kv.Entry{Key: fmt.Append(nil, i), Value: make([]byte, 100)}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	small := RecordsOptions{MaxBytes: 100 << 10}
	o.Collections = []Named{{"records", Spec{Kind: KindRecords, Keep: true, Records: small}}}
	st = open(t, o)
	c = records(t, st, small)
	if c.Len() != 4000 || c.Maps()[0].MaxBytes() != small.MaxBytes {
		t.Fatalf("%d records, limit %d", c.Len(), c.Maps()[0].MaxBytes())
	}
	before := st.Revision()
	if _, err := c.Put(kv.Entry{Key: []byte("new"), Value: make([]byte, 100)}, kv.Condition{}); err != nil || c.Len() != 4000 || st.Revision() != before+2 {
		t.Errorf("put: %v, %d records, %d revisions", err, c.Len(), st.Revision()-before)
	}
	for tidies := 0; c.Maps()[0].Bytes() > small.MaxBytes; tidies++ {
		n := c.Len()
		if st.Tidy(0); n-c.Len() > shrinkAtOnce || n == c.Len() {
			t.Fatalf("Tidy evicted %d records", n-c.Len())
		}
	}
	has := recordsIn(t, c)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	o.Collections = nil // The limit of its creation counts.
	c = records(t, open(t, o), RecordsOptions{})
	if got := recordsIn(t, c); !maps.Equal(got, has) || c.Maps()[0].MaxBytes() != 1<<20 {
		t.Errorf("%d records, want %d; limit %d", len(got), len(has), c.Maps()[0].MaxBytes())
	}
}

// A secondary has the primary's records after each piece of its log, whatever was read where,
// and chooses no victims, even with a smaller limit.
func TestCacheOfSecondary(t *testing.T) {
	primary, log := member(t, t.TempDir()), leading()
	primary.Replicate(log)
	c := records(t, primary, RecordsOptions{MaxBytes: cacheBytes})
	secondary, err := Open(t.Context(), Options{
		Dir: t.TempDir(), Replicated: true, SlabBytes: 16 << 20, StoreID: [16]byte{1},
		Collections: []Named{{"records", Spec{Kind: KindRecords, Keep: true, Records: RecordsOptions{MaxBytes: 1 << 10}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = secondary.Close() })
	secondary.Replicate(&recorder{}) // It has no lease, and would commit whatever comes.
	r, last, at := rand.New(rand.NewPCG(6, 7)), map[string]string{}, 0
	for range 60 {
		cacheTurn(t, c, last, r)
		if err := primary.runAlone(func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		cached(t, c, last)
		if err := secondary.Apply(log.all[at:]); err != nil {
			t.Fatal(err)
		}
		at = len(log.all)
		secondary.Tidy(0)
		if got, want := contents(t, secondary), contents(t, primary); !slices.Equal(got, want) {
			t.Fatalf("the secondary has %d records, want %d", len(got)-1, len(want)-1)
		}
	}
}

// Writes that are submitted together may exceed the limit several times: each batch finds
// enough to evict, and all are carried out.
func TestCacheOfOneSubmit(t *testing.T) {
	st := open(t, Options{Dir: t.TempDir(), Sync: disk.SyncOff, SlabBytes: 16 << 20})
	c := records(t, st, RecordsOptions{MaxBytes: cacheBytes})
	var turn Writes
	last := map[string]string{}
	for i := range 400 {
		key, value := fmt.Sprint("key ", i%300), fmt.Sprint(i, strings.Repeat("v", 1000))
		turn.PutRecord(Name{}, c, key, AppendRecordValue(nil, []byte(value), 0), 0, kv.Condition{}, func(_ uint64, err error) {
			if last[key] = value; err != nil {
				t.Errorf("put %s: %v", key, err)
			}
		})
	}
	turn.Submit()
	if cached(t, c, last); len(last) != 300 || c.Len() < 80 {
		t.Errorf("%d of %d records", c.Len(), len(last))
	}
}
