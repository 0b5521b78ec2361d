package catfish

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/record"
)

// largeMemory is a memory limit with which values of up to a 36th of it may be put and
// got: 8 MiB, less a few bytes.
const largeMemory = 36 * (8<<20 - 5)

func largePaths() []path {
	ps := []path{{name: "tcp", transport: TransportTCP, policy: "tcp"}}
	for _, tr := range oneSided {
		for _, p := range []string{"fast", "fetch", "offload"} {
			ps = append(ps, path{name: tr + "/" + p, transport: tr, policy: p})
		}
	}
	return ps
}

// numbered is a value whose every 8 bytes say where they are, and of which value.
func numbered(seed uint64, n int) []byte {
	b := make([]byte, 0, n+8)
	for i := uint64(0); len(b) < n; i++ {
		b = binary.LittleEndian.AppendUint64(b, seed<<32|i)
	}
	return b[:n]
}

func startLarge(t *testing.T, o ServerOptions) *Server {
	o.MemoryLimit = largeMemory
	o = WithServerHooks(o, neverResident)
	if o.SlabBytes == 0 {
		o.SlabBytes = 128 << 20
	}
	return startRecords(t, o)
}

// usedOf is how much of a server's budget is used.
func usedOf(t *testing.T, s *Server, budget string) int64 {
	t.Helper()
	for _, b := range s.Stats().Budgets {
		if b.Name == budget {
			return b.Used
		}
	}
	t.Fatalf("no budget %q", budget)
	return 0
}

// nothingHeld waits until no connection holds anything of the budget of answers, which
// uploads in flight do.
func nothingHeld(t *testing.T, s *Server) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		used := usedOf(t, s, "bytes of answers")
		if used == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d bytes are held", used)
		}
	}
}

