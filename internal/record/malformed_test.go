package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// TestMalformed: a hostile server computes check sums. Readers refuse bytes that no
// heap writes all the same.
func TestMalformed(t *testing.T) {
	h := newHeap(t, 8)
	key := keyOf(1)
	plain := mustPut(t, h, Record{Key: key, Value: make([]byte, 50)}, 0)
	long := mustPut(t, h, Record{Key: key, Value: make([]byte, 70_000)}, 0)
	v, err := h.View(long, key)
	if err != nil || v.Blocks() != 2 {
		t.Fatal(v.Blocks(), err)
	}
	at := blocksAt(headBytes + len(key))
	put := binary.LittleEndian.PutUint64
	for name, c := range map[string]struct {
		ref    Ref
		end    int
		change func(b []byte)
		want   error
	}{
		"nothing":       {plain, headBytes + 66, func([]byte) {}, nil},
		"nothing, long": {long, at + 16, func([]byte) {}, nil},
		"reserved bits": {plain, headBytes + 66, func(b []byte) { b[3] = 1 }, ErrMalformed},
		"no key":        {plain, headBytes + 66, func(b []byte) { b[4] = 0 }, ErrMalformed},
		"long key":      {plain, headBytes + 66, func(b []byte) { b[5] = 0xFF }, ErrMalformed},
		"longer":        {plain, headBytes + 66, func(b []byte) { b[offLen]++; b[offLen+1] = 1 }, ErrMalformed},
		"shorter":       {plain, headBytes + 8, func(b []byte) { b[offLen] = 0; b[4] = 8 }, ErrMalformed},
		"huge":          {plain, headBytes + 66, func(b []byte) { b[offLen+3] = 0xFF }, ErrMalformed},
		"a block":       {v.block(0), MaxBlockBytes, func([]byte) {}, ErrMalformed},
		"no blocks":     {long, at, func(b []byte) { put(b[at-countBytes:], 0) }, ErrMalformed},
		"one too few":   {long, at + 8, func(b []byte) { put(b[at-countBytes:], 1) }, ErrMalformed},
		"one too many":  {long, at + 24, func(b []byte) { put(b[at-countBytes:], 3); put(b[at+16:], uint64(plain)) }, ErrMalformed},
		"count":         {long, at + 16, func(b []byte) { put(b[at-countBytes:], 1<<61+2) }, ErrMalformed},
		"other value":   {long, at + 16, func(b []byte) { b[offLen+2]++ }, ErrMalformed},
		"torn":          {plain, headBytes + 66, func(b []byte) { b[headBytes+20]++ }, ErrTorn},
	} {
		t.Run(name, func(t *testing.T) {
			b := append(bytes.Clone(h.at(c.ref)), make([]byte, 64)...)
			ref := c.ref
			c.change(b)
			if n := linesOf(c.end); n != ref.lines() && name != "shorter" {
				// A reference that fits: only the content is wrong.
				ref = makeRef(ref.place(), n, ref.generation())
			}
			if name != "torn" {
				binary.LittleEndian.PutUint32(b[offSum:], h.space.checkSum(ref, guard(word(b, 0)), b[:c.end]))
			}
			if _, err := h.space.Parse(ref, b, nil); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
	b := bytes.Clone(h.at(v.block(0)))
	if _, err := h.space.ParseBlock(v.block(0), b, blockBytes); err != nil {
		t.Error(err)
	}
	if _, err := h.space.ParseBlock(v.block(0), b, blockBytes-1); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
	b[5000]++
	if _, err := h.space.ParseBlock(v.block(0), b, blockBytes); !errors.Is(err, ErrTorn) {
		t.Error(err)
	}
	for _, s := range []Space{{Bytes: h.space.Bytes, Boot: testBoot + 1}} { // a restarted server
		if _, err := s.Parse(plain, h.at(plain), key); !errors.Is(err, ErrTorn) {
			t.Error(err)
		}
	}
	// A record that lies elsewhere, as a value of another one might.
	copy(h.slab[5*SpanBytes:], h.at(plain))
	moved := makeRef(5*spanLines, plain.lines(), plain.generation())
	if _, _, err := h.Read(moved, key, nil); !errors.Is(err, ErrTorn) {
		t.Error(err)
	}
}
