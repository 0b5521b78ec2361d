package client

import (
	"bytes"
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/wire"
)

// largeMemory is a memory limit with which values of up to a 36th of it may be put and
// got: 8 MiB, less a few bytes.
const largeMemory = 36 * (8<<20 - 5)

func startLarge(t *testing.T, o server.Options) *server.Server {
	o.MemoryLimit = largeMemory
	o = server.WithServerHooks(o, neverResident)
	if o.SlabBytes == 0 {
		o.SlabBytes = 128 << 20
	}
	return startRecords(t, o)
}

// TestPutBeyondRecords: a client sends no value that exceeds the limit of records.
func TestPutBeyondRecords(t *testing.T) {
	s := startLarge(t, server.Options{})
	r := dialRecords(t, s, Options{Transport: model.TransportTCP})
	_, err := r.Put(t.Context(), model.Record{Key: testKey(1), Value: make([]byte, record.MaxValueBytes+1)}, kv.Condition{})
	if !errors.Is(err, record.ErrTooLarge) || !RetrySafe(err) {
		t.Fatal(err)
	}
}

// TestUploadsAtOnce: more uploads than a connection may have at once wait for each other.
func TestUploadsAtOnce(t *testing.T) {
	for _, transport := range []string{model.TransportSHM, model.TransportSoft, model.TransportTCP} {
		t.Run(transport, func(t *testing.T) {
			s := startLarge(t, server.Options{})
			r := dialRecords(t, s, Options{Transport: transport})
			var wg sync.WaitGroup
			for i := range 3 * wire.MaxUploads {
				wg.Go(func() {
					value := numbered(uint64(i), []int{300_000, 30_000, wire.MostValue + 100_000}[i%3]+i)
					if _, err := r.Put(t.Context(), model.Record{Key: testKey(i), Value: value}, kv.Condition{}); err != nil {
						t.Errorf("put %d: %v", i, err)
						return
					}
					if got, err := r.Get(t.Context(), testKey(i), nil); err != nil || !bytes.Equal(got.Value, value) {
						t.Errorf("get %d: %d bytes, %v", i, len(got.Value), err)
					}
				})
			}
			wg.Wait()
			// Gets that a worker finds together, and large values among them.
			for range 4 {
				for i := range 3 * wire.MaxUploads {
					wg.Go(func() {
						got, err := r.Get(t.Context(), testKey(i), nil)
						if err != nil || !bytes.Equal(got.Value, numbered(uint64(i), len(got.Value))) || len(got.Value) < 30_000 {
							t.Errorf("get %d: %d bytes, %v", i, len(got.Value), err)
						}
					})
				}
				wg.Wait()
			}
			nothingHeld(t, s)
		})
	}
}

