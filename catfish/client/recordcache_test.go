package client

import (
	"errors"
	"fmt"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// A cache that clients fill by any path holds its limit, counts hits and misses, keeps the
// record that a client reads by lease, and refuses what it could never hold. What was evicted
// is absent from Gets, scans and counts.
func TestCache(t *testing.T) {
	const limit, puts = 128 << 10, 1500
	for _, kept := range []bool{false, true} {
		shards := 0
		if kept {
			shards = 2
		}
		t.Run(fmt.Sprint("kept=", kept, "/shards=", shards), func(t *testing.T) {
			ctx := t.Context()
			s := startServer(t, server.Options{DataDir: t.TempDir(), Sync: disk.SyncOff})
			if err := s.WaitReady(ctx); err != nil {
				t.Fatal(err)
			}
			admin := dial(t, s, Options{})
			o := model.RecordsOptions{MaxBytes: limit, Shards: shards, Keep: kept}
			if err := admin.CreateRecords(ctx, testRecords, o); err != nil {
				t.Fatal(err)
			}
			o.MaxBytes *= 2
			if err := admin.CreateRecords(ctx, testRecords, o); !errors.Is(err, model.ErrCollectionExists) {
				t.Errorf("with another limit: %v", err)
			}
			rs, err := admin.Records(testRecords)
			if err != nil {
				t.Fatal(err)
			}
			var keys [][]byte
			for i := range puts {
				keys = append(keys, testKey(i))
				if _, err := rs.Put(ctx, model.Record{Key: testKey(i), Value: make([]byte, 40)}, kv.Condition{}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := rs.Put(ctx, model.Record{Key: testKey(0), Value: make([]byte, limit)}, kv.Condition{}); !errors.Is(err, record.ErrTooLarge) {
				t.Errorf("a record as large as the limit: %v", err)
			}
			found := map[string]int{}
			for _, p := range kvPaths() {
				r := dialRecords(t, s, p.options())
				many, err := r.GetMany(ctx, keys, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, rec := range many {
					if rec.Revision != 0 {
						found[p.name]++
					}
				}
			}
			scanned := 0
			for _, err := range rs.Scan(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				scanned++
			}
			st, err := admin.Stats(ctx)
			if err != nil {
				t.Fatal(err)
			}
			is := st.Records[testRecords]
			for name, n := range found {
				if n != scanned || n != is.Index.Items || n == 0 || uint64(puts-n) != is.Cache.Evicted {
					t.Errorf("%s: %d found, %d scanned, %+v", name, n, scanned, is.Cache)
				}
			}
			if is.Cache.Bytes > limit || is.Cache.LimitBytes != limit || is.Cache.Misses == 0 || is.Cache.Hits == 0 {
				t.Errorf("%+v", is.Cache)
			}
		})
	}
	s := startServer(t, server.Options{})
	admin := dial(t, s, Options{})
	for _, o := range []model.RecordsOptions{{MaxBytes: -1}, {MaxBytes: 1000}, {MaxBytes: 100 << 10, Shards: 2}} {
		if err := admin.CreateRecords(t.Context(), "c", o); !errors.Is(err, model.ErrOption) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := admin.CreateRecords(t.Context(), "c", model.RecordsOptions{MaxBytes: 33 << 20}); err == nil {
		t.Error("a cache of more than half of the memory of a collection was created")
	}
	admin.conn.sessions.latest().hello.LimitsRecords = false
	if err := admin.CreateRecords(t.Context(), "c", model.RecordsOptions{MaxBytes: limit}); !errors.Is(err, model.ErrVersionMismatch) {
		t.Error(err)
	}
}
