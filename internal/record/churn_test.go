package record

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"testing"
	"time"
)

// someSize draws the sizes of values: mostly small, a few large ones.
func someSize(r *rand.Rand) int {
	switch r.IntN(20) {
	case 0:
		return r.IntN(60_000)
	case 1:
		return r.IntN(300_000)
	case 2, 3, 4:
		return r.IntN(4000)
	}
	return r.IntN(200)
}

// TestFragmentation: long runs of updates with random sizes, whose mix changes from
// phase to phase. The allocated memory stays within a factor of that of living records,
// once Compact has done its work.
func TestFragmentation(t *testing.T) {
	h := newHeap(t, 800) // 200 MiB, of which a part is used
	r := rand.New(rand.NewPCG(3, 14))
	const keys = 1500
	type entry struct {
		ref  Ref
		size int
	}
	index := make([]entry, keys)
	at := map[string]int{}
	for i := range keys {
		at[string(keyOf(i))] = i
	}
	now := time.Duration(0)
	bytesOf := func(size int) int { return headBytes + 16 + size }
	alive := 0
	relocate := func(key []byte, from, to Ref) bool {
		e := &index[at[string(key)]]
		if e.ref != from {
			t.Fatalf("%s moved from %v, is at %v", key, from, e.ref)
		}
		e.ref = to
		return true
	}
	value := someBytes(1, 300_000)
	moved := 0
	writes := 20_000
	if raceEnabled {
		writes /= 20 // nothing here is concurrent
	}
	for phase := range 6 {
		for n := range writes {
			now += 200 * time.Microsecond
			i := r.IntN(keys)
			size := someSize(r)
			switch phase {
			case 1, 4:
				size = 1000 + r.IntN(100) // one class only
			case 3:
				size = r.IntN(100) // the heap shrinks
			}
			ref, err := h.Put(Record{Key: keyOf(i), Value: value[:size]}, now)
			if err != nil {
				t.Fatal(err)
			}
			if old := index[i]; old.ref != 0 {
				if err := h.Kill(old.ref, now); err != nil {
					t.Fatal(err)
				}
				alive -= bytesOf(old.size)
			}
			index[i] = entry{ref, size}
			alive += bytesOf(size)
			if n%16 == 0 {
				h.Reclaim(now, 64)
				moved += h.Compact(now, 4, relocate)
			}
		}
		// Dead places become free, and Compact runs until it moves nothing.
		for quiet := 0; quiet < 30; quiet++ {
			now += time.Second
			h.Reclaim(now, 1<<30)
			if n := h.Compact(now, 1<<30, relocate); n > 0 {
				moved, quiet = moved+n, 0
			}
		}
		if err := h.check(); err != nil {
			t.Fatal(err)
		}
		s := h.Stats()
		open := 0
		for _, c := range h.classes {
			open += min(c.places, 1)
		}
		t.Logf("phase %d: alive %d, used %d, spans %d, classes %d", phase, alive, s.UsedBytes, s.SpanBytes, open)
		// Places are rounded to lines, and a fifth of them wasted at most.
		if most := (alive + keys*(LineBytes-1)) * 5 / 4; s.UsedBytes > most {
			t.Errorf("places of %d bytes, want at most %d", s.UsedBytes, most)
		}
		// Spans are used by half, but for one of each class.
		if most := 2*s.UsedBytes + open*SpanBytes; s.SpanBytes > most {
			t.Errorf("spans of %d bytes, want at most %d", s.SpanBytes, most)
		}
	}
	if moved == 0 {
		t.Error("nothing was moved")
	}
	for i, e := range index {
		if e.ref == 0 {
			continue // never written
		}
		v, _, err := h.Read(e.ref, keyOf(i), nil)
		if err != nil || !bytes.Equal(v.Value, value[:e.size]) {
			t.Fatalf("key %d: %v", i, err)
		}
	}
}

