package record

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"
)

// slabOf returns zeroed memory aligned to a line.
func slabOf(spans int) []byte {
	b := make([]byte, spans*SpanBytes+LineBytes)
	off := -int(uintptr(unsafe.Pointer(&b[0]))) & (LineBytes - 1)
	return b[off : off+spans*SpanBytes : off+spans*SpanBytes]
}

const testBoot = 0xB007

func newHeap(t testing.TB, spans int) *Heap {
	t.Helper()
	h, err := New(Options{Memory: slabOf(spans), Boot: testBoot})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func mustPut(t testing.TB, h *Heap, r Record, now time.Duration) Ref {
	t.Helper()
	ref, err := h.Put(r, now)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// someBytes are n bytes that differ from seed to seed and place to place.
func someBytes(seed uint64, n int) []byte {
	b := make([]byte, n+8)
	r := rand.NewPCG(seed, uint64(n))
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], r.Uint64())
	}
	return b[:n]
}

func keyOf(i int) []byte { return fmt.Appendf(nil, "key%013d", i) }

// check compares the writer's account with the slab.
func (h *Heap) check() error {
	used, spansUsed := 0, 0
	places, inUse := make([]int, len(classLines)), make([]int, len(classLines))
	for i := 1; i < len(h.spans); i++ {
		s := &h.spans[i]
		if s.class == noClass {
			continue
		}
		spansUsed++
		n, free := placesOf(s.class), 0
		for k := range len(s.free) * 64 {
			if s.free[k/64]>>(k%64)&1 != 0 {
				if free++; k >= n || k/64 < int(s.hint) {
					return fmt.Errorf("span %d: place %d of %d is free, hint %d", i, k, n, s.hint)
				}
			}
		}
		switch {
		case free != n-int(s.used), s.used == 0:
			return fmt.Errorf("span %d: %d places, %d free, %d used", i, n, free, s.used)
		case s.listed != (free > 0 && !s.draining):
			return fmt.Errorf("span %d: listed %v, %d free, draining %v", i, s.listed, free, s.draining)
		}
		used += int(s.used) * int(classLines[s.class]) * LineBytes
		if !s.draining {
			places[s.class] += n
			inUse[s.class] += int(s.used)
		}
	}
	for c := range h.classes {
		if h.classes[c].places != places[c] || h.classes[c].used != inUse[c] {
			return fmt.Errorf("class %d: %+v, found %d places, %d used", c, h.classes[c], places[c], inUse[c])
		}
		for i, last := h.classes[c].first, int32(-1); i >= 0; last, i = i, h.spans[i].next {
			if s := &h.spans[i]; !s.listed || s.prev != last || int(s.class) != c {
				return fmt.Errorf("class %d: span %d: %+v after %d", c, i, *s, last)
			}
		}
	}
	if used != h.used || spansUsed != len(h.spans)-1-len(h.empty) {
		return fmt.Errorf("%d bytes used, account %d; %d spans, %d empty", used, h.used, spansUsed, len(h.empty))
	}
	return nil
}
