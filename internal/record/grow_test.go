package record

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

// TestGrow: a heap uses no memory that it was not given, asks for more only when it
// needs it, and a Put fails with the reason; the next one asks again.
func TestGrow(t *testing.T) {
	const spans = 64
	reason := errors.New("no more")
	slab := slabOf(spans)
	given, limit, asked, refused := int64(0), int64(9*SpanBytes), 0, 0
	h, err := New(Options{Memory: slab, Boot: testBoot, Grow: func(bytes int64) (int64, error) {
		if asked++; bytes <= given {
			t.Errorf("asked for %d bytes, has %d", bytes, given)
		}
		if bytes > limit {
			refused++
			return given, reason
		}
		given = min(bytes+2*SpanBytes, limit) // more than it asked for
		return given, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Duration(0)
	fill := func(size int) (refs []Ref, err error) {
		for range 1 << 16 {
			var ref Ref
			if ref, err = h.Put(Record{Key: keyOf(1), Value: someBytes(1, size)}, now); err != nil {
				break
			}
			refs = append(refs, ref)
		}
		if rest := slab[given:]; !bytes.Equal(rest, make([]byte, len(rest))) {
			t.Fatal("memory was used that was not given")
		}
		if err := h.check(); err != nil {
			t.Fatal(err)
		}
		return refs, err
	}
	one, err := fill(1000)
	if !errors.Is(err, ErrFull) || !errors.Is(err, reason) || given != limit || asked != 4 || refused != 1 {
		t.Fatalf("%v, %d of %d bytes given, asked %d times, %d refused", err, given, limit, asked, refused)
	}
	if n := 8 * SpanBytes / 1088; len(one) < n*9/10 {
		t.Errorf("%d records, want about %d", len(one), n)
	}
	// A long value needs many spans, and asks once.
	if _, err := h.Put(Record{Key: keyOf(2), Value: make([]byte, 3<<20)}, now); !errors.Is(err, reason) || refused != 2 {
		t.Errorf("long: %v, %d refused", err, refused)
	}
	before := h.Stats()
	if _, err := h.Put(Record{Key: keyOf(2), Value: make([]byte, 1000)}, now); !errors.Is(err, reason) || refused != 3 {
		t.Errorf("again: %v, %d refused", err, refused)
	}
	if h.Stats() != before {
		t.Errorf("a Put that failed changed %+v to %+v", before, h.Stats())
	}
	// Places that become free are used without asking.
	if err := h.Kill(one[0], now); err != nil {
		t.Fatal(err)
	}
	now += 2 * DefaultGrace
	h.Reclaim(now, 1)
	n := asked
	mustPut(t, h, Record{Key: keyOf(1), Value: make([]byte, 1000)}, now)
	if asked != n {
		t.Error("asked for memory although a place was free")
	}
	// Now Grow gives more, up to the slab's end.
	limit = spans * SpanBytes
	if _, err := fill(1000); !errors.Is(err, ErrFull) || errors.Is(err, reason) || given != limit {
		t.Errorf("%v, %d of %d bytes given", err, given, limit)
	}
}

// TestGrowHeader: New fails without any memory; less than it asked for counts as a
// refusal.
func TestGrowHeader(t *testing.T) {
	reason := errors.New("no more")
	if _, err := New(Options{Memory: slabOf(4), Grow: func(int64) (int64, error) { return 0, reason }}); !errors.Is(err, reason) {
		t.Errorf("no memory: %v", err)
	}
	h, err := New(Options{Memory: slabOf(4), Grow: func(int64) (int64, error) { return SpanBytes, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Put(Record{Key: keyOf(1)}, 0); !errors.Is(err, ErrFull) {
		t.Errorf("less than asked for: %v", err)
	}
}

// TestGrownReader: a reader that knows less of a slab reads the same records in the
// part it knows, and gets ErrGrown for the rest.
func TestGrownReader(t *testing.T) {
	h := newHeap(t, 8)
	near := mustPut(t, h, Record{Key: keyOf(1), Value: []byte("near")}, 0)
	far := near
	for far.Offset() < 3*SpanBytes {
		far = mustPut(t, h, Record{Key: keyOf(2), Value: make([]byte, 20_000)}, 0)
	}
	s := h.Space()
	s.Bytes = 2 * SpanBytes
	if v, err := s.Parse(near, h.at(near), keyOf(1)); err != nil || string(v.Value) != "near" {
		t.Errorf("%q, %v", v.Value, err)
	}
	across := makeRef(2*spanLines-1, 2, 1)
	for ref, want := range map[Ref]error{far: ErrGrown, across: ErrGrown, makeRef(1, 1, 1): ErrRef, far &^ genMask: ErrRef} {
		if err := s.Check(ref); !errors.Is(err, want) || !errors.Is(err, ErrRef) || errors.Is(err, ErrGrown) != (want == ErrGrown) {
			t.Errorf("%v: %v, want %v", ref, err, want)
		}
	}
}
