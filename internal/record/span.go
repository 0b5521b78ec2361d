package record

import (
	"fmt"
	"math/bits"
)

// A span is the writer's account of SpanBytes of the slab. Spans have no
// pointers, and lie in one slice.
type span struct {
	free       [spanLines / 64]uint64 // bit i: place i is free
	next, prev int32                  // in the list of its class; -1: none
	gen        uint32                 // generation of the last record put here
	used       uint16                 // places that are not free
	class      uint8                  // noClass: none
	hint       uint8                  // no word of free before has a bit
	listed     bool                   // in the list of its class
	draining   bool                   // Compact empties it; never listed
}

const noClass = 0xFF

// classState is the writer's account of the spans of a class, without those that
// Compact empties.
type classState struct {
	first  int32 // list of spans that have a free place; -1: none
	places int
	used   int
}

func (h *Heap) list(i int32) {
	s := &h.spans[i]
	c := &h.classes[s.class]
	s.listed, s.prev, s.next = true, -1, -1
	if c.first < 0 {
		c.first = i
		return
	}
	// After the first, which is filled before any other.
	s.prev, s.next = c.first, h.spans[c.first].next
	if s.next >= 0 {
		h.spans[s.next].prev = i
	}
	h.spans[c.first].next = i
}

func (h *Heap) unlist(i int32) {
	s := &h.spans[i]
	if !s.listed {
		return
	}
	if s.prev >= 0 {
		h.spans[s.prev].next = s.next
	} else {
		h.classes[s.class].first = s.next
	}
	if s.next >= 0 {
		h.spans[s.next].prev = s.prev
	}
	s.listed = false
}

// openSpan gives a free span to the class, false if there is none.
func (h *Heap) openSpan(class uint8) bool {
	var i int32
	if n := len(h.empty); n > 0 {
		i = h.empty[n-1]
		h.empty = h.empty[:n-1]
		h.clean = min(h.clean, n-1)
	} else if len(h.spans) < h.limit && (len(h.spans) < h.usable || h.grow(len(h.spans)+1)) {
		i = int32(len(h.spans))
		h.spans = append(h.spans, span{})
	} else {
		return false
	}
	s := &h.spans[i]
	n := placesOf(class)
	s.class, s.used, s.hint = class, 0, 0
	for w := range s.free {
		s.free[w] = 1<<min(max(n-64*w, 0), 64) - 1
	}
	h.classes[class].places += n
	h.list(i)
	return true
}

// grow makes the first spans of the slab usable. A Put may call it for each block of a
// long value, so one refusal counts until that Put ends.
func (h *Heap) grow(spans int) bool {
	if h.denied != nil {
		return false
	}
	want := int64(spans) * SpanBytes
	usable, err := h.ask(want)
	if err == nil && usable < want {
		err = fmt.Errorf("record: %d bytes usable, wanted %d", usable, want)
	}
	if err != nil {
		h.denied = err
		return false
	}
	h.usable = int(min(usable/SpanBytes, int64(h.limit)))
	return true
}

// closeSpan takes a span without used places from its class.
func (h *Heap) closeSpan(i int32) {
	s := &h.spans[i]
	if s.draining {
		s.draining = false
		h.draining--
	} else {
		h.unlist(i)
		h.classes[s.class].places -= placesOf(s.class)
	}
	s.class = noClass
	h.empty = append(h.empty, i)
}

// takeFrom takes a place from the first listed span of the class.
func (h *Heap) takeFrom(class uint8, lines int) Ref {
	c := &h.classes[class]
	i := c.first
	s := &h.spans[i]
	for s.free[s.hint] == 0 {
		s.hint++
	}
	k := int(s.hint)*64 + bits.TrailingZeros64(s.free[s.hint])
	s.free[s.hint] &= s.free[s.hint] - 1
	s.used++
	c.used++
	h.used += int(classLines[class]) * LineBytes
	if int(s.used) == placesOf(class) {
		h.unlist(i)
	} else if next := s.free[s.hint]; next != 0 {
		// The place that is taken next: it was last used a second ago or earlier, so no
		// cache has it.
		h.prefetch(uint64(i)*spanLines+(uint64(s.hint)*64+uint64(bits.TrailingZeros64(next)))*uint64(classLines[class]), lines)
	}
	if s.gen = (s.gen + 1) & genMask; s.gen == 0 {
		s.gen = 1
	}
	if mutant == sameGeneration {
		s.gen = 1
	}
	return makeRef(uint64(i)*spanLines+uint64(k)*uint64(classLines[class]), lines, s.gen)
}

// take finds a place of at least that number of lines.
func (h *Heap) take(lines int) (Ref, error) {
	class, ok := h.find(lines)
	if !ok {
		return 0, ErrFull
	}
	return h.takeFrom(class, lines), nil
}

// find returns a class with a free place of at least that number of lines.
func (h *Heap) find(lines int) (uint8, bool) {
	class := classOf[lines]
	if h.classes[class].first >= 0 || h.openSpan(class) {
		return class, true
	}
	// Memory is short.
	if h.Reclaim(h.now, int(^uint(0)>>1)) > 0 || h.stopDraining() {
		if h.classes[class].first >= 0 || h.openSpan(class) {
			return class, true
		}
	}
	for c := class + 1; int(c) < len(classLines); c++ {
		if h.classes[c].first >= 0 {
			return c, true
		}
	}
	return 0, false
}

func (h *Heap) full(bytes int) error {
	if h.denied != nil {
		return fmt.Errorf("%w: %d bytes used, of these %d of dead records, wanted %d, no memory beyond %d: %w",
			ErrFull, h.used, h.retiredBytes, bytes, h.usable*SpanBytes-SpanBytes, h.denied)
	}
	return fmt.Errorf("%w: %d bytes used, of these %d of dead records, limit %d, wanted %d",
		ErrFull, h.used, h.retiredBytes, h.limit*SpanBytes-SpanBytes, bytes)
}

// locate finds the span of a place that is in use and that ref may name.
func (h *Heap) locate(ref Ref) (*span, int, bool) {
	i := ref.place() / spanLines
	if i == 0 || i >= uint64(len(h.spans)) {
		return nil, 0, false
	}
	s := &h.spans[i]
	if s.class == noClass {
		return nil, 0, false
	}
	lines := uint64(classLines[s.class])
	within := ref.place() % spanLines
	k := within / lines
	if k*lines != within || k >= uint64(placesOf(s.class)) || s.free[k/64]>>(k%64)&1 != 0 ||
		ref.lines() > int(lines) {
		return nil, 0, false
	}
	return s, int(k), true
}

// release frees a place at once. No reader may read it any more.
func (h *Heap) release(ref Ref) {
	s, k, ok := h.locate(ref)
	if !ok {
		panic("record: release of a place that is not in use: " + ref.String())
	}
	i := int32(ref.place() / spanLines)
	s.free[k/64] |= 1 << (k % 64)
	s.hint = min(s.hint, uint8(k/64))
	s.used--
	if !s.draining {
		h.classes[s.class].used--
	}
	h.used -= int(classLines[s.class]) * LineBytes
	if s.used == 0 {
		h.closeSpan(i)
	} else if !s.listed && !s.draining {
		h.list(i)
	}
}

// untake takes back the last take from its span. Nothing was written there,
// so the generation was not used.
func (h *Heap) untake(ref Ref) {
	s, _, _ := h.locate(ref)
	if s.gen--; s.gen == 0 {
		s.gen = genMask
	}
	h.release(ref)
}
