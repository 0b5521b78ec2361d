package client

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/history"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/wire"
)

// kvPaths are the paths on which clients get records.
func kvPaths() []path {
	ps := []path{{name: "tcp", transport: model.TransportTCP, policy: "tcp"}}
	for _, tr := range oneSided {
		for _, p := range []string{"fast", "fetch", "offload-single", "offload", "offload-cached", "paper", "default"} {
			ps = append(ps, path{name: tr + "/" + p, transport: tr, policy: p})
		}
		for _, p := range []string{"offload-cached", "default"} {
			ps = append(ps, path{name: tr + "/" + p + "/answers", transport: tr, policy: p, pointers: PointersAnswers})
		}
	}
	return ps
}

const testRecords = "records"

func startRecords(t testing.TB, opts server.Options) *server.Server {
	opts.Records = []string{testRecords}
	return startServer(t, opts)
}

// dialRecords keeps references of records of any age: tests take less than a second.
func dialRecords(t testing.TB, s *server.Server, o Options) *Records {
	t.Helper()
	o = WithHooks(o, keepYoung)
	r, err := dial(t, s, o).Records(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRecords: records that were put are got, by every path, with and without shards;
// values have all sizes, and are appended to the caller's bytes.
func TestRecords(t *testing.T) {
	for name, shards := range map[string]int{"": 0, "/shards": 3} {
		s := startRecords(t, server.Options{RecordShards: shards, Workers: 2})
		testRecordsOf(t, s, name)
	}
}

func testRecordsOf(t *testing.T, s *server.Server, name string) {
	for _, p := range kvPaths() {
		t.Run(p.name+name, func(t *testing.T) {
			ctx := t.Context()
			r := dialRecords(t, s, p.options())
			sizes := []int{0, 1, 31, 32, 500, 4000, 4096, 9000}
			if p.transport != model.TransportTCP {
				sizes = append(sizes, 60_000)
			}
			revisions := map[int]uint64{}
			for i, n := range sizes {
				rec := model.Record{Key: testKey(i), Value: bytes.Repeat([]byte{byte(i + 1)}, n), Flags: uint16(i)}
				rev, err := r.Put(ctx, rec, kv.Condition{})
				if err != nil || rev == 0 {
					t.Fatalf("put of %d bytes: %d, %v", n, rev, err)
				}
				revisions[i] = rev
			}
			keys := [][]byte{testKey(-1)}
			for range 3 { // kept references answer from the second time on
				for i, n := range sizes {
					rec, err := r.Get(ctx, testKey(i), []byte("before "))
					want := append([]byte("before "), bytes.Repeat([]byte{byte(i + 1)}, n)...)
					if err != nil || !bytes.Equal(rec.Value, want) || rec.Revision != revisions[i] || rec.Flags != uint16(i) || !rec.Expires.IsZero() {
						t.Fatalf("get of %d bytes: %d bytes, revision %d, flags %d, %v", n, len(rec.Value), rec.Revision, rec.Flags, err)
					}
				}
				if _, err := r.Get(ctx, testKey(-1), nil); !errors.Is(err, kv.ErrNotFound) {
					t.Fatalf("get of a key without a record: %v", err)
				}
			}
			for i := range sizes {
				keys = append(keys, testKey(i))
			}
			many, err := r.GetMany(ctx, keys, nil)
			if err != nil || len(many) != len(keys) || many[0].Revision != 0 {
				t.Fatalf("get of many: %d, %v", len(many), err)
			}
			for i, n := range sizes {
				if rec := many[i+1]; !bytes.Equal(rec.Value, bytes.Repeat([]byte{byte(i + 1)}, n)) || rec.Revision != revisions[i] {
					t.Errorf("value %d of many: %d bytes, want %d", i, len(rec.Value), n)
				}
			}
			scanned := map[string]int{}
			for rec, err := range r.Scan(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				scanned[string(rec.Key)] = len(rec.Value)
			}
			for i, n := range sizes {
				if got, ok := scanned[string(testKey(i))]; !ok || got != n {
					t.Errorf("scan: key %d has %d bytes (%t), want %d", i, got, ok, n)
				}
			}
			for i := range sizes {
				if err := r.Delete(ctx, testKey(i), kv.Condition{}); err != nil {
					t.Fatal(err)
				}
				if _, err := r.Get(ctx, testKey(i), nil); !errors.Is(err, kv.ErrNotFound) {
					t.Fatalf("get of a deleted key: %v", err)
				}
			}
			if err := r.Delete(ctx, testKey(0), kv.Condition{}); !errors.Is(err, kv.ErrNotFound) {
				t.Errorf("delete of a deleted key: %v", err)
			}
		})
	}
}

// TestRecordConditions: the server checks conditions, limits and expiry, and callers
// can distinguish the errors.
func TestRecordConditions(t *testing.T) {
	s := startRecords(t, server.Options{})
	ctx := t.Context()
	r := dialRecords(t, s, Options{})
	put := func(v string, c kv.Condition) (uint64, error) {
		return r.Put(ctx, model.Record{Key: []byte("k"), Value: []byte(v)}, c)
	}
	rev, err := put("1", kv.Condition{IfAbsent: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := put("2", kv.Condition{IfAbsent: true}); !errors.Is(err, kv.ErrExists) || !RetrySafe(err) {
		t.Errorf("if absent: %v", err)
	}
	if _, err := put("2", kv.Condition{IfRevision: rev + 1}); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("if another revision: %v", err)
	}
	if err := r.Delete(ctx, []byte("k"), kv.Condition{IfRevision: rev + 1}); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("delete if another revision: %v", err)
	}
	if rev, err = put("2", kv.Condition{IfRevision: rev}); err != nil {
		t.Errorf("if this revision: %v", err)
	}
	if err := r.Delete(ctx, []byte("k"), kv.Condition{IfRevision: rev}); err != nil {
		t.Error(err)
	}
	for _, k := range [][]byte{nil, make([]byte, record.MaxKeyBytes+1)} {
		_, get := r.Get(ctx, k, nil)
		_, put := r.Put(ctx, model.Record{Key: k}, kv.Condition{})
		for what, err := range map[string]error{"get": get, "put": put, "delete": r.Delete(ctx, k, kv.Condition{})} {
			if !errors.Is(err, model.ErrOption) {
				t.Errorf("%s of a key of %d bytes: %v", what, len(k), err)
			}
		}
	}
	past := model.Record{Key: []byte("gone"), Expires: time.Now().Add(-time.Minute)}
	soon := model.Record{Key: []byte("there"), Expires: time.Now().Add(time.Hour)}
	for _, rec := range []model.Record{past, soon} {
		if _, err := r.Put(ctx, rec, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range kvPaths() {
		r := dialRecords(t, s, p.options())
		if _, err := r.Get(ctx, past.Key, nil); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("%s: a record that has expired: %v", p.name, err)
		}
		if rec, err := r.Get(ctx, soon.Key, nil); err != nil || !rec.Expires.Equal(soon.Expires.Round(0)) {
			t.Errorf("%s: expires %v, %v, want %v", p.name, rec.Expires, err, soon.Expires)
		}
	}
}

// TestKinds: a collection is of one kind, whatever request it gets.
func TestKinds(t *testing.T) {
	s := startRecords(t, server.Options{})
	ctx := t.Context()
	for _, p := range kvPaths() {
		c := dial(t, s, p.options())
		boxes, _ := c.Collection(testRecords)
		notRecords, _ := c.Records(model.DefaultCollection)
		_, search := boxes.Search(ctx, square(0, 0))
		_, get := notRecords.Get(ctx, []byte("k"), nil)
		_, put := notRecords.Put(ctx, model.Record{Key: []byte("k")}, kv.Condition{})
		for what, err := range map[string]error{
			"search": search, "insert": boxes.Insert(ctx, square(0, 0), 1), "get": get, "put": put,
			"create": c.CreateCollection(ctx, testRecords), "create records": c.CreateRecords(ctx, model.DefaultCollection, model.RecordsOptions{}),
		} {
			if !errors.Is(err, model.ErrKind) {
				t.Errorf("%s, %s: %v, want ErrKind", p.name, what, err)
			}
		}
	}
	if _, err := s.Collection(testRecords); !errors.Is(err, model.ErrKind) {
		t.Errorf("the tree of records: %v", err)
	}
	if _, err := s.Records(model.DefaultCollection); !errors.Is(err, model.ErrKind) {
		t.Errorf("the records of boxes: %v", err)
	}
	all, err := dial(t, s, Options{}).Collections(ctx)
	if err != nil || len(all) != 2 || all[0].Kind != model.KindBoxes || all[1].Kind != model.KindRecords {
		t.Errorf("collections: %+v, %v", all, err)
	}
}

// TestRecordsByKeptReference: offloading takes two round trips without a kept
// reference, and one with a kept reference.
func TestRecordsByKeptReference(t *testing.T) {
	s := startRecords(t, server.Options{})
	ctx := t.Context()
	for _, tr := range oneSided {
		r := dialRecords(t, s, Options{Transport: tr, Policy: "offload-cached", Shared: new(Shared)})
		if _, err := r.Put(ctx, model.Record{Key: testKey(1), Value: []byte("1")}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
		_, first, err := r.Explain(ctx, testKey(1))
		if err != nil {
			t.Fatal(err)
		}
		_, second, err := r.Explain(ctx, testKey(1))
		if err != nil {
			t.Fatal(err)
		}
		if first.PointerHits != 0 || first.Path != "offload" || second.PointerHits != 1 || second.RoundTrips != 1 {
			t.Errorf("%s: first %+v, second %+v", tr, first, second)
		}
		if _, err := r.Put(ctx, model.Record{Key: testKey(1), Value: []byte("2")}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
		rec, third, err := r.Explain(ctx, testKey(1))
		if err != nil || string(rec.Value) != "2" || third.PointerInvalid != 1 {
			t.Errorf("%s: after an update: %q, %+v, %v", tr, rec.Value, third, err)
		}
	}
}

// TestKeyHistories: clients of every path get, put and delete the same keys; the history
// of each key must be linearizable. Other keys are added and deleted, so that the
// tables grow and items are kicked meanwhile; a server with kept records restarts.
func TestKeyHistories(t *testing.T) {
	for name, shards := range map[string]int{"undivided": 0, "shards": 3} {
		t.Run(name, func(t *testing.T) {
			testKeyHistories(t, startRecords(t, server.Options{Workers: 2, RecordShards: shards}), nil)
		})
	}
	t.Run("kept", func(t *testing.T) {
		testKeyHistories(t, startKeptRecords(t, server.Options{Workers: 2, RecordShards: 2}), nil)
	})
	t.Run("restarted", func(t *testing.T) {
		l := newKeptRecordLives(t, 2)
		testKeyHistories(t, l.Server, func() {
			l.restart()
			l.waitReady()
		})
	})
}

// testKeyHistories calls restart, if not nil, after each quarter of the operations.
func testKeyHistories(t *testing.T, s *server.Server, restart func()) {
	const keys, rounds = 6, 60
	h := history.NewKeys()
	var clients sync.WaitGroup
	var writes, unknown atomic.Uint64
	value := func(n uint64, size int) []byte {
		return append(binary.LittleEndian.AppendUint64(nil, n), make([]byte, size)...)
	}
	ps := kvPaths()
	for _, tr := range oneSided {
		for _, p := range []string{"offload", "offload-cached"} {
			ps = append(ps, path{name: tr + "/torn/" + p, transport: tr, policy: p, wrap: tearing})
		}
	}
	for i, p := range ps {
		r := dialRecords(t, s, p.options())
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(7, uint64(i)))
			ctx := t.Context()
			// ready makes a call again while a server that has restarted loads its store: it
			// has done nothing then.
			ready := func(call func() error) (err error) {
				catfishtest.Eventually(t, "the store is loaded", func() bool {
					err = call()
					return restart == nil || !errors.Is(err, model.ErrNotReady)
				})
				return err
			}
			// outcome is that of a write whose condition fails with refused.
			outcome := func(refused error, write func() error) history.Outcome {
				err := ready(write)
				switch {
				case err == nil:
					return history.Done
				case errors.Is(err, refused):
					return history.Refused
				case restart == nil || !errors.Is(err, model.ErrUnknownOutcome):
					t.Errorf("%s: %v", p.name, err)
				}
				unknown.Add(1)
				return history.Unknown
			}
			for n := range rounds {
				k := rng.IntN(keys)
				call := h.Now()
				switch rng.IntN(6) {
				case 0, 1:
					id, absent := writes.Add(1), rng.IntN(3) == 0
					v := value(id, rng.IntN(2000))
					h.Put(i, call, k, id, absent, outcome(kv.ErrExists, func() error {
						_, err := r.Put(ctx, model.Record{Key: testKey(k), Value: v}, kv.Condition{IfAbsent: absent})
						return err
					}))
				case 2:
					h.Delete(i, call, k, outcome(kv.ErrNotFound, func() error { return r.Delete(ctx, testKey(k), kv.Condition{}) }))
				default:
					var rec model.Record
					err := ready(func() (err error) {
						rec, err = r.Get(ctx, testKey(k), nil)
						return err
					})
					switch {
					case errors.Is(err, kv.ErrNotFound):
						h.Get(i, call, k, 0)
					case err != nil || len(rec.Value) < 8:
						t.Errorf("%s: get: %d bytes, %v", p.name, len(rec.Value), err)
					default:
						h.Get(i, call, k, binary.LittleEndian.Uint64(rec.Value))
					}
				}
				for j := range 5 { // other keys
					outcome(kv.ErrExists, func() error {
						_, err := r.Put(ctx, model.Record{Key: testKey(1000*(i+1) + 5*n + j), Value: value(1, 20)}, kv.Condition{})
						return err
					})
				}
			}
		})
	}
	for quarter := 1; restart != nil && quarter < 4; quarter++ {
		catfishtest.Eventually(t, "some operations", func() bool { return h.Len() >= quarter*len(ps)*rounds/4 })
		restart()
	}
	clients.Wait()
	if err := h.Check(); err != nil {
		t.Error(err)
	}
	t.Logf("%d operations, %d of unknown outcome", h.Len(), unknown.Load())
}

// TestRecordsRestarted: a server that restarts has no records. A client gets no record
// of the old one by a kept reference, and does not trust the empty collection.
func TestRecordsRestarted(t *testing.T) {
	testRecordsRestarted(t, "", 0, 0)
	// The same with shards, also if their number has changed.
	testRecordsRestarted(t, "/2 to 3 shards", 2, 3)
	testRecordsRestarted(t, "/3 shards to none", 3, 0)
	testRecordsRestarted(t, "/none to 2 shards", 0, 2)
}

func testRecordsRestarted(t *testing.T, name string, before, after int) {
	for _, p := range kvPaths() {
		t.Run(p.name+name, func(t *testing.T) {
			ctx := t.Context()
			l := newLives(t)
			l.stop()
			l.opts.Records, l.opts.RecordShards = []string{testRecords}, before
			l.opts.SlabBytes = 8 << 20
			l.start()
			r := dialRecords(t, l.Server, p.options())
			key := []byte("k")
			l.opts.RecordShards = after
			put := func(v string) error {
				_, err := r.Put(ctx, model.Record{Key: key, Value: []byte(v)}, kv.Condition{})
				return err
			}
			if err := put("old"); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if rec, err := r.Get(ctx, key, nil); err != nil || string(rec.Value) != "old" {
					t.Fatalf("%q, %v", rec.Value, err)
				}
			}
			l.restart()
			_, get := r.Get(ctx, key, nil)
			_, many := r.GetMany(ctx, [][]byte{key}, nil)
			for what, err := range map[string]error{"get": get, "many": many, "delete": r.Delete(ctx, key, kv.Condition{})} {
				if !errors.Is(err, model.ErrRestarted) {
					t.Errorf("%s at a server that has lost its records: %v", what, err)
				}
			}
			// A client trusts a server that has been filled again.
			if err := put("new"); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if rec, err := r.Get(ctx, key, nil); err != nil || string(rec.Value) != "new" {
					t.Errorf("%q, %v", rec.Value, err)
				}
			}
		})
	}
}