// TestLargeValuesAreNotMixed: a reader sees one whole value of one of several writers.
func TestLargeValuesAreNotMixed(t *testing.T) {
	var now atomic.Int64 // a clock that runs fast, so that places are reused soon
	now.Store(int64(time.Hour))
	s := startLarge(t, server.WithServerHooks(server.Options{SlabBytes: 512 << 20}, func(h *wire.ServerHooks) {
		h.Now = func() time.Duration { return time.Duration(now.Add(int64(time.Millisecond))) }
	}))
	var wg sync.WaitGroup
	var puts, gets atomic.Int64
	sizes := []int{1<<20 + 100, 2 << 20, 500, 3<<20 + 7}
	first := dialRecords(t, s, Options{Transport: model.TransportSHM})
	if _, err := first.Put(t.Context(), model.Record{Key: testKey(1), Value: numbered(0, sizes[0])}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	rounds := 20
	for w, transport := range []string{model.TransportSHM, model.TransportSoft, model.TransportTCP} {
		r := dialRecords(t, s, Options{Transport: transport})
		wg.Go(func() {
			for i := range rounds {
				v := numbered(uint64(w*1000+i+1), sizes[(w+i)%len(sizes)])
				if _, err := r.Put(t.Context(), model.Record{Key: testKey(1), Value: v, Flags: uint16(w*1000 + i + 1)}, kv.Condition{}); err != nil {
					t.Errorf("put: %v", err)
					return
				}
				puts.Add(1)
			}
		})
		wg.Go(func() {
			last := uint64(0)
			for range rounds {
				got, err := r.Get(t.Context(), testKey(1), nil)
				if err != nil {
					t.Errorf("get: %v", err)
					return
				}
				if got.Revision < last || !bytes.Equal(got.Value, numbered(uint64(got.Flags), len(got.Value))) {
					t.Errorf("%s: revision %d after %d, value of %d bytes is mixed", transport, got.Revision, last, len(got.Value))
					return
				}
				last = got.Revision
				gets.Add(1)
			}
		})
	}
	wg.Wait()
	if puts.Load() == 0 || gets.Load() == 0 {
		t.Error("nothing happened")
	}
	nothingHeld(t, s)
}

type hostilePart struct {
	kind    fastmsg.Kind
	payload []byte
	want    error
}

// TestHostileParts: parts that no client sends are refused, end their upload, and change
// nothing, also if the records are kept.
func TestHostileParts(t *testing.T) {
	type step = hostilePart
	some := make([]byte, 1000)
	begun := step{wire.KindPart, partOf(0, 0, 3000, some), nil}
	put := step{wire.KindPut, putUpload(0), model.ErrBusy} // the upload has ended
	for name, steps := range map[string][]step{
		"put without parts":      {put},
		"put of another one":     {begun, {wire.KindPut, putUpload(1), model.ErrBusy}},
		"put of a part":          {begun, {wire.KindPut, putUpload(0), model.ErrProtocol}, put},
		"put, no such number":    {begun, {wire.KindPut, putUpload(wire.MaxUploads), model.ErrProtocol}},
		"put, any number":        {begun, {wire.KindPut, putUpload(math.MaxUint32), model.ErrProtocol}},
		"put, no number":         {begun, {wire.KindPut, putUpload(0)[:len(putUpload(0))-4], model.ErrProtocol}},
		"put, a longer number":   {begun, {wire.KindPut, append(putUpload(0), 0), model.ErrProtocol}},
		"without a beginning":    {{wire.KindPart, partOf(0, 1000, 3000, some), model.ErrBusy}, put},
		"out of order":           {begun, {wire.KindPart, partOf(0, 2000, 3000, some), model.ErrProtocol}, put},
		"overlapping":            {begun, {wire.KindPart, partOf(0, 999, 3000, some), model.ErrProtocol}, put},
		"twice":                  {begun, {wire.KindPart, partOf(0, 1000, 3000, some), nil}, {wire.KindPart, partOf(0, 1000, 3000, some), model.ErrProtocol}, put},
		"longer than it said":    {begun, {wire.KindPart, partOf(0, 1000, 3000, make([]byte, 2001)), model.ErrProtocol}, put},
		"another length":         {begun, {wire.KindPart, partOf(0, 1000, 3001, some), model.ErrProtocol}, put},
		"shorter than it is":     {begun, {wire.KindPart, partOf(0, 1000, 500, some), model.ErrProtocol}, put},
		"empty":                  {{wire.KindPart, partOf(0, 0, 3000, nil), model.ErrProtocol}, put},
		"empty, of nothing":      {{wire.KindPart, partOf(0, 0, 0, nil), model.ErrProtocol}, put},
		"an empty one later":     {begun, {wire.KindPart, partOf(0, 1000, 3000, nil), model.ErrProtocol}, put},
		"behind the end":         {begun, {wire.KindPart, partOf(0, math.MaxUint32, 3000, some), model.ErrProtocol}, put},
		"more than the limit":    {{wire.KindPart, partOf(0, 0, math.MaxUint32, some), record.ErrTooLarge}, put},
		"no such number":         {{wire.KindPart, partOf(wire.MaxUploads, 0, 3000, some), model.ErrProtocol}},
		"any number":             {{wire.KindPart, partOf(math.MaxUint32, 0, 3000, some), model.ErrProtocol}},
		"too short":              {{wire.KindPart, wire.AppendHead(nil, 1, 0), model.ErrProtocol}},
		"no collection":          {{wire.KindPart, wire.AppendHead(nil, 77, 0), model.ErrUnknownCollection}},
		"a collection of boxes":  {{wire.KindPart, wire.AppendPart(wire.AppendHead(nil, 0, 0), 0, 3000), model.ErrKind}},
		"begun again, and put":   {begun, begun, {wire.KindPut, putUpload(0), model.ErrProtocol}, put},
		"with a forged revision": {begun, {wire.KindPut, append(wire.AppendRevision(wire.AppendHead(nil, 1, wire.PutParts|16), 0), putUpload(0)[16:]...), model.ErrProtocol}},
	} {
		t.Run(name, func(t *testing.T) {
			hostileParts(t, startLarge(t, server.Options{SlabBytes: 32 << 20}), steps)
			var kept server.Options
			keepRecords(t, &kept)
			kept.SlabBytes = 32 << 20
			s := startLarge(t, kept)
			if err := s.WaitReady(t.Context()); err != nil {
				t.Fatal(err)
			}
			hostileParts(t, s, steps)
		})
	}
}

func hostileParts(t *testing.T, s *server.Server, steps []hostilePart) {
	t.Helper()
	for _, transport := range []string{model.TransportTCP, model.TransportSHM} {
		c := dial(t, s, Options{Transport: transport})
		for i, st := range steps {
			_, err := RawCall(t.Context(), c, wire.RawMessage{Kind: st.kind, Body: st.payload})
			if !errors.Is(err, st.want) {
				t.Fatalf("%s: step %d: %v, want %v", transport, i, err, st.want)
			}
		}
		c.Close()
	}
	nothingHeld(t, s)
	if st := s.Stats().Records[testRecords]; st.Puts != 0 || st.Records.UsedBytes != 0 {
		t.Errorf("%+v", st)
	}
}

// TestUploadIsCancelled: a Put whose context ends midway changes nothing; others continue.
func TestUploadIsCancelled(t *testing.T) {
	began, later := time.Now(), new(atomic.Int64)
	s := startLarge(t, server.WithServerHooks(server.Options{}, func(h *wire.ServerHooks) {
		h.Now = func() time.Duration { return time.Hour + time.Since(began) + time.Duration(later.Load()) }
	}))
	r := dialRecords(t, s, Options{Transport: model.TransportTCP})
	ctx, cancel := context.WithCancel(t.Context())
	parts := 0
	defer seeRequests(r, func(kind fastmsg.Kind, _ caller) {
		if kind == wire.KindPart {
			if parts++; parts == 3 {
				cancel()
			}
		}
	})()
	for i := range 2 * wire.MaxUploads { // so that numbers are given back
		_, err := r.Put(ctx, model.Record{Key: testKey(1), Value: make([]byte, 1<<20)}, kv.Condition{})
		// The first one ends at some part, whose answer may have come before.
		if !errors.Is(err, model.ErrNotSent) || !errors.Is(err, context.Canceled) && i > 0 || !RetrySafe(err) {
			t.Fatal(err)
		}
	}
	if _, err := r.Get(t.Context(), testKey(1), nil); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("a record: %v", err)
	}
	if _, err := r.Put(t.Context(), model.Record{Key: testKey(1), Value: make([]byte, 1<<20)}, kv.Condition{}); err != nil {
		t.Error(err)
	}
	later.Store(int64(limits.StallTimeout + time.Second)) // No upload lasts that long.
	nothingHeld(t, s)
}

