package record

import (
	"encoding/binary"
	"time"
)

// Compact moves living records out of sparsely used spans, so that these become free
// for other classes. It tries up to most records in up to 64 spans, and returns the
// number that it moved; the spans become free by Reclaim. It calls relocate for each:
// that makes index and tree lead to the new record instead of the old one, or returns
// false if they did not lead to the old one, which then stays. key is good during the
// call, in which the caller may use no method of the heap but Advance. The old record
// is killed, as by an update.
//
// A span is sparse if at most half of its places are used, so that a byte
// moved gains a byte at least, and if the other spans of its class have free
// places for all of them, so that no further span is opened.
func (h *Heap) Compact(now time.Duration, most int, relocate func(key []byte, from, to Ref) bool) int {
	h.advance(now)
	h.denied = nil
	moved := 0
	for turn := 0; turn < compactSpans && turn < len(h.spans) && most > 0; turn++ {
		if h.cursor++; int(h.cursor) >= len(h.spans) {
			h.cursor = 1
		}
		if int(h.cursor) >= len(h.spans) || !h.sparse(h.cursor) {
			continue
		}
		h.startDraining(h.cursor)
		n, tried := h.drain(h.cursor, most, relocate)
		moved += n
		if most -= tried; most == 0 && n > 0 {
			h.cursor-- // there may be more to move
		}
	}
	return moved
}

// compactSpans is the number of spans that a call of Compact examines: 16 MiB, so that
// 1,000 calls examine 16 GiB.
const compactSpans = 64

// sparse reports whether span i is worth emptying.
func (h *Heap) sparse(i int32) bool {
	s := &h.spans[i]
	if s.class == noClass {
		return false
	}
	n, used := placesOf(s.class), int(s.used)
	elsewhere := h.classes[s.class].places - h.classes[s.class].used
	if !s.draining {
		elsewhere -= n - used
	}
	return used*2 <= n && elsewhere >= used
}

// startDraining takes a span out of use for new records.
func (h *Heap) startDraining(i int32) {
	s := &h.spans[i]
	if s.draining {
		return
	}
	h.unlist(i)
	c := &h.classes[s.class]
	c.places -= placesOf(s.class)
	c.used -= int(s.used)
	s.draining = true
	h.draining++
}

// stopDraining makes the free places of spans that Compact empties usable
// again: memory is short.
func (h *Heap) stopDraining() bool {
	if h.draining == 0 {
		return false
	}
	h.draining = 0
	for i := range h.spans {
		s := &h.spans[i]
		if !s.draining {
			continue
		}
		s.draining = false
		c := &h.classes[s.class]
		c.places += placesOf(s.class)
		c.used += int(s.used)
		if int(s.used) < placesOf(s.class) {
			h.list(int32(i))
		}
	}
	return true
}

// drain tries to move up to most records out of span i.
func (h *Heap) drain(i int32, most int, relocate func([]byte, Ref, Ref) bool) (moved, tried int) {
	class := h.spans[i].class
	size := uint64(classLines[class])
	for k := 0; k < placesOf(class) && tried < most && h.spans[i].draining; k++ {
		if h.spans[i].free[k/64]>>(k%64)&1 != 0 {
			continue
		}
		place := uint64(i)*spanLines + uint64(k)*size
		g := guard(word(h.slab[place*LineBytes:], 0))
		if !g.alive() {
			continue // waits for its readers
		}
		tried++
		if h.move(place, g, relocate) {
			moved++
		}
	}
	return moved, tried
}

// move moves the record or block at place.
func (h *Heap) move(place uint64, g guard, relocate func([]byte, Ref, Ref) bool) bool {
	b := h.slab[place*LineBytes:]
	if g.kind() == plainKind {
		n := g.keyEnd() + int(half(b, offLen))
		from := makeRef(place, linesOf(n), g.generation())
		to, err := h.take(from.lines())
		if err != nil {
			return false
		}
		v := h.view(from, g)
		r := moved(&v)
		h.write(to, plainKind, &r, v.Value, v.ValueBytes)
		h.records++
		return h.swap(from, to, g, v.Key, relocate)
	}
	head, block := Ref(0), Ref(0)
	if g.kind() == blockKind {
		head = Ref(word(b, offLease))
		block = makeRef(place, linesOf(offData+int(half(b, offLen))), g.generation())
		var ok bool
		if g, ok = h.alive(head); !ok {
			return false // dead, its block waits with it
		}
	} else {
		at := blocksAt(g.keyEnd())
		n := at + int(word(b, at-countBytes))*refBytes
		head = makeRef(place, linesOf(n), g.generation())
	}
	return h.moveLong(head, block, g, relocate)
}

// moved is the record to move, with its birth.
func moved(v *View) Record {
	return Record{
		Key: v.Key, Revision: v.Revision, Expiry: v.Expiry, Flags: v.Flags,
		moved: true, born: v.born,
	}
}

// moveLong moves one block of a long record, and with it the head, which
// holds the block's reference; block 0: only the head. The other blocks stay,
// and belong to the new head from then on, and so do leases on the old head, by which
// readers may read them still.
func (h *Heap) moveLong(head, block Ref, g guard, relocate func([]byte, Ref, Ref) bool) bool {
	v := h.view(head, g)
	to, err := h.take(head.lines())
	if err != nil {
		return false
	}
	h.refs = append(h.refs[:0], v.refs...)
	other := Ref(0)
	if block != 0 {
		if other, err = h.take(block.lines()); err != nil {
			h.release(to)
			return false
		}
		n := int(half(h.at(block), offLen))
		h.writeBlock(other, to, h.at(block)[offData:offData+n])
		for at := 0; at < len(h.refs); at += refBytes {
			if Ref(word(h.refs, at)) == block {
				binary.LittleEndian.PutUint64(h.refs[at:], uint64(other))
			}
		}
	}
	r := moved(&v)
	if mutant != leaseLost {
		r.leased = uint32(word(h.at(head), offLease) & endMask)
	}
	h.write(to, longKind, &r, h.refs, v.ValueBytes)
	h.records++
	if !relocate(v.Key, head, to) {
		h.unput(to)
		if block != 0 {
			h.release(other)
		}
		return false
	}
	due := h.due(head)
	h.mark(head, g)
	h.retire(head, due, false)
	if block != 0 {
		if mutant == blockEarly {
			due = h.now
		}
		h.retire(block, due, false)
	}
	for at := 0; at < len(h.refs); at += refBytes {
		h.store(h.at(Ref(word(h.refs, at)))[offLease:], uint64(to))
	}
	return true
}

// swap ends the move of a plain record.
func (h *Heap) swap(from, to Ref, g guard, key []byte, relocate func([]byte, Ref, Ref) bool) bool {
	if !relocate(key, from, to) {
		h.unput(to)
		return false
	}
	h.mark(from, g)
	h.retire(from, h.due(from), false)
	return true
}

// unput takes back a record whose reference no reader has.
func (h *Heap) unput(ref Ref) {
	h.mark(ref, guard(word(h.at(ref), 0)))
	h.release(ref)
}
