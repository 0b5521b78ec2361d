package client

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/wire"
)

// answersOf are the options of a client whose references come with answers.
func answersOf(transport, policy string) Options {
	return Options{Transport: transport, Policy: policy, Pointers: "answers", CacheBytes: 1 << 20, Shared: new(Shared)}
}

// TestReferencesByAnswers: the first Get is a message, later ones are a read each, and so it
// is after an update; by one key and by many, of one shard and of several.
func TestReferencesByAnswers(t *testing.T) {
	for _, shards := range []int{0, 3} {
		s := startRecords(t, server.Options{RecordShards: shards, Workers: 2})
		for _, tr := range oneSided {
			t.Run(fmt.Sprintf("%s/shards=%d", tr, shards), func(t *testing.T) {
				ctx := t.Context()
				c := dial(t, s, answersOf(tr, "offload-cached"))
				r, err := c.Records(testRecords)
				if err != nil {
					t.Fatal(err)
				}
				put := func(key []byte, value string) {
					t.Helper()
					if _, err := r.Put(ctx, model.Record{Key: key, Value: []byte(value)}, kv.Condition{}); err != nil {
						t.Fatal(err)
					}
				}
				get := func(value string, trips, reads, hits, invalid uint64) {
					t.Helper()
					rec, x, err := r.Explain(ctx, testKey(1))
					if err != nil || string(rec.Value) != value || x.RoundTrips != trips || x.Reads != reads*readCopies(c) ||
						x.PointerHits != hits || x.PointerInvalid != invalid {
						t.Errorf("%q, %v, %+v, want %q, %d trips, %d reads, %d hits, %d invalid", rec.Value, err, x, value, trips, reads, hits, invalid)
					}
				}
				put(testKey(1), "1")
				get("1", 1, 0, 0, 0)
				get("1", 1, 1, 1, 0)
				put(testKey(1), "2")
				get("2", 2, 1, 0, 1)
				get("2", 1, 1, 1, 0)

				var keys [][]byte
				for i := range 20 {
					keys = append(keys, testKey(100+i))
					if i < 19 { // The last key has no record.
						put(keys[i], fmt.Sprint(i))
					}
				}
				for round, want := range []uint64{0, 19} {
					before := c.Counters().PointerHits
					many, err := r.GetMany(ctx, keys, nil)
					if err != nil {
						t.Fatal(err)
					}
					for i, rec := range many {
						if (rec.Revision != 0) != (i < 19) || i < 19 && string(rec.Value) != fmt.Sprint(i) {
							t.Errorf("round %d, key %d: %+v", round, i, rec)
						}
					}
					if hits := c.Counters().PointerHits - before; hits != want {
						t.Errorf("round %d: %d by a kept reference, want %d", round, hits, want)
					}
				}
			})
		}
	}
}