// TestYoungRecordsAreNotKept: a key that changed in the last second is looked up again:
// its reference is not kept.
func TestYoungRecordsAreNotKept(t *testing.T) {
	var now atomic.Int64
	now.Store(int64(time.Hour))
	s := startRecords(t, server.WithServerHooks(server.Options{Transports: []string{model.TransportSHM}}, func(h *wire.ServerHooks) {
		h.Now = func() time.Duration { return time.Duration(now.Load()) }
	}))
	m, err := s.Records(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	put := func() {
		if _, err := m.Put(kv.Entry{Key: testKey(1)}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	put()
	now.Add(int64(2 * time.Second))
	ctx := t.Context()
	c := dial(t, s, Options{Transport: model.TransportSHM, Policy: "offload-cached", Shared: new(Shared)})
	r, err := c.Records(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{0, 1, 2} {
		if _, err := r.Get(ctx, testKey(1), nil); err != nil || c.Counters().PointerHits != want {
			t.Errorf("get %d of an old record: %d by a kept reference, %v", i, c.Counters().PointerHits, err)
		}
	}
	put()
	for i := range 5 {
		if _, err := r.Get(ctx, testKey(1), nil); err != nil || c.Counters().PointerHits != 2 {
			t.Errorf("get %d of a young record: %d by a kept reference, %v", i, c.Counters().PointerHits, err)
		}
	}
}

// TestLargeRecords: many large values come in several answers, those of more than mostValue alone.
func TestLargeRecords(t *testing.T) {
	s := startRecords(t, server.Options{})
	m, err := s.Records(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	sizes := []int{wire.MostValue, 600_000, 600_000, 10, wire.MostValue + 1}
	var keys [][]byte
	for i, n := range sizes {
		keys = append(keys, testKey(i))
		if _, err := m.Put(kv.Entry{Key: keys[i], Value: bytes.Repeat([]byte{byte(i + 1)}, n)}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range kvPaths() {
		r := dialRecords(t, s, p.options())
		many, err := r.GetMany(t.Context(), keys, nil)
		if err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		for i, rec := range many {
			if len(rec.Value) != sizes[i] || rec.Value[sizes[i]-1] != byte(i+1) {
				t.Errorf("%s: value %d has %d bytes, want %d", p.name, i, len(rec.Value), sizes[i])
			}
		}
		found := 0
		for rec, err := range r.Scan(t.Context()) {
			if err != nil || len(rec.Value) == 0 {
				t.Fatalf("%s: value of %d bytes, %v", p.name, len(rec.Value), err)
			}
			found++
		}
		if found != len(keys) {
			t.Errorf("%s: %d scanned", p.name, found)
		}
	}
}
