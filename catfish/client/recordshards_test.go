package client

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/wire"
)

// TestShardOf: each key is in the shard that its hash selects, for clients and in this
// process; every shard has its share of keys, also in each bucket of its index.
func TestShardOf(t *testing.T) {
	const n, keys = 5, 50_000
	counts := make([]int, n)
	var buckets [n][4]int // by the lowest bits, which choose buckets
	for i := range keys {
		k := testKey(i)
		shard := wire.ShardOf(7, k, n)
		counts[shard]++
		buckets[shard][cuckoo.Hash(7, k)&3]++
	}
	for i, c := range counts {
		// A share is 10,000, with a standard deviation of 90; that of a bucket 2,500 and 49.
		if math.Abs(float64(c)-keys/n) > 500 {
			t.Errorf("shard %d has %d of %d keys", i, c, keys)
		}
		for j, b := range buckets[i] {
			if math.Abs(float64(b)-keys/n/4) > 300 {
				t.Errorf("shard %d has %d keys in bucket %d of 4", i, b, j)
			}
		}
	}
	if wire.ShardOf(7, nil, 1) != 0 {
		t.Error("one shard is not the first")
	}
}

// TestShardsHaveOwners: if clients can choose, only its owner carries out requests about
// a shard: gets and puts, alone, together, large, in parts, leases, and scans.
func TestShardsHaveOwners(t *testing.T) {
	const workers, n, keys = 3, 5, 100
	for _, tr := range oneSided {
		s := startRecords(t, server.Options{Workers: workers, RecordShards: n, Transports: slices.Clone(offered)})
		ctx := t.Context()
		var clients sync.WaitGroup
		var before []uint64
		for range 3 {
			r := dialRecords(t, s, Options{Transport: tr, Policy: "fast", Shared: new(Shared)})
			clients.Go(func() {
				var all [][]byte
				for i := range keys {
					k := testKey(i)
					size := 10
					if i%20 == 0 {
						size = 100_000
					}
					if _, err := r.Put(ctx, model.Record{Key: k, Value: make([]byte, size)}, kv.Condition{}); err != nil {
						t.Errorf("%s: %v", tr, err)
					}
					if rec, err := r.Get(ctx, k, nil); err != nil || len(rec.Value) != size {
						t.Errorf("%s: %d bytes, %v", tr, len(rec.Value), err)
					}
					all = append(all, k)
				}
				if _, err := r.GetMany(ctx, all, nil); err != nil {
					t.Error(err)
				}
				for _, err := range r.Scan(ctx) {
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		clients.Wait()
		st := s.Stats().Records[testRecords]
		if len(st.Shards) != n || st.Index.Items != keys {
			t.Fatalf("%s: %+v", tr, st)
		}
		records := 0
		for i, one := range st.Shards {
			// Three clients sent a put and a get of each key, at least.
			if one.Strayed != 0 || one.Owned < uint64(6*one.Records) || one.Records == 0 {
				t.Errorf("%s: shard %d: %+v", tr, i, one)
			}
			records += one.Records
			before = append(before, one.Owned)
		}
		if records != keys {
			t.Errorf("%s: %d records in all shards", tr, records)
		}
		// The connections: one of each client to any worker, and one to each owner.
		for _, f := range s.Stats().Transports {
			if f.Transport == tr && f.Connections != 3*(1+workers) {
				t.Errorf("%s: %d connections", tr, f.Connections)
			}
		}
		// Over a plain socket answers are right, and requests are counted as strayed.
		plain := dialRecords(t, s, Options{Transport: model.TransportTCP})
		if _, err := plain.Get(ctx, testKey(1), nil); err != nil {
			t.Error(err)
		}
		strayed := uint64(0)
		for i, one := range s.Stats().Records[testRecords].Shards {
			strayed += one.Strayed
			if one.Owned != before[i] {
				t.Errorf("%s: shard %d was asked otherwise", tr, i)
			}
		}
		if strayed != 1 {
			t.Errorf("%s: %d requests by a plain socket, want 1", tr, strayed)
		}
	}
}

// TestShardsWithoutLanes: a client of a server with one worker, or with a worker per
// connection, opens no further connections.
func TestShardsWithoutLanes(t *testing.T) {
	for i, o := range []server.Options{{Workers: 1}, {WorkerPerConnection: true}} {
		o.RecordShards = 4
		s := startRecords(t, o)
		r := dialRecords(t, s, Options{Transport: oneSided[0], Policy: "fast"})
		for j := range 20 {
			if _, err := r.Put(t.Context(), model.Record{Key: testKey(j)}, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		owned, strayed := uint64(0), uint64(0)
		for _, one := range s.Stats().Records[testRecords].Shards {
			owned, strayed = owned+one.Owned, strayed+one.Strayed
		}
		if want := [][2]uint64{{20, 0}, {0, 20}}[i]; [2]uint64{owned, strayed} != want {
			t.Errorf("%d: %d by owners, %d by others, want %v", i, owned, strayed, want)
		}
		for _, f := range s.Stats().Transports {
			if f.Transport == oneSided[0] && f.Connections != 1 {
				t.Errorf("%d: %d connections", i, f.Connections)
			}
		}
	}
}

// TestGetManyOfShards: GetMany returns the records of all shards in the order of the keys,
// also for keys that are missing or come twice, and reuses the caller's records.
func TestGetManyOfShards(t *testing.T) {
	s := startRecords(t, server.Options{RecordShards: 4, Workers: 2})
	shards, err := s.RecordShards(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	var keys [][]byte
	for i := range 700 {
		k := testKey(i * 37 % 601)
		keys = append(keys, k)
		if i%3 > 0 {
			continue
		}
		if _, err := shards.Of(k).Put(kv.Entry{Key: k, Value: append([]byte("of "), k...)}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range kvPaths() {
		r := dialRecords(t, s, p.options())
		var many []model.Record
		for range 3 {
			if many, err = r.GetMany(t.Context(), keys, many); err != nil || len(many) != len(keys) {
				t.Fatalf("%s: %d, %v", p.name, len(many), err)
			}
			for i, rec := range many {
				_, _, err := shards.Of(keys[i]).Get(keys[i], new(kv.Buffer))
				want := append([]byte("of "), keys[i]...)
				if !bytes.Equal(rec.Key, keys[i]) || (rec.Revision != 0) != (err == nil) ||
					err == nil && !bytes.Equal(rec.Value, want) {
					t.Fatalf("%s: record %d of %q: %q, %q", p.name, i, keys[i], rec.Key, rec.Value)
				}
			}
		}
	}
}

// TestShardsAreCreatedAndDroppedAfterRestart: after a restart a client checks that the collection has
// records before it deletes one. If it was dropped and created again, it opens the new one.
func TestShardsAreCreatedAndDroppedAfterRestart(t *testing.T) {
	s := startServer(t, server.Options{ClientCollections: 6, Workers: 2})
	ctx := t.Context()
	var c [2]*Client
	var r [2]*Records
	create := func() {
		if err := c[1].CreateRecords(ctx, "mine", model.RecordsOptions{Shards: 3}); err != nil {
			t.Fatal(err)
		}
		for i := range c {
			var err error
			if r[i], err = c[i].Records("mine"); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 10 {
			if _, err := r[1].Put(ctx, model.Record{Key: testKey(i)}, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range c {
		c[i] = dial(t, s, Options{})
	}
	create()
	for i := range 10 {
		if _, err := r[0].Get(ctx, testKey(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if ok, err := c[1].DropCollection(ctx, "mine"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	old := r[0]
	create()
	c[0].conn.sessions.latest().restart = new(restartCheck)
	if err := old.Delete(ctx, testKey(1), kv.Condition{}); err != nil {
		t.Error(err)
	}
}

// TestShardNumbers: client and server refuse useless numbers of shards, and a divided
// collection is not returned as a single Map.
func TestShardNumbers(t *testing.T) {
	s := startRecords(t, server.Options{RecordShards: 2})
	c := dial(t, s, Options{})
	for _, n := range []int{-1, model.MaxShards + 1, 1 << 20} {
		o := model.RecordsOptions{Shards: n}
		err := c.CreateRecords(t.Context(), "mine", o)
		_, here := s.CreateRecordShards("mine", o)
		_, served := server.NewServer(server.Options{Records: []string{"a"}, RecordShards: n})
		for what, err := range map[string]error{"client": err, "server": here, "option": served} {
			if want := fmt.Sprintf("%d shards, want 0 to %d", n, model.MaxShards); !errors.Is(err, model.ErrOption) || !bytes.Contains([]byte(err.Error()), []byte(want)) {
				t.Errorf("%s, %d shards: %v", what, n, err)
			}
		}
	}
	if _, err := s.CreateRecordShards("mine", model.RecordsOptions{Shards: model.MaxShards}); err != nil {
		t.Error(err)
	}
	small := server.Options{Records: []string{"a"}, RecordShards: 3, SlabBytes: 1 << 20, Transports: []string{model.TransportSoft}, Logger: quiet()}
	if _, err := server.NewServer(small); !errors.Is(err, model.ErrOption) {
		t.Errorf("3 shards of 1 MiB: %v", err)
	}
	if _, err := s.Records(testRecords); !errors.Is(err, model.ErrOption) {
		t.Errorf("the Map of a divided collection: %v", err)
	}
	if _, err := s.CreateRecords("other", model.RecordsOptions{Shards: 2}); !errors.Is(err, model.ErrOption) {
		t.Errorf("a divided collection as one Map: %v", err)
	}
	if m, err := s.CreateRecords("other", model.RecordsOptions{Shards: 1}); err != nil || m == nil {
		t.Errorf("one shard: %v", err)
	}
}

// TestLaneBreaks: when a lane breaks, its requests continue over new connections.
func TestLaneBreaks(t *testing.T) {
	for _, tr := range oneSided {
		s := startRecords(t, server.Options{RecordShards: 2, Workers: 2})
		r := dialRecords(t, s, Options{Transport: tr, Policy: "fast"})
		ctx := t.Context()
		for i := range 10 {
			if _, err := r.Put(ctx, model.Record{Key: testKey(i)}, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		first := r.c.conn.sessions.latest()
		for i := range 2 {
			l := first.lanes[i].Load()
			if l == nil || !l.own {
				t.Fatalf("%s: no lane to worker %d", tr, i)
			}
		}
		first.lanes[1].Load().by.Close()
		for i := range 10 {
			if _, err := r.Get(ctx, testKey(i), nil); err != nil {
				t.Errorf("%s: %v", tr, err)
			}
		}
		if now := r.c.conn.sessions.latest(); now == first {
			t.Errorf("%s: the session goes on without its lane", tr)
		}
	}
}

// TestScanOfShards: a scan of shards yields each record that stays, at least once, and
// ends when the name comes to mean another collection between two shards.
func TestScanOfShards(t *testing.T) {
	s := startServer(t, server.Options{Workers: 2})
	c := dial(t, s, Options{Transport: oneSided[0]})
	ctx := t.Context()
	r, err := c.Records("mine")
	if err != nil {
		t.Fatal(err)
	}
	put := func(from int) { // in this process, which is quicker
		l, err := s.RecordShards("mine")
		for i := range 400 {
			if err == nil {
				_, err = l.Of(testKey(from+i)).Put(kv.Entry{Key: testKey(from + i)}, kv.Condition{})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fill := func(shards int) {
		if err := c.CreateRecords(ctx, "mine", model.RecordsOptions{Shards: shards}); err != nil {
			t.Fatal(err)
		}
		put(0)
	}
	fill(4)
	seen := map[string]bool{}
	for rec, err := range r.Scan(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if seen[string(rec.Key)] = true; len(seen) == 50 {
			put(1000) // Other records come during the scan.
		}
	}
	for i := range 400 {
		if !seen[string(testKey(i))] {
			t.Errorf("%q was not scanned", testKey(i))
		}
	}
	for _, shards := range []int{4, 2, 0} {
		var lost error
		for _, err := range r.Scan(ctx) {
			if lost = err; lost != nil {
				break
			}
			if _, err := c.DropCollection(ctx, "mine"); err != nil {
				t.Fatal(err)
			}
			fill(shards)
		}
		if !errors.Is(lost, cuckoo.ErrScanLost) {
			t.Errorf("to %d shards: %v", shards, lost)
		}
	}
}