// TestLargeValues: values of all sizes up to the limit are put and got, by every path,
// alone and among others.
func TestLargeValues(t *testing.T) {
	for _, p := range largePaths() {
		t.Run(p.name, func(t *testing.T) {
			s := startLarge(t, ServerOptions{})
			limit := s.mostValue()
			if limit != 8<<20-5 {
				t.Fatalf("limit of %d bytes", limit)
			}
			ctx := t.Context()
			r := dialRecords(t, s, p.options())
			sizes := []int{
				0, 1, 10_000, 15_000, 65_000, record.MaxBlockBytes - 40 - 5, record.MaxBlockBytes, 70_000, mostValue, mostValue + 1,
				3<<20 + 1, 40, limit - 1, limit,
			}
			var keys [][]byte
			revisions := make([]uint64, len(sizes))
			for i, n := range sizes {
				keys = append(keys, testKey(i))
				var err error
				rec := Record{Key: keys[i], Value: numbered(uint64(i), n), Flags: uint16(i)}
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
				_, err := r.Put(ctx, Record{Key: keys[0], Value: make([]byte, n)}, kv.Condition{})
				if !errors.Is(err, record.ErrTooLarge) || !RetrySafe(err) || !bytes.Contains([]byte(err.Error()), fmt.Appendf(nil, "value of %d bytes, limit %d", n, limit)) {
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
			if _, err := r.Get(ctx, keys[1], nil); !errors.Is(err, ErrTooLarge) {
				t.Errorf("get of %d bytes: %v", limit+1, err)
			}
			if _, err := r.GetMany(ctx, keys[:3], nil); !errors.Is(err, ErrTooLarge) {
				t.Errorf("get of many, of these one of %d bytes: %v", limit+1, err)
			}
			nothingHeld(t, s)
		})
	}
}

// TestPutBeyondRecords: a client sends no value that exceeds the limit of records.
func TestPutBeyondRecords(t *testing.T) {
	s := startLarge(t, ServerOptions{})
	r := dialRecords(t, s, Options{Transport: TransportTCP})
	_, err := r.Put(t.Context(), Record{Key: testKey(1), Value: make([]byte, record.MaxValueBytes+1)}, kv.Condition{})
	if !errors.Is(err, record.ErrTooLarge) || !RetrySafe(err) {
		t.Fatal(err)
	}
}

// TestUploadsAtOnce: more uploads than a connection may have at once wait for each other.
func TestUploadsAtOnce(t *testing.T) {
	for _, transport := range []string{TransportSHM, TransportSoft, TransportTCP} {
		t.Run(transport, func(t *testing.T) {
			s := startLarge(t, ServerOptions{})
			r := dialRecords(t, s, Options{Transport: transport})
			var wg sync.WaitGroup
			for i := range 3 * maxUploads {
				wg.Go(func() {
					value := numbered(uint64(i), []int{300_000, 30_000, mostValue + 100_000}[i%3]+i)
					if _, err := r.Put(t.Context(), Record{Key: testKey(i), Value: value}, kv.Condition{}); err != nil {
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
				for i := range 3 * maxUploads {
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
	s := startLarge(t, WithServerHooks(ServerOptions{SlabBytes: 512 << 20}, func(h *ServerHooks) {
		h.Now = func() time.Duration { return time.Duration(now.Add(int64(time.Millisecond))) }
	}))
	var wg sync.WaitGroup
	var puts, gets atomic.Int64
	sizes := []int{1<<20 + 100, 2 << 20, 500, 3<<20 + 7}
	first := dialRecords(t, s, Options{Transport: TransportSHM})
	if _, err := first.Put(t.Context(), Record{Key: testKey(1), Value: numbered(0, sizes[0])}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	rounds := 20
	for w, transport := range []string{TransportSHM, TransportSoft, TransportTCP} {
		r := dialRecords(t, s, Options{Transport: transport})
		wg.Go(func() {
			for i := range rounds {
				v := numbered(uint64(w*1000+i+1), sizes[(w+i)%len(sizes)])
				if _, err := r.Put(t.Context(), Record{Key: testKey(1), Value: v, Flags: uint16(w*1000 + i + 1)}, kv.Condition{}); err != nil {
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

// partOf is a well-formed part of upload number of collection 1.
func partOf(number uint32, at, of int, b []byte) []byte {
	return append(appendPart(appendHead(nil, 1, number), at, of), b...)
}

// putUpload puts upload number under the key "k".
func putUpload(number uint32) []byte {
	b := appendPut(appendRevision(appendHead(nil, 1, putParts), 0), 0, 0, []byte("k"))
	return binary.LittleEndian.AppendUint32(b, number)
}

// TestHostileParts: parts that no client sends are refused, end their upload, and change nothing.
func TestHostileParts(t *testing.T) {
	type step struct {
		kind    fastmsg.Kind
		payload []byte
		want    error
	}
	some := make([]byte, 1000)
	begun := step{kindPart, partOf(0, 0, 3000, some), nil}
	put := step{kindPut, putUpload(0), ErrBusy} // the upload has ended
	for name, steps := range map[string][]step{
		"put without parts":      {put},
		"put of another one":     {begun, {kindPut, putUpload(1), ErrBusy}},
		"put of a part":          {begun, {kindPut, putUpload(0), ErrProtocol}, put},
		"put, no such number":    {begun, {kindPut, putUpload(maxUploads), ErrProtocol}},
		"put, any number":        {begun, {kindPut, putUpload(math.MaxUint32), ErrProtocol}},
		"put, no number":         {begun, {kindPut, putUpload(0)[:len(putUpload(0))-4], ErrProtocol}},
		"put, a longer number":   {begun, {kindPut, append(putUpload(0), 0), ErrProtocol}},
		"without a beginning":    {{kindPart, partOf(0, 1000, 3000, some), ErrBusy}, put},
		"out of order":           {begun, {kindPart, partOf(0, 2000, 3000, some), ErrProtocol}, put},
		"overlapping":            {begun, {kindPart, partOf(0, 999, 3000, some), ErrProtocol}, put},
		"twice":                  {begun, {kindPart, partOf(0, 1000, 3000, some), nil}, {kindPart, partOf(0, 1000, 3000, some), ErrProtocol}, put},
		"longer than it said":    {begun, {kindPart, partOf(0, 1000, 3000, make([]byte, 2001)), ErrProtocol}, put},
		"another length":         {begun, {kindPart, partOf(0, 1000, 3001, some), ErrProtocol}, put},
		"shorter than it is":     {begun, {kindPart, partOf(0, 1000, 500, some), ErrProtocol}, put},
		"empty":                  {{kindPart, partOf(0, 0, 3000, nil), ErrProtocol}, put},
		"empty, of nothing":      {{kindPart, partOf(0, 0, 0, nil), ErrProtocol}, put},
		"an empty one later":     {begun, {kindPart, partOf(0, 1000, 3000, nil), ErrProtocol}, put},
		"behind the end":         {begun, {kindPart, partOf(0, math.MaxUint32, 3000, some), ErrProtocol}, put},
		"more than the limit":    {{kindPart, partOf(0, 0, math.MaxUint32, some), record.ErrTooLarge}, put},
		"no such number":         {{kindPart, partOf(maxUploads, 0, 3000, some), ErrProtocol}},
		"any number":             {{kindPart, partOf(math.MaxUint32, 0, 3000, some), ErrProtocol}},
		"too short":              {{kindPart, appendHead(nil, 1, 0), ErrProtocol}},
		"no collection":          {{kindPart, appendHead(nil, 77, 0), ErrUnknownCollection}},
		"a collection of boxes":  {{kindPart, appendPart(appendHead(nil, 0, 0), 0, 3000), ErrKind}},
		"begun again, and put":   {begun, begun, {kindPut, putUpload(0), ErrProtocol}, put},
		"with a forged revision": {begun, {kindPut, append(appendRevision(appendHead(nil, 1, putParts|8), 0), putUpload(0)[16:]...), ErrProtocol}},
	} {
		t.Run(name, func(t *testing.T) {
			s := startLarge(t, ServerOptions{SlabBytes: 32 << 20})
			m, err := s.Records(testRecords)
			if err != nil {
				t.Fatal(err)
			}
			for _, transport := range []string{TransportTCP, TransportSHM} {
				c := dial(t, s, Options{Transport: transport})
				for i, st := range steps {
					_, err := RawCall(t.Context(), c, RawMessage{Kind: st.kind, Body: st.payload})
					if !errors.Is(err, st.want) {
						t.Fatalf("%s: step %d: %v, want %v", transport, i, err, st.want)
					}
				}
				c.Close()
			}
			nothingHeld(t, s)
			if st := m.Stats(); st.Puts != 0 || st.Records.UsedBytes != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// beginUpload sends only the first parts of a value, which together hold the given bytes.
func beginUpload(t *testing.T, c *Client, number uint32, bytes, of int) {
	t.Helper()
	for at := 0; at < bytes; at += 10_000 {
		p := partOf(number, at, of, make([]byte, min(10_000, bytes-at)))
		if _, err := RawCall(t.Context(), c, RawMessage{Kind: kindPart, Body: p}); err != nil {
			t.Fatalf("part at %d: %v", at, err)
		}
	}
}

// TestUploadIsGivenUp: a connection that ends in the middle of an upload, or makes no
// progress, leaves nothing behind.
func TestUploadIsGivenUp(t *testing.T) {
	for _, transport := range []string{TransportSHM, TransportSoft, TransportTCP} {
		t.Run(transport, func(t *testing.T) {
			var now atomic.Int64
			now.Store(int64(time.Hour))
			s := startLarge(t, WithServerHooks(ServerOptions{}, func(h *ServerHooks) { h.Now = func() time.Duration { return time.Duration(now.Load()) } }))
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
			c := dial(t, s, Options{Transport: transport})
			beginUpload(t, c, 3, 300_000, 400_000)
			beginUpload(t, c, 4, 300_000, 400_000)
			held(true)
			c.Close()
			nothingHeld(t, s)
			held(false)

			c = dial(t, s, Options{Transport: transport})
			beginUpload(t, c, 3, 300_000, 400_000)
			now.Add(int64(uploadTimeout) - 1)
			s.uploads.expire(s.now())
			held(true)
			beginUpload(t, c, 4, 300_000, 400_000) // younger
			now.Add(1)
			s.uploads.expire(s.now())
			held(true)
			_, err = RawCall(t.Context(), c, RawMessage{Kind: kindPart, Body: partOf(3, 300_000, 400_000, make([]byte, 10_000))})
			if !errors.Is(err, ErrBusy) || !RetrySafe(err) {
				t.Errorf("a part that is too late: %v", err)
			}
			_, err = RawCall(t.Context(), c, RawMessage{Kind: kindPart, Body: partOf(4, 300_000, 400_000, make([]byte, 10_000))})
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
	s := startLarge(t, ServerOptions{})
	share := s.budgets.answers.Use().Share
	c := dial(t, s, Options{Transport: TransportTCP})
	of := s.mostValue() - s.mostValue()%10_000
	beginUpload(t, c, 0, of, of)
	n, err := 0, error(nil)
	for ; err == nil; n += 10_000 {
		_, err = RawCall(t.Context(), c, RawMessage{Kind: kindPart, Body: partOf(1, n, of, make([]byte, 10_000))})
	}
	if !errors.Is(err, ErrBusy) || !RetrySafe(err) {
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
	_, err = RawCall(t.Context(), c, RawMessage{Kind: kindPut, Body: putUpload(0)})
	if !errors.Is(err, ErrBusy) || !RetrySafe(err) {
		t.Errorf("put of an upload that was cut: %v", err)
	}
	if _, err := RawCall(t.Context(), c, RawMessage{Kind: kindPart, Body: partOf(1, of*3/4, of, make([]byte, 10_000))}); err != nil {
		t.Errorf("a part of another one: %v", err)
	}
}

// TestUploadIsCancelled: a Put whose context ends midway changes nothing; others continue.
func TestUploadIsCancelled(t *testing.T) {
	began, later := time.Now(), new(atomic.Int64)
	s := startLarge(t, WithServerHooks(ServerOptions{}, func(h *ServerHooks) {
		h.Now = func() time.Duration { return time.Hour + time.Since(began) + time.Duration(later.Load()) }
	}))
	r := dialRecords(t, s, Options{Transport: TransportTCP})
	ctx, cancel := context.WithCancel(t.Context())
	parts := 0
	defer seeRequests(r, func(kind fastmsg.Kind, _ caller) {
		if kind == kindPart {
			if parts++; parts == 3 {
				cancel()
			}
		}
	})()
	for range 2 * maxUploads { // so that numbers are given back
		_, err := r.Put(ctx, Record{Key: testKey(1), Value: make([]byte, 1<<20)}, kv.Condition{})
		if !errors.Is(err, ErrNotSent) || !errors.Is(err, context.Canceled) && parts > 3 || !RetrySafe(err) {
			t.Fatal(err)
		}
	}
	if _, err := r.Get(t.Context(), testKey(1), nil); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("a record: %v", err)
	}
	if _, err := r.Put(t.Context(), Record{Key: testKey(1), Value: make([]byte, 1<<20)}, kv.Condition{}); err != nil {
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
	s := startLarge(t, ServerOptions{})
	r := dialRecords(t, s, Options{Transport: TransportTCP})
	parts := 0
	defer seeRequests(r, func(kind fastmsg.Kind, inner caller) {
		if kind == kindPart {
			if parts++; parts == 3 {
				inner.Close()
			}
		}
	})()
	value := numbered(7, 1<<20)
	rev, err := r.Put(t.Context(), Record{Key: testKey(1), Value: value}, kv.Condition{IfAbsent: true})
	if err != nil || parts != 3 {
		t.Fatalf("%v after %d parts over the first connection", err, parts)
	}
	if got, err := r.Get(t.Context(), testKey(1), nil); err != nil || got.Revision != rev || !bytes.Equal(got.Value, value) {
		t.Fatalf("revision %d, %v", got.Revision, err)
	}
	nothingHeld(t, s)
}
