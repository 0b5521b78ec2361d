package record

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// fill gives a draft a value, in pieces.
func fill(t *testing.T, h *Heap, d *Draft, value []byte, piece int) {
	t.Helper()
	for len(value) > 0 {
		p := value[:min(piece, len(value))]
		value = value[len(p):]
		for {
			if p = p[d.Gather(p):]; len(p) == 0 {
				break
			}
			if err := h.Flush(d, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestDraft: a value that was written in pieces is the record that Put makes of it, in
// as many bytes; the same holds after it was moved.
func TestDraft(t *testing.T) {
	for _, piece := range []int{1, 1000, 65_500, 1 << 20} {
		for _, n := range []int{0, 1, 1000, MaxBlockBytes - headBytes - 16, MaxBlockBytes - headBytes - 15, blockBytes, blockBytes + 1,
			2 * blockBytes, 1<<20 + 3, 5<<20 + 7} {
			if piece == 1 && n > 1<<20 {
				continue
			}
			h := newHeap(t, 300)
			r := Record{Key: keyOf(1), Revision: 7, Expiry: -5, Flags: 0xABCD}
			whole := r
			whole.Value = someBytes(uint64(n), n)
			old := mustPut(t, h, whole, 0)
			oldBytes := h.Stats().UsedBytes
			var d Draft
			fill(t, h, &d, whole.Value, piece)
			if d.Bytes() != n {
				t.Fatalf("draft of %d bytes, want %d", d.Bytes(), n)
			}
			ref, err := h.PutDraft(r, &d, 0)
			if err != nil || d.Bytes() != 0 {
				t.Fatalf("%d bytes: %v, %d bytes are left", n, err, d.Bytes())
			}
			if ref.lines() != old.lines() || h.Stats().UsedBytes != 2*oldBytes || h.Stats().Records != 2 {
				t.Errorf("%d bytes in pieces of %d: %v, %+v; by Put: %v, %d", n, piece, ref, h.Stats(), old, oldBytes)
			}
			check := func(what string) {
				t.Helper()
				v, _, err := h.Read(ref, r.Key, nil)
				if err != nil || !bytes.Equal(v.Value, whole.Value) || v.Revision != 7 || v.Expiry != -5 || v.Flags != 0xABCD {
					t.Fatalf("%s: %d bytes in pieces of %d: %d bytes, %v", what, n, piece, len(v.Value), err)
				}
				if err := h.check(); err != nil {
					t.Fatal(err)
				}
			}
			check("put")
			for i := len(h.spans) - 1; i >= 0; i-- { // as Compact does; the head, in the first one, last
				if h.spans[i].class == noClass || i == 0 {
					continue
				}
				h.startDraining(int32(i))
				moved, tried := h.drain(int32(i), 1<<20, func(_ []byte, from, to Ref) bool {
					if from == ref {
						ref = to
					}
					return true
				})
				if moved != tried {
					t.Errorf("%d bytes in pieces of %d: %d of %d places moved", n, piece, moved, tried)
				}
			}
			check("moved")
			h.Discard(&d) // it is empty
			check("discarded")
		}
	}
}

// TestCompactLeavesDraftsAlone: while a value is written Compact does not move its blocks,
// and Discard frees all of them at once.
func TestCompactLeavesDraftsAlone(t *testing.T) {
	h := newHeap(t, 60)
	value := someBytes(1, 3<<20)
	var d Draft
	for round := range 3 { // also in places that were used before
		fill(t, h, &d, value, 10_000)
		for i := 1; i < len(h.spans); i++ {
			if h.spans[i].class != noClass {
				h.startDraining(int32(i))
				if n, _ := h.drain(int32(i), 1<<20, func([]byte, Ref, Ref) bool { return true }); n != 0 {
					t.Fatalf("round %d: %d blocks were moved", round, n)
				}
			}
		}
		h.stopDraining()
		if err := h.check(); err != nil {
			t.Fatal(err)
		}
		if round == 1 {
			ref, err := h.PutDraft(Record{Key: keyOf(1)}, &d, 0)
			if err != nil {
				t.Fatal(err)
			}
			v, _, err := h.Read(ref, keyOf(1), nil)
			if err != nil || !bytes.Equal(v.Value, value) {
				t.Fatal(err)
			}
			if err := h.Kill(ref, 0); err != nil {
				t.Fatal(err)
			}
			h.Reclaim(DefaultGrace, 1<<30)
		}
		h.Discard(&d)
		if s := h.Stats(); s.UsedBytes != 0 || s.SpanBytes != 0 || s.Records != 0 || d.Bytes() != 0 {
			t.Fatalf("round %d: %+v", round, s)
		}
	}
}

// TestDraftTooLarge: a value that does not fit is refused, and the draft keeps its
// bytes.
func TestDraftTooLarge(t *testing.T) {
	h := newHeap(t, 5) // four spans, 1 MiB
	var d Draft
	var err error
	piece := someBytes(1, 10_000)
	for n := 0; err == nil && n < 2<<20; n += len(piece) {
		for p := piece; err == nil; err = h.Flush(&d, 0) {
			if p = p[d.Gather(p):]; len(p) == 0 {
				break
			}
		}
	}
	if !errors.Is(err, ErrFull) || d.Bytes() < 1_000_000 || d.Bytes() > 1<<20+blockBytes {
		t.Fatalf("%v after %d bytes", err, d.Bytes())
	}
	had := d.Bytes()
	if _, err := h.PutDraft(Record{Key: keyOf(1)}, &d, 0); !errors.Is(err, ErrFull) || d.Bytes() != had {
		t.Fatalf("%v, %d bytes", err, d.Bytes())
	}
	if _, err := h.PutDraft(Record{}, &d, 0); !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	h.Discard(&d)
	if h.Stats().UsedBytes != 0 {
		t.Fatalf("%+v", h.Stats())
	}
	d = Draft{bytes: MaxValueBytes - blockBytes + 1}
	d.Gather(make([]byte, blockBytes))
	if err := h.Flush(&d, 0); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("more than the limit: %v", err)
	}
}

// TestDraftsInFragments: drafts find room in places of any size, among other writes and
// moves, and read back unchanged.
func TestDraftsInFragments(t *testing.T) {
	h := newHeap(t, 120)
	r := rand.New(rand.NewPCG(1, 2))
	type entry struct {
		ref   Ref
		value []byte
	}
	index := map[string]*entry{}
	relocate := func(key []byte, from, to Ref) bool {
		e := index[string(key)]
		if e == nil || e.ref != from {
			t.Fatalf("%s moved from %v, which it is not at", key, from)
		}
		e.ref = to
		return true
	}
	type draft struct {
		d     Draft
		value []byte
		at    int
	}
	var drafts [3]draft
	now, put, full := time.Duration(0), 0, 0
	for n := range 6000 {
		now += 5 * time.Millisecond
		key := keyOf(r.IntN(200))
		store := func(ref Ref, value []byte) {
			if old := index[string(key)]; old != nil {
				if err := h.Kill(old.ref, now); err != nil {
					t.Fatal(err)
				}
			}
			index[string(key)] = &entry{ref, value}
		}
		if r.IntN(3) > 0 {
			value := someBytes(uint64(n), someSize(r))
			if ref, err := h.Put(Record{Key: key, Value: value}, now); err == nil {
				store(ref, value)
			}
		} else if d := &drafts[r.IntN(len(drafts))]; d.value == nil {
			*d = draft{value: someBytes(uint64(n), 1+r.IntN(2<<20))}
		} else if d.at < len(d.value) {
			p := d.value[d.at:min(d.at+1+r.IntN(500_000), len(d.value))]
			d.at += len(p)
			var err error
			for p = p[d.d.Gather(p):]; len(p) > 0 && err == nil; p = p[d.d.Gather(p):] {
				err = h.Flush(&d.d, now)
			}
			if err != nil || r.IntN(10) == 0 {
				full++
				h.Discard(&d.d)
				*d = draft{}
			}
		} else {
			if ref, err := h.PutDraft(Record{Key: key}, &d.d, now); err == nil {
				store(ref, d.value)
				put++
			} else {
				h.Discard(&d.d)
			}
			*d = draft{}
		}
		h.Reclaim(now, 64)
		h.Compact(now, 4, relocate)
	}
	if put < 50 || full < 5 {
		t.Fatalf("%d drafts put, %d given up", put, full)
	}
	if err := h.check(); err != nil {
		t.Fatal(err)
	}
	for k, e := range index {
		if v, _, err := h.Read(e.ref, []byte(k), nil); err != nil || !bytes.Equal(v.Value, e.value) {
			t.Fatalf("%q: %d bytes, want %d: %v", k, len(v.Value), len(e.value), err)
		}
		if err := h.Kill(e.ref, now); err != nil {
			t.Fatal(err)
		}
	}
	for i := range drafts {
		h.Discard(&drafts[i].d)
	}
	h.Reclaim(now+100*time.Second, 1<<30)
	if s := h.Stats(); s.UsedBytes != 0 || s.Records != 0 {
		t.Fatalf("%+v", s)
	}
}
