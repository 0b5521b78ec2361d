package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// FuzzRef: unpacking a reference of makeRef gives its parts, and Check accepts only
// places within the slab.
func FuzzRef(f *testing.F) {
	f.Add(uint64(1)<<30|1, uint64(2*SpanBytes))
	f.Add(^uint64(0), uint64(MaxSlabBytes))
	f.Add(uint64(spanLines)<<30|7<<20|9, uint64(2*SpanBytes))
	f.Fuzz(func(t *testing.T, w, slab uint64) {
		r := Ref(w)
		if makeRef(r.place(), r.lines(), r.generation()) != r {
			t.Fatalf("%#x: %v", w, r)
		}
		slab = slab % MaxSlabBytes &^ (SpanBytes - 1)
		err := Space{Bytes: slab}.Check(r)
		end := r.Offset() + uint64(r.Bytes())
		inside := r.Offset() >= SpanBytes && end <= slab && end > r.Offset() && w&genMask != 0
		if (err == nil) != inside || err != nil && !errors.Is(err, ErrRef) {
			t.Fatalf("%v in %d bytes: %v", r, slab, err)
		}
	})
}

// FuzzParse: any bytes, with a check sum that fits and without, as record, as
// head and as block.
func FuzzParse(f *testing.F) {
	h := newHeap(f, 4)
	for _, n := range []int{0, 32, 1000, 100_000} {
		ref := mustPut(f, h, Record{Key: keyOf(n), Value: someBytes(1, n), Revision: 5}, 0)
		f.Add(uint64(ref), bytes.Clone(h.at(ref)), true)
		f.Add(uint64(ref), bytes.Clone(h.at(ref)), false)
		v, _ := h.View(ref, nil)
		for i := range v.Blocks() {
			b := bytes.Clone(h.at(v.block(i)))
			f.Add(uint64(v.block(i)), b[:min(len(b), 1<<12)], true)
		}
	}
	s := h.Space()
	f.Fuzz(func(t *testing.T, w uint64, b []byte, sum bool) {
		ref := Ref(w)
		b = bytes.Clone(b)
		if sum && len(b) >= ref.Bytes() && len(b) >= LineBytes { // as a server would
			g := guard(word(b, 0))
			end := g.keyEnd() + int(half(b, offLen))
			if at := blocksAt(g.keyEnd()); g.kind() == longKind && at < len(b) {
				end = at + int(uint16(word(b, at-countBytes)))*refBytes
			} else if g.kind() == blockKind {
				end = offData + int(half(b, offLen))
			}
			if end <= len(b) {
				binary.LittleEndian.PutUint32(b[offSum:], s.checkSum(ref, g, b[:end]))
			}
		}
		before := bytes.Clone(b)
		v, err := s.Parse(ref, b, nil)
		if err != nil && !errors.Is(err, ErrDead) {
			if v.Key != nil || !errors.Is(err, ErrStale) && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrRef) {
				t.Fatal(v, err)
			}
		} else {
			if len(v.Key) == 0 || v.Blocks() == 0 && len(v.Value) != v.ValueBytes {
				t.Fatalf("%+v", v)
			}
			at := 0
			for i := range v.Blocks() {
				_, n := v.Block(i, at)
				if n <= 0 {
					t.Fatalf("block %d of %d bytes", i, n)
				}
				at += n
			}
			if v.Blocks() > 0 && at != v.ValueBytes {
				t.Fatalf("blocks of %d bytes, value of %d", at, v.ValueBytes)
			}
		}
		if data, err := s.ParseBlock(ref, b, 10); err == nil && len(data) != 10 {
			t.Fatal(len(data))
		}
		if _, err := ParseHeader(b); err == nil && word(b, 0) != magic {
			t.Fatal("a header")
		}
		if !bytes.Equal(before, b) {
			t.Fatal("the bytes have changed")
		}
	})
}