// callerFunc sees the requests of a session.
type callerFunc struct {
	caller
	before func(fastmsg.Kind, caller)
}

func (f callerFunc) Call(ctx context.Context, kind fastmsg.Kind, p, dst []byte) ([]byte, fastmsg.Kind, error) {
	f.before(kind, f.caller)
	return f.caller.Call(ctx, kind, p, dst)
}

// seeRequests calls before with each request, until the connection ends or end is
// called. The connection is a plain socket, and so has no other resources.
func seeRequests(r *Records, before func(fastmsg.Kind, caller)) (end func()) {
	return callBySome(r.c, func(inner caller) caller { return callerFunc{inner, before} })
}

// callBySome replaces the caller that carries requests.
func callBySome(c *Client, by func(inner caller) caller) (end func()) {
	s := c.conn.sessions.latest()
	seen := &session{
		hello: s.hello, transport: s.transport, caller: by(s.caller),
		slabs: make(map[string]*openSlab), uploads: newUploadNumbers(), shared: s.shared, cacheKey: s.cacheKey,
	}
	seen.channels.init()
	seen.recordChannels.init()
	c.conn.sessions.present.Store(seen)
	return func() { c.conn.sessions.present.CompareAndSwap(seen, s) }
}

// TestUploadSurvivesLostConnection: if a connection is lost in the middle of an upload,
// the Put begins again on the next one.
func TestUploadSurvivesLostConnection(t *testing.T) {
	s := startLarge(t, server.Options{})
	r := dialRecords(t, s, Options{Transport: model.TransportTCP})
	parts := 0
	defer seeRequests(r, func(kind fastmsg.Kind, inner caller) {
		if kind == wire.KindPart {
			if parts++; parts == 3 {
				inner.Close()
			}
		}
	})()
	value := numbered(7, 1<<20)
	rev, err := r.Put(t.Context(), model.Record{Key: testKey(1), Value: value}, kv.Condition{IfAbsent: true})
	if err != nil || parts != 3 {
		t.Fatalf("%v after %d parts over the first connection", err, parts)
	}
	if got, err := r.Get(t.Context(), testKey(1), nil); err != nil || got.Revision != rev || !bytes.Equal(got.Value, value) {
		t.Fatalf("revision %d, %v", got.Revision, err)
	}
	nothingHeld(t, s)
}
