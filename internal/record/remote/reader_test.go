package remote

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/readtest"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/offload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	slabBytes = 64 * record.SpanBytes
	window    = 16
)

// site is a server's heap, and a client's Reader of it.
type site struct {
	slab   []byte
	heap   *record.Heap
	base   rdma.Remote
	reader *Reader
	now    time.Duration // the client's clock
	copies uint64        // reads for each block
}

func newSite(t testing.TB, limits Limits) *site {
	t.Helper()
	srv := readtest.Serve(t, slabBytes)
	s := &site{slab: srv.Bytes(), base: srv.Remote(), copies: srv.Copies()}
	var err error
	if s.heap, err = record.New(record.Options{Memory: s.slab, Boot: 7}); err != nil {
		t.Fatal(err)
	}
	space, err := record.ParseHeader(s.slab[:record.HeaderBytes])
	if err != nil {
		t.Fatal(err)
	}
	s.reader = NewReader(srv.Dial(limits.Block, window), s.base, space, limits, func() time.Duration { return s.now })
	return s
}

var wide = Limits{Block: record.MaxBlockBytes, Bytes: 64 << 20}

func key(i int) []byte { return fmt.Appendf(nil, "key%d", i) }

func value(i, n int) []byte { return bytes.Repeat([]byte{byte(i), byte(i >> 8), 'x'}, n/3+1)[:n] }