// TestNoSpaceIsLost: where places are free, whatever their size, a Put finds
// room: in blocks, if it has to be.
func TestNoSpaceIsLost(t *testing.T) {
	h := newHeap(t, 41)
	now := time.Duration(0)
	var small []Ref
	for {
		ref, err := h.Put(Record{Key: keyOf(1), Value: make([]byte, 500)}, now)
		if err != nil {
			break
		}
		small = append(small, ref)
	}
	for i, ref := range small { // every second place is free, no span is
		if i%2 == 0 {
			if err := h.Kill(ref, now); err != nil {
				t.Fatal(err)
			}
		}
	}
	now += DefaultGrace
	h.Reclaim(now, 1<<30)
	before := h.Stats()
	key, value := keyOf(2), someBytes(2, 12_000)
	var refs []Ref
	for {
		ref, err := h.Put(Record{Key: key, Value: value}, now)
		if err != nil {
			if !errors.Is(err, ErrFull) {
				t.Fatal(err)
			}
			break
		}
		refs = append(refs, ref)
		if v, _, err := h.Read(ref, key, nil); err != nil || !bytes.Equal(v.Value, value) {
			t.Fatal(err)
		}
	}
	free := before.SpanBytes - before.UsedBytes
	// Of 19 places of 704 bytes each, 18 hold 680 bytes of the value.
	if got := len(refs) * len(value); got < free*88/100 {
		t.Errorf("%d bytes of values in %d free ones", got, free)
	}
	for _, ref := range refs {
		if err := h.Kill(ref, now); err != nil {
			t.Fatal(err)
		}
	}
	now += DefaultGrace
	h.Reclaim(now, 1<<30)
	if s := h.Stats(); s.UsedBytes != before.UsedBytes {
		t.Errorf("%+v, before %+v", s, before)
	}
	// Compact gathers the small ones, so that large places are available again.
	at := map[Ref]bool{}
	for i, ref := range small {
		if i%2 == 1 {
			at[ref] = true
		}
	}
	for range 100 {
		h.Compact(now, 100, func(_ []byte, from, to Ref) bool {
			if !at[from] {
				t.Fatalf("%v moves", from)
			}
			delete(at, from)
			at[to] = true
			return true
		})
		now += DefaultGrace
		h.Reclaim(now, 1<<30)
	}
	ref := mustPut(t, h, Record{Key: key, Value: make([]byte, 60_000)}, now)
	if v, err := h.View(ref, key); err != nil || v.Blocks() > 0 {
		t.Errorf("%d blocks, %v", v.Blocks(), err)
	}
	if err := h.check(); err != nil {
		t.Fatal(err)
	}
}

// TestCompactLong: blocks are moved, too, with their heads, and a reader with the old
// reference finds them until its grace or lease has ended.
func TestCompactLong(t *testing.T) {
	const n, size = 48, 150_000 // two large blocks and a smaller one
	h := newHeap(t, 100)
	now := time.Duration(0)
	at := map[string]Ref{}
	for i := range n {
		at[string(keyOf(i))] = mustPut(t, h, Record{Key: keyOf(i), Value: someBytes(uint64(i), size), Revision: uint64(i)}, now)
	}
	for i := range n {
		if i%4 != 0 { // a quarter of each span stays
			if err := h.Kill(at[string(keyOf(i))], now); err != nil {
				t.Fatal(err)
			}
			delete(at, string(keyOf(i)))
		}
	}
	now += DefaultGrace
	h.Reclaim(now, 1<<30)
	before, moved, refused := h.Stats(), 0, 0
	for round := range 60 {
		old := maps.Clone(at)
		moved += h.Compact(now, 5, func(key []byte, from, to Ref) bool {
			if round%10 == 3 {
				refused++
				return false
			}
			if at[string(key)] != from {
				t.Fatalf("%s moves from %v, is at %v", key, from, at[string(key)])
			}
			at[string(key)] = to
			return true
		})
		for _, refs := range []map[string]Ref{old, at} {
			for i := 0; i < n; i += 4 {
				v, _, err := h.Read(refs[string(keyOf(i))], keyOf(i), nil)
				if err != nil && !errors.Is(err, ErrDead) || !bytes.Equal(v.Value, someBytes(uint64(i), size)) {
					t.Fatalf("round %d, key %d: %v", round, i, err)
				}
				if v.Age(now) != now {
					t.Fatalf("round %d, key %d: its age is %v of %v", round, i, v.Age(now), now)
				}
			}
		}
		now += DefaultGrace
		h.Reclaim(now, 1<<30)
		if err := h.check(); err != nil {
			t.Fatal(err)
		}
	}
	after := h.Stats()
	if after.UsedBytes != before.UsedBytes || after.RetiredBytes != 0 || after.Records != n/4 {
		t.Errorf("%+v, before %+v", after, before)
	}
	if most := 2*after.UsedBytes + 3*SpanBytes; after.SpanBytes > most || before.SpanBytes <= most {
		t.Errorf("spans of %d bytes, before %d, want at most %d", after.SpanBytes, before.SpanBytes, most)
	}
	if moved == 0 || refused == 0 {
		t.Errorf("%d moved, %d refused", moved, refused)
	}
	for _, ref := range at {
		if err := h.Kill(ref, now); err != nil {
			t.Fatal(err)
		}
	}
	h.Reclaim(now+DefaultGrace, 1<<30)
	if s := h.Stats(); s.UsedBytes != 0 || s.SpanBytes != 0 {
		t.Errorf("%+v", s)
	}
}
