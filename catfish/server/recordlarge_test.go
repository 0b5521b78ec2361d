package server

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/wire"
)

// largeMemory is a memory limit with which values of up to a 36th of it may be put and
// got: 8 MiB, less a few bytes.
const largeMemory = 36 * (8<<20 - 5)

func largePaths() []path {
	ps := []path{{name: "tcp", transport: model.TransportTCP, policy: "tcp"}}
	for _, tr := range oneSided {
		for _, p := range []string{"fast", "fetch", "offload"} {
			ps = append(ps, path{name: tr + "/" + p, transport: tr, policy: p})
		}
	}
	return ps
}

func startLarge(t *testing.T, o Options) *Server {
	o.MemoryLimit = largeMemory
	o = WithServerHooks(o, neverResident)
	if o.SlabBytes == 0 {
		o.SlabBytes = 128 << 20
	}
	return startRecords(t, o)
}

// TestLargeValues: values of all sizes up to the limit are put and got, by every path,
// alone and among others.
func TestLargeValues(t *testing.T) {
	for _, p := range largePaths() {
		t.Run(p.name, func(t *testing.T) {
			s := startLarge(t, Options{})
			limit := s.mostValue()
			if limit != 8<<20-5 {
				t.Fatalf("limit of %d bytes", limit)
			}
			ctx := t.Context()
			r := dialRecords(t, s, p.options())
			sizes := []int{
				0, 1, 10_000, 15_000, 65_000, record.MaxBlockBytes - 40 - 5, record.MaxBlockBytes, 70_000, wire.MostValue, wire.MostValue + 1,
				3<<20 + 1, 40, limit - 1, limit,
			}
			var keys [][]byte
			revisions := make([]uint64, len(sizes))
			for i, n := range sizes {
				keys = append(keys, testKey(i))
				var err error
				rec := model.Record{Key: keys[i], Value: numbered(uint64(i), n), Flags: uint16(i)}
				if revisions[i], err = r.Put(ctx, rec, kv.Condition{IfAbsent: true}); err != nil {
					t.Fatalf("put of %d bytes: %v", n, err)
				}
				if _, err := r.Put(ctx, rec, kv.Condition{IfAbsent: true}); !errors.Is(err, kv.ErrExists) {
					t.Fatalf("put of %d bytes, if there were none: %v", n, err)
				}
				got, err := r.Get(ctx, keys[i], []byte("before "))
				if err != nil || !bytes.Equal(got.Value, append([]byte("before "), rec.Value...)) || got.Revision != revisions[i] || got.Flags != uint16(i) {
					t.Fatalf("get of %d bytes: %d bytes, revision %d, want %d: %v", n, len(got.Value), got.Revision, revisions[i], err)
				}
			}
			nothingHeld(t, s)
			many, err := r.GetMany(ctx, append(keys, testKey(-1)), nil)
			if err != nil {
				t.Fatal(err)
			}
			scanned := map[string]int{}
			for rec, err := range r.Scan(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				scanned[string(rec.Key)] = len(rec.Value)
			}
			for i, n := range sizes {
				if !bytes.Equal(many[i].Value, numbered(uint64(i), n)) || many[i].Revision != revisions[i] {
					t.Errorf("value %d of many has %d bytes, want %d", i, len(many[i].Value), n)
				}
				if got, ok := scanned[string(keys[i])]; !ok || got != n {
					t.Errorf("scan: key %d has %d bytes, %t, want %d", i, got, ok, n)
				}
			}
			if many[len(sizes)].Revision != 0 {
				t.Error("a key without a record has one")
			}
			// A value that is too large is refused with an error, and changes nothing.
			for _, n := range []int{limit + 1, 2 * limit} {
				_, err := r.Put(ctx, model.Record{Key: keys[0], Value: make([]byte, n)}, kv.Condition{})
				if !errors.Is(err, record.ErrTooLarge) || !client.RetrySafe(err) || !bytes.Contains([]byte(err.Error()), fmt.Appendf(nil, "value of %d bytes, limit %d", n, limit)) {
					t.Errorf("put of %d bytes: %v", n, err)
				}
			}
			if got, err := r.Get(ctx, keys[0], nil); err != nil || got.Revision != revisions[0] {
				t.Errorf("after puts that were too large: revision %d, %v", got.Revision, err)
			}
			// A record that this process puts may be larger than any answer.
			m, err := s.Records(testRecords)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Put(kv.Entry{Key: keys[1], Value: make([]byte, limit+1)}, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Get(ctx, keys[1], nil); !errors.Is(err, model.ErrTooLarge) {
				t.Errorf("get of %d bytes: %v", limit+1, err)
			}
			if _, err := r.GetMany(ctx, keys[:3], nil); !errors.Is(err, model.ErrTooLarge) {
				t.Errorf("get of many, of these one of %d bytes: %v", limit+1, err)
			}
			nothingHeld(t, s)
		})
	}
}

// beginUpload sends only the first parts of a value, which together hold the given bytes.
func beginUpload(t *testing.T, c *client.Client, number uint32, bytes, of int) {
	t.Helper()
	for at := 0; at < bytes; at += 10_000 {
		p := partOf(number, at, of, make([]byte, min(10_000, bytes-at)))
		if _, err := client.RawCall(t.Context(), c, wire.RawMessage{Kind: wire.KindPart, Body: p}); err != nil {
			t.Fatalf("part at %d: %v", at, err)
		}
	}
}

// TestUploadIsGivenUp: a connection that ends in the middle of an upload, or makes no
// progress, leaves nothing behind.
func TestUploadIsGivenUp(t *testing.T) {
	for _, transport := range []string{model.TransportSHM, model.TransportSoft, model.TransportTCP} {
		t.Run(transport, func(t *testing.T) {
			var now atomic.Int64
			now.Store(int64(time.Hour))
			s := startLarge(t, WithServerHooks(Options{}, func(h *wire.ServerHooks) { h.Now = func() time.Duration { return time.Duration(now.Load()) } }))
			m, err := s.Records(testRecords)
			if err != nil {
				t.Fatal(err)
			}
			held := func(want bool) {
				t.Helper()
				if got := s.budgets.answers.Use().Used; (got > 0) != want {
					t.Fatalf("%d bytes are held", got)
				}
				if got := m.Stats().Records.UsedBytes; (got > 0) != want {
					t.Fatalf("records use %d bytes", got)
				}
			}
			c := dial(t, s, client.Options{Transport: transport})
			beginUpload(t, c, 3, 300_000, 400_000)
			beginUpload(t, c, 4, 300_000, 400_000)
			held(true)
			c.Close()
			nothingHeld(t, s)
			held(false)

			c = dial(t, s, client.Options{Transport: transport})
			beginUpload(t, c, 3, 300_000, 400_000)
			now.Add(int64(uploadTimeout) - 1)
			s.uploads.expire(s.now())
			held(true)
			beginUpload(t, c, 4, 300_000, 400_000) // younger
			now.Add(1)
			s.uploads.expire(s.now())
			held(true)
			_, err = client.RawCall(t.Context(), c, wire.RawMessage{Kind: wire.KindPart, Body: partOf(3, 300_000, 400_000, make([]byte, 10_000))})
			if !errors.Is(err, model.ErrBusy) || !client.RetrySafe(err) {
				t.Errorf("a part that is too late: %v", err)
			}
			_, err = client.RawCall(t.Context(), c, wire.RawMessage{Kind: wire.KindPart, Body: partOf(4, 300_000, 400_000, make([]byte, 10_000))})
			if err != nil {
				t.Errorf("a part in time: %v", err)
			}
			now.Add(int64(uploadTimeout))
			nothingHeld(t, s) // the server's own loop ends it
			held(false)
		})
	}
}

// TestUploadsAreBounded: a source cannot hold more than its share by uploads. The source
// that holds most makes room for another, and gets an error.
func TestUploadsAreBounded(t *testing.T) {
	s := startLarge(t, Options{})
	share := s.budgets.answers.Use().Share
	c := dial(t, s, client.Options{Transport: model.TransportTCP})
	of := s.mostValue() - s.mostValue()%10_000
	beginUpload(t, c, 0, of, of)
	n, err := 0, error(nil)
	for ; err == nil; n += 10_000 {
		_, err = client.RawCall(t.Context(), c, wire.RawMessage{Kind: wire.KindPart, Body: partOf(1, n, of, make([]byte, 10_000))})
	}
	if !errors.Is(err, model.ErrBusy) || !client.RetrySafe(err) {
		t.Fatal(err)
	}
	if total := int64(of + n); total > share || total < share-4*uploadBase {
		t.Errorf("%d bytes were taken, share %d", total, share)
	}
	// The first upload is unchanged. The largest one of the source that holds most is cut if
	// there is no room for it and others: by hand, as all clients here are one source.
	beginUpload(t, c, 1, of*3/4, of)
	for _, name := range []string{"another", "a third"} {
		a := s.budgets.answers.Open(name, func(err error) { t.Error(name, err) })
		defer a.Close()
		if err := a.Take(share * 6 / 10); err != nil {
			t.Fatal(err)
		}
	}
	_, err = client.RawCall(t.Context(), c, wire.RawMessage{Kind: wire.KindPut, Body: putUpload(0)})
	if !errors.Is(err, model.ErrBusy) || !client.RetrySafe(err) {
		t.Errorf("put of an upload that was cut: %v", err)
	}
	if _, err := client.RawCall(t.Context(), c, wire.RawMessage{Kind: wire.KindPart, Body: partOf(1, of*3/4, of, make([]byte, 10_000))}); err != nil {
		t.Errorf("a part of another one: %v", err)
	}
}
