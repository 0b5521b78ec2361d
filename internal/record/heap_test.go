package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestClasses: a record wastes less than an eighth of its place and its share of what is
// left of the span, a fifth if it has more than 32 KiB, beyond the rounding to lines.
func TestClasses(t *testing.T) {
	for n := 1; n <= lenMask+1; n++ {
		c := classOf[n]
		if int(classLines[c]) < n || c > 0 && int(classLines[c-1]) >= n {
			t.Fatalf("%d lines: class %d of %d lines", n, c, classLines[c])
		}
		share := float64(spanLines) / float64(placesOf(c))
		if waste := 1 - float64(n)/share; waste >= 0.2 || n <= 512 && waste >= 0.125 {
			t.Errorf("%d lines take %.1f, %.3f wasted", n, share, waste)
		}
	}
	if len(classLines) > 53 {
		t.Errorf("%d classes: each may keep a span", len(classLines))
	}
	t.Log(classLines)
}

// TestSizes: records of all lengths around the borders read back unchanged, by each
// kind of read, and take the expected lines.
func TestSizes(t *testing.T) {
	h := newHeap(t, 40)
	var buf []byte
	for _, keyBytes := range []int{1, 16, 24, 511, MaxKeyBytes} {
		for _, n := range []int{0, 1, 8, 32, 63, 64, 65, 1000, blockBytes - 1, blockBytes, blockBytes + 1,
			MaxBlockBytes - headBytes - expiryBytes - keyBytes, MaxBlockBytes - headBytes - keyBytes, MaxBlockBytes - headBytes - keyBytes + 1, 1 << 20, 5<<20 + 7} {
			r := Record{Key: someBytes(uint64(keyBytes), keyBytes), Value: someBytes(9, n), Revision: uint64(n), Flags: 0xABCD}
			total := headBytes + keyBytes + n
			if n%2 == 0 {
				r.Expiry = -5
				total += expiryBytes
			}
			ref := mustPut(t, h, r, 0)
			if total <= MaxBlockBytes && ref.lines() != linesOf(total) {
				t.Fatalf("%d bytes: %v", total, ref)
			}
			v, b, err := h.Read(ref, r.Key, buf)
			buf = b
			if err != nil || !bytes.Equal(v.Key, r.Key) || !bytes.Equal(v.Value, r.Value) ||
				v.Revision != r.Revision || v.Expiry != r.Expiry || v.Flags != r.Flags || v.ValueBytes != n {
				t.Fatalf("key of %d, value of %d bytes: %v, revision %d, %d bytes", keyBytes, n, err, v.Revision, len(v.Value))
			}
			if v, err := h.View(ref, r.Key); err != nil || v.Blocks() == 0 && !bytes.Equal(v.Value, r.Value) {
				t.Fatalf("in place: %v", err)
			}
			if _, err := h.View(ref, []byte("other")); !errors.Is(err, ErrOtherKey) {
				t.Fatal(err)
			}
			if err := h.Kill(ref, 0); err != nil {
				t.Fatal(err)
			}
			if err := h.Kill(ref, 0); !errors.Is(err, ErrStale) {
				t.Fatalf("killed twice: %v", err)
			}
			v, _, err = h.Read(ref, nil, nil)
			if !errors.Is(err, ErrDead) || !bytes.Equal(v.Value, r.Value) {
				t.Fatalf("dead: %v", err)
			}
			if err := h.check(); err != nil {
				t.Fatal(err)
			}
			h.Reclaim(h.now+DefaultGrace, 1<<30)
			if s := h.Stats(); s.UsedBytes != 0 || s.RetiredBytes != 0 || s.SpanBytes != 0 || s.Records != 0 {
				t.Fatalf("%+v", s)
			}
		}
	}
}

// TestDensity: the header is small enough for usual records.
func TestDensity(t *testing.T) {
	h := newHeap(t, 4)
	for value, lines := range map[int]int{16: 1, 17: 2, 80: 2, 81: 3} {
		if ref := mustPut(t, h, Record{Key: keyOf(1), Value: make([]byte, value)}, 0); ref.lines() != lines {
			t.Errorf("16 + %d bytes: %d lines, want %d", value, ref.lines(), lines)
		}
	}
}