func (s *site) put(t testing.TB, i, n int) Item {
	t.Helper()
	ref, err := s.heap.Put(record.Record{Key: key(i), Value: value(i, n), Revision: uint64(i)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return Item{Ref: ref, Key: key(i)}
}

// TestRead: records of all kinds take the fewest round trips possible.
func TestRead(t *testing.T) {
	s := newSite(t, wide)
	one := s.put(t, 1, 32)
	for _, c := range []struct {
		bytes        int
		reads, trips uint64
	}{{32, 1, 1}, {65_000, 1, 1}, {70_000, 3, 2}, {4 << 20, 66, 2}} {
		it := []Item{s.put(t, 2, c.bytes)}
		if err := s.reader.Read(t.Context(), it); err != nil || it[0].Err != nil {
			t.Fatal(err, it[0].Err)
		}
		if v := it[0].View; !bytes.Equal(v.Value, value(2, c.bytes)) || v.Revision != 2 || v.Blocks() != 0 {
			t.Errorf("%d bytes: %d, revision %d", c.bytes, len(v.Value), v.Revision)
		}
		if st := s.reader.Stats(); st.Reads != s.copies*c.reads || st.RoundTrips != c.trips {
			t.Errorf("%d bytes: %+v, want %d reads in %d round trips", c.bytes, st, c.reads, c.trips)
		}
	}
	// Many at once, among them stale ones of each kind.
	items := []Item{one}
	for i := 10; i < 200; i++ {
		items = append(items, s.put(t, i, i*i*3))
	}
	dead, other, forged, late, in := s.put(t, 3, 90_000), s.put(t, 4, 1), one, one, one
	if err := s.heap.Kill(dead.Ref, 0); err != nil {
		t.Fatal(err)
	}
	other.Key = key(5)
	forged.Ref++
	s.now = time.Minute
	late.Until, in.Until = time.Minute, time.Minute+1
	items = append(items, dead, other, forged, late, in, Item{}, Item{Ref: 1<<63 + 1})
	wants := []error{record.ErrDead, record.ErrOtherKey, record.ErrReused, ErrLate, nil, record.ErrRef, record.ErrRef}
	if err := s.reader.Read(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	for i, it := range items {
		var want error
		if n := i - (len(items) - len(wants)); n >= 0 {
			want = wants[n]
		}
		if !errors.Is(it.Err, want) {
			t.Errorf("item %d: %v, want %v", i, it.Err, want)
		}
		if (want == nil || want == record.ErrDead) && (len(it.View.Value) != it.View.ValueBytes || it.View.Value == nil ||
			!bytes.Equal(it.View.Value, value(int(it.View.Revision), it.View.ValueBytes)) || !bytes.Equal(it.View.Key, it.Key)) {
			t.Errorf("item %d: %d bytes of %d, key %q", i, len(it.View.Value), it.View.ValueBytes, it.View.Key)
		}
		if it.Err != nil && want != record.ErrDead && it.View.Key != nil {
			t.Errorf("item %d: %v and a view", i, it.Err)
		}
	}
	if st := s.reader.Stats(); st.RoundTrips != 2 {
		t.Errorf("%+v", st)
	}
}

// TestLimits: a record larger than the limits is refused, the rest is read.
func TestLimits(t *testing.T) {
	s := newSite(t, Limits{Block: 4096, Bytes: 10_000})
	items := []Item{s.put(t, 1, 3000), s.put(t, 2, 5000), s.put(t, 3, 3000), s.put(t, 4, 100_000), s.put(t, 5, 3000), s.put(t, 6, 3000)}
	if err := s.reader.Read(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i, it := range items {
		switch {
		case errors.Is(it.Err, ErrTooLarge):
			refused++
		case it.Err != nil || len(it.View.Value) != 3000:
			t.Errorf("item %d: %v", i, it.Err)
		}
	}
	if refused != 3 || items[1].Err == nil || items[3].Err == nil {
		t.Errorf("%d refused", refused)
	}
}

// TestUnread: after an error of the channel no unanswered item looks answered.
func TestUnread(t *testing.T) {
	s := newSite(t, wide)
	items := []Item{s.put(t, 1, 32), s.put(t, 2, 100_000)}
	s.reader.channel.Close()
	if err := s.reader.Read(t.Context(), items); !errors.Is(err, offload.ErrChannel) {
		t.Fatal(err)
	}
	for i, it := range items {
		if !errors.Is(it.Err, ErrUnread) {
			t.Errorf("item %d: %v", i, it.Err)
		}
	}
}

// walkBy carries a walk over bytes, reads arriving in any order.
func walkBy(t testing.TB, w offload.Traversal, mem []byte, r *rand.Rand) {
	t.Helper()
	var under []offload.Ref
	for n := 0; ; n++ {
		if n > 2*len(mem)/record.LineBytes {
			t.Fatalf("%d reads", n)
		}
		for len(under) < window {
			ref, ok, err := w.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			if ref.Offset+uint64(ref.Len) > uint64(len(mem)) || ref.Len == 0 {
				t.Fatalf("read of %d bytes at %d, the slab has %d", ref.Len, ref.Offset, len(mem))
			}
			under = append(under, ref)
		}
		if len(under) == 0 {
			return
		}
		i := r.IntN(len(under))
		ref := under[i]
		under = append(under[:i], under[i+1:]...)
		own := bytes.Clone(mem[ref.Offset : ref.Offset+uint64(ref.Len)])
		if v, err := w.Visit(ref, own); err != nil || v != offload.Accept {
			t.Fatal(v, err)
		}
		clear(own)
	}
}

// TestHostile: whatever the memory holds, walks end, take no more than their limits,
// and take no wrong value, as long as no attacker computes check sums.
func TestHostile(t *testing.T) {
	s := newSite(t, wide)
	var items []Item
	for i := range 60 {
		items = append(items, s.put(t, i, []int{10, 500, 70_000, 200_000}[i%4]))
	}
	used := 24 * record.SpanBytes
	r := rand.New(rand.NewPCG(4, 2))
	mem := make([]byte, slabBytes)
	w := NewWalk(s.heap.Space(), Limits{Block: record.MaxBlockBytes, Bytes: 1 << 20}, nil)
	ends := map[string]int{}
	for range 100 {
		copy(mem, s.slab[:used])
		for range 30 {
			it := &items[r.IntN(len(items))]
			at := int(it.Ref.Offset()) + 8*r.IntN(it.Ref.Bytes()/8)
			binary.LittleEndian.PutUint64(mem[at:], r.Uint64()>>r.IntN(64))
			at = record.SpanBytes + 8*r.IntN((used-record.SpanBytes)/8)
			mem[at] ^= 1 << r.IntN(8)
		}
		w.Reset(items)
		walkBy(t, w, mem, r)
		total := 0
		for i, it := range items {
			total += len(it.View.Value)
			switch {
			case it.Err == nil:
				ends["fine"]++
				if !bytes.Equal(it.View.Value, value(i, it.View.ValueBytes)) || !bytes.Equal(it.View.Key, key(i)) {
					t.Fatalf("item %d: a wrong value", i)
				}
			case errors.Is(it.Err, ErrUnread):
				t.Fatalf("item %d: %v", i, it.Err)
			default:
				ends[it.Err.Error()[:20]]++
			}
		}
		if total > 1<<20 || cap(w.arena) > 2<<20 {
			t.Fatalf("%d bytes, arena %d", total, cap(w.arena))
		}
	}
	t.Log(ends)
	if ends["fine"] < 1000 || len(ends) < 3 {
		t.Errorf("walks ended so: %v", ends)
	}
}

// BenchmarkRead reads by kept references over shared memory.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint("items=", n), func(b *testing.B) {
			s := newSite(b, wide)
			var items []Item
			for i := range n {
				items = append(items, s.put(b, i, 32))
			}
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				if err := s.reader.Read(ctx, items); err != nil || items[n-1].Err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/record")
		})
	}
}
