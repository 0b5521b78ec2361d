package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"
)

// The first key's value in two blocks of a line, and the moves that Compact makes:
//
//	span 1, places of two lines        span 2, places of one line
//	| head: references | ...           | block | block | ...
//
// A reader takes the head as it takes a record; with the references it reads the blocks, at
// any later moments.
const (
	blockSpan  = 2 * SpanBytes
	blockValue = LineBytes - offData
)

// putLong is Heap.putLong with blocks as small as a line.
func (w *world) putLong(r *Record) Ref {
	r.Value = bytes.Repeat(r.Value[:1], 2*blockValue)
	take := func(lines int) Ref {
		ref, err := w.h.take(lines)
		if err != nil {
			w.t.Fatal(err)
		}
		return ref
	}
	w.h.advance(w.now)
	head := take(linesOf(blocksAt(r.keyEnd()) + 2*refBytes))
	w.h.refs = w.h.refs[:0]
	for range 2 {
		w.h.refs = binary.LittleEndian.AppendUint64(w.h.refs, uint64(take(1)))
	}
	w.h.writeLong(r, head)
	return head
}

// move moves the first key's record, or its first block, as Compact does with what it finds
// in a sparse span.
func (w *world) move(o op) {
	ref := w.index[0]
	if ref == 0 {
		return
	}
	w.h.Reclaim(w.now, 10)
	place, g := ref.place(), guard(word(w.h.at(ref), 0))
	if o == moveBlock {
		v := w.h.view(ref, g)
		place = v.block(0).place()
		g = guard(word(w.h.at(v.block(0)), 0))
	}
	moved := w.h.move(place, g, func(_ []byte, from, to Ref) bool {
		if from != ref {
			w.t.Fatalf("Compact moves %v, the index leads to %v", from, ref)
		}
		w.refs[to] = &written{to, w.refs[from].state}
		w.index[0] = to
		w.note()
		return true
	})
	if !moved {
		w.t.Fatalf("%v of %v was not moved", o, ref)
	}
}

// blockReaders tries all readers of the blocks of head that have its references at moment
// from. They are in time until end.
func (w *world) blockReaders(from int, head *View, want *written, end time.Duration, c *explored) error {
	at := 0
	for b := range head.Blocks() {
		ref, n := head.Block(b, at)
		part := want.value[at:][:n]
		at += n
		p := int(ref.place()) - 2*spanLines
		for k := from; k < len(w.moments); k++ {
			m, before := &w.moments[k], &w.moments[max(k, 1)-1]
			if k > from && m.now == before.now && m.block[p] == before.block[p] {
				continue
			}
			c.blocks++
			inTime := m.now < end
			if c.onlyInTime && !inTime {
				continue
			}
			got, err := w.h.space.ParseBlock(ref, m.block[p][:], n)
			if err != nil {
				c.blocksRefused++
			}
			if err != nil && inTime || err == nil && !bytes.Equal(got, part) {
				return fmt.Errorf("block %d of a head read by moment %d, read at %d, in time: %v: %q, %v, want %q",
					b, from, k, inTime, got, err, part)
			}
		}
	}
	return nil
}