// TestGrace: a place is used again when the base grace, or the latest lease if that is
// later, has ended, and not before.
func TestGrace(t *testing.T) {
	for _, c := range []struct {
		aged   time.Duration
		grants int
		free   time.Duration // after death
	}{
		{0, 0, time.Second},
		{0, 50, time.Second},                // a young record: leases of 1 s
		{100 * time.Second, 1, time.Second}, // no other client asks
		{100 * time.Second, 5, 5 * time.Second},
		{100 * time.Second, 100, 64 * time.Second},
		{10 * time.Second, 100, 10 * time.Second},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			h := newHeap(t, 2)
			ref := mustPut(t, h, Record{Key: keyOf(1)}, 0)
			for range c.grants {
				h.Grant(ref, c.aged)
			}
			if err := h.Kill(ref, c.aged); err != nil {
				t.Fatal(err)
			}
			if d := h.Grant(ref, c.aged); d != 0 {
				t.Errorf("a lease of %v on a dead record", d)
			}
			if n := h.Reclaim(c.aged+c.free-1, 10); n != 0 {
				t.Errorf("%d places too early", n)
			}
			if n := h.Reclaim(c.aged+c.free, 10); n != 1 {
				t.Errorf("%d places in time", n)
			}
		})
	}
}

// TestPopularity: reads that stop are forgotten.
func TestPopularity(t *testing.T) {
	h := newHeap(t, 2)
	ref := mustPut(t, h, Record{Key: keyOf(1)}, 0)
	now := 1000 * time.Second
	for range 99 {
		h.Grant(ref, now)
	}
	if d := h.Grant(ref, now); d != 64*time.Second {
		t.Errorf("popular: %v", d)
	}
	if d := h.Grant(ref, now+64*time.Second); d != 64*time.Second {
		t.Errorf("renewed at its end: %v", d)
	}
	if d := h.Grant(ref, now+(128+3)*time.Second); d != 9*time.Second {
		t.Errorf("3 s later: %v", d)
	}
	if d := h.Grant(ref, now+300*time.Second); d != time.Second {
		t.Errorf("forgotten: %v", d)
	}
	got := h.GrantMany([]Ref{ref, ref + 1, 0, Ref(1) << 63}, now+301*time.Second, nil)
	if fmt.Sprint(got) != "[2s 0s 0s 0s]" {
		t.Errorf("many: %v", got)
	}
}

// TestHeapRefusesForeignReferences: no reference that a client sends changes anything.
func TestHeapRefusesForeignReferences(t *testing.T) {
	h := newHeap(t, 3)
	ref := mustPut(t, h, Record{Key: keyOf(1), Value: someBytes(1, 3000)}, 0)
	// A value that looks like a guardian.
	b := h.at(ref)
	copy(b[128:], b[:8])
	// A free place, which holds bytes of a value from when the span had another class.
	free := makeRef(ref.place()+3*uint64(classLines[classOf[ref.lines()]]), 1, 7)
	binary.LittleEndian.PutUint64(h.at(free), uint64(makeGuard(7, plainKind, 16, 0)|aliveBit))
	before := bytes.Clone(h.slab)
	inside := makeRef(ref.place()+2, 1, ref.generation())
	for _, r := range []Ref{0, inside, free, ref + 1, ref ^ 1<<50, makeRef(3, 1, 1), makeRef(maxPlace, 1, 1), makeRef(2*spanLines, 1, 1)} {
		if d := h.Grant(r, 0); d != 0 {
			t.Errorf("%v: a lease of %v", r, d)
		}
		if err := h.Kill(r, 0); !errors.Is(err, ErrStale) {
			t.Errorf("%v: %v", r, err)
		}
		if _, err := h.View(r, nil); err == nil {
			t.Errorf("%v: seen", r)
		}
	}
	if !bytes.Equal(before, h.slab) {
		t.Error("the slab has changed")
	}
}