// TestGetsByMessageExtendLeases: a lease is as long as the Gets that asked for one are many,
// up to the record's age and to 64 s; Gets that ask for none do not count.
func TestGetsByMessageExtendLeases(t *testing.T) {
	var now atomic.Int64
	now.Store(int64(time.Hour))
	s := startRecords(t, server.WithServerHooks(server.Options{Transports: []string{model.TransportSHM}}, func(h *wire.ServerHooks) {
		h.Now = func() time.Duration { return time.Duration(now.Load()) }
	}))
	m, err := s.Records(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if i == 3 {
			now.Add(int64(90 * time.Second)) // The record of this key is younger than the others.
		}
		if _, err := m.Put(kv.Entry{Key: testKey(i), Value: []byte("v")}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	now.Add(int64(10 * time.Second))
	ctx := t.Context()
	asking := dial(t, s, answersOf(model.TransportSHM, "fast"))
	plain := dial(t, s, Options{Transport: model.TransportSHM, Policy: "fast", Shared: new(Shared)})
	for i, l := range []struct {
		c     *Client
		gets  int
		lease time.Duration // of the Get after these
	}{{asking, 20, 21 * time.Second}, {asking, 100, 64 * time.Second}, {plain, 20, time.Second}, {asking, 20, 10 * time.Second}} {
		r, err := l.c.Records(testRecords)
		if err != nil {
			t.Fatal(err)
		}
		for range l.gets {
			if _, err := r.Get(ctx, testKey(i), nil); err != nil {
				t.Fatal(err)
			}
		}
		if l.c == asking {
			if n := l.c.Counters(); n.OffloadedGets != 0 || n.Reads != 0 {
				t.Fatalf("not by message alone: %+v", n)
			}
		}
		b, err := RawCall(ctx, plain, wire.RawMessage{Kind: wire.KindGet, Body: wire.AppendKey(wire.AppendHead(nil, 1, 1|wire.WithLeases), testKey(i))})
		if err != nil || len(b) != wire.FoundBytes+8+1 || wire.GetFound(b).Lease != l.lease {
			t.Errorf("key %d: %x, %v, want a lease of %v", i, b, err, l.lease)
		}
		b, err = RawCall(ctx, plain, wire.RawMessage{Kind: wire.KindGet, Body: wire.AppendKey(wire.AppendHead(nil, 1, 1), testKey(i))})
		if err != nil || len(b) != wire.FoundBytes+1 || wire.GetFound(b).Lease != 0 {
			t.Errorf("key %d, without asking: %x, %v", i, b, err)
		}
	}
}

// TestReferencesOfLongValues: a value of several blocks, which no single Read has, brings no
// lease.
func TestReferencesOfLongValues(t *testing.T) {
	s := startRecords(t, server.Options{})
	ctx := t.Context()
	c := dial(t, s, answersOf(model.TransportSHM, "offload-cached"))
	r, err := c.Records(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	for i, size := range []int{100_000, wire.MostValue + 1} {
		if _, err := r.Put(ctx, model.Record{Key: testKey(i), Value: numbered(1, size)}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if rec, err := r.Get(ctx, testKey(i), nil); err != nil || len(rec.Value) != size {
				t.Fatal(len(rec.Value), err)
			}
		}
	}
	if n := c.Counters(); n.Reads != 0 || n.PointerHits != 0 || n.PointerInvalid != 0 {
		t.Errorf("%+v", n)
	}
}

// TestPointersOption: answers needs a cache and a server that knows leases, and other values
// do not exist.
func TestPointersOption(t *testing.T) {
	s := startRecords(t, server.Options{})
	for _, o := range []Options{
		{Pointers: "anything"}, {Pointers: "answers", Policy: "fast"}, {Pointers: "answers", CacheBytes: -1},
	} {
		o.Logger = quiet()
		if _, err := Dial(t.Context(), s.Addr(), o); !errors.Is(err, model.ErrOption) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	c := dial(t, s, answersOf(model.TransportSHM, "offload-cached"))
	r, err := c.Records(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	c.conn.sessions.latest().hello.LeasesRecords = false
	if _, err := r.Get(t.Context(), testKey(1), nil); !errors.Is(err, model.ErrVersionMismatch) {
		t.Errorf("an older server: %v", err)
	}
	// A lease that no client asked for, and one without its reference, end the call.
	for _, b := range [][]byte{
		(&wire.Found{Revision: 1, Lease: time.Second, Ref: 1}).Append(nil),
		(&wire.Found{Revision: 1, Lease: time.Second, Ref: 1}).Append(nil)[:wire.FoundBytes],
	} {
		for _, asks := range []bool{false, true} {
			if asks && len(b) > wire.FoundBytes {
				continue
			}
			g := &getQuery{asks: asks, records: make([]model.Record, 1), keys: [][]byte{testKey(1)}, left: []int{0}, read: read{open: &openSlab{records: &recordsAt{}}}}
			if err := g.takeAnswer(b, 1); !errors.Is(err, model.ErrProtocol) {
				t.Errorf("%d bytes, asked for: %v: %v", len(b), asks, err)
			}
		}
	}
}