// TestFull: nothing is lost or leaked where memory ends, and the error says why.
func TestFull(t *testing.T) {
	h := newHeap(t, 4)
	n := 0
	var last error
	var refs []Ref
	for ; ; n++ {
		ref, err := h.Put(Record{Key: keyOf(n), Value: someBytes(1, 32)}, 0)
		if err != nil {
			last = err
			break
		}
		refs = append(refs, ref)
	}
	if want := 3 * spanLines / 2; n != want {
		t.Errorf("%d records, want %d", n, want)
	}
	if !errors.Is(last, ErrFull) {
		t.Fatal(last)
	}
	t.Log(last)
	if _, err := h.Put(Record{Key: keyOf(1), Value: make([]byte, 1<<20)}, 0); !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	if err := h.Kill(refs[0], 0); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Put(Record{Key: keyOf(1)}, DefaultGrace-1); !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	mustPut(t, h, Record{Key: keyOf(1)}, DefaultGrace) // Put reclaims, and takes a larger place
	for _, r := range refs[1:] {
		if err := h.Kill(r, DefaultGrace); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Put(Record{Key: keyOf(1), Value: make([]byte, 760<<10)}, 2*DefaultGrace); !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	gens := make([]uint32, len(h.spans))
	for i := range h.spans {
		gens[i] = h.spans[i].gen
	}
	for range 1000 {
		_, _ = h.Put(Record{Key: keyOf(1), Value: make([]byte, 760<<10)}, 2*DefaultGrace)
	}
	for i := range h.spans {
		if h.spans[i].gen != gens[i] {
			t.Errorf("span %d: attempts used up %d generations", i, h.spans[i].gen-gens[i])
		}
	}
	mustPut(t, h, Record{Key: keyOf(1), Value: make([]byte, 300<<10)}, 2*DefaultGrace)
	if err := h.check(); err != nil {
		t.Fatal(err)
	}
}

func TestLimits(t *testing.T) {
	h := newHeap(t, 2)
	for _, r := range []Record{{}, {Key: make([]byte, MaxKeyBytes+1)}, {Key: []byte("k"), Value: make([]byte, MaxValueBytes+1)}} {
		if _, err := h.Put(r, 0); !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
	}
	for _, o := range []Options{{}, {Memory: slabOf(1)}, {Memory: slabOf(2)[:SpanBytes*2-64]}, {Memory: slabOf(3)[8 : 8+2*SpanBytes]}, {Memory: slabOf(2), Grace: -1}} {
		if _, err := New(o); !errors.Is(err, ErrOptions) {
			t.Error(err)
		}
	}
	// A head has room for the references of the longest value.
	if n := blocksAt(headBytes+expiryBytes+MaxKeyBytes) + (MaxValueBytes/blockBytes+1)*refBytes; n > MaxBlockBytes {
		t.Errorf("a head of %d bytes", n)
	}
}

// TestTrim: each free span is given back once, and again when it was used since.
func TestTrim(t *testing.T) {
	given := 0
	var h *Heap
	h, err := New(Options{Memory: slabOf(10), GiveBack: func(b []byte) {
		given++
		if len(b) != SpanBytes {
			t.Errorf("%d bytes", len(b))
		}
		clear(b)
	}})
	if err != nil {
		t.Fatal(err)
	}
	fill := func(n int, now time.Duration) {
		for i := range n {
			ref := mustPut(t, h, Record{Key: keyOf(i), Value: make([]byte, 60<<10)}, now)
			if err := h.Kill(ref, now); err != nil {
				t.Fatal(err)
			}
		}
		h.Reclaim(now+DefaultGrace, 1000)
	}
	fill(20, 0)
	if a, b, c := h.Trim(2), h.Trim(100), h.Trim(100); a != 2 || b != 3 || c != 0 || given != 5 {
		t.Errorf("%d, %d, %d, given %d", a, b, c, given)
	}
	fill(5, 10*time.Second)
	if n := h.Trim(100); n != 2 {
		t.Errorf("%d spans of 2 used", n)
	}
}

// TestHeader: a written header reads back unchanged, and no other bytes pass.
func TestHeader(t *testing.T) {
	h := newHeap(t, 3)
	s, err := ParseHeader(h.slab[:HeaderBytes])
	if err != nil || s != h.Space() || s.Bytes != 3*SpanBytes || s.Boot != testBoot {
		t.Fatalf("%+v, %v", s, err)
	}
	for i := range 24 {
		b := bytes.Clone(h.slab[:HeaderBytes])
		b[i] ^= 0x41
		if s, err := ParseHeader(b); err == nil && s.Bytes%SpanBytes != 0 || err == nil && i < 16 {
			t.Errorf("byte %d: %+v", i, s)
		}
	}
	if _, err := ParseHeader(nil); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
}
