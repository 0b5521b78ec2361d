package record

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Values in pieces
//
// A long value may be written piece by piece, so that the heap is never busy for
// longer than one block takes, and the value lies nowhere else meanwhile:
//
//	Gather, Flush    | block | block | ... | gathered |      no reader has a reference
//	PutDraft         | block | block | ... | block | head |
//
// The order of stores is that of Put: blocks before the head, the head before readers
// get its reference (readers.go). Until then the word "head" of the blocks is 0, which
// names no record, so that Compact leaves them where they are. A value that fits one
// place is gathered, and then put as by Put.

// Draft is a value that is being written in pieces. The zero value is empty. It
// belongs to one heap, and is used by one goroutine at a time.
type Draft struct {
	refs     []byte // of the blocks that are written
	bytes    int    // of the value, in blocks
	gathered []byte // the rest, up to blockBytes
}

// Bytes is the length of the value so far.
func (d *Draft) Bytes() int { return d.bytes + len(d.gathered) }

// Gather takes the first n bytes of a piece. If these are not all, the caller calls
// Flush, and then Gather with the others. It does not use the heap.
func (d *Draft) Gather(piece []byte) (n int) {
	n = min(len(piece), blockBytes-len(d.gathered))
	d.gathered = append(d.gathered, piece[:n]...)
	return n
}

// Flush writes a block of the gathered bytes, if there are any. ErrFull: the draft is
// unchanged. ErrTooLarge: the value exceeds MaxValueBytes.
func (h *Heap) Flush(d *Draft, now time.Duration) error {
	h.advance(now)
	h.denied = nil
	if d.Bytes() > MaxValueBytes {
		return fmt.Errorf("%w: value of more than %d bytes, limit %d", ErrTooLarge, d.Bytes(), MaxValueBytes)
	}
	return h.flush(d)
}

func (h *Heap) flush(d *Draft) error {
	if len(d.gathered) == 0 {
		return nil
	}
	if len(d.refs) >= MaxBlockBytes {
		return h.full(d.Bytes()) // no head has room for more
	}
	ref, err := h.takeBlock(offData + len(d.gathered))
	if err != nil {
		return h.full(d.Bytes())
	}
	n := min(ref.Bytes()-offData, len(d.gathered))
	h.writeBlock(ref, 0, d.gathered[:n])
	d.gathered = d.gathered[:copy(d.gathered, d.gathered[n:])]
	d.refs = binary.LittleEndian.AppendUint64(d.refs, uint64(ref))
	d.bytes += n
	return nil
}

// PutDraft is Put of a record whose value is the draft, which is empty
// afterwards. If it fails the draft still has its value.
func (h *Heap) PutDraft(r Record, d *Draft, now time.Duration) (Ref, error) {
	if len(d.refs) == 0 {
		r.Value = d.gathered
		ref, err := h.Put(r, now)
		if err == nil {
			*d = Draft{}
		}
		return ref, err
	}
	h.advance(now)
	h.denied = nil
	if len(r.Key) == 0 || len(r.Key) > MaxKeyBytes || d.Bytes() > MaxValueBytes {
		return 0, fmt.Errorf("%w: key of %d bytes, value of %d; want 1 to %d, up to %d",
			ErrTooLarge, len(r.Key), d.Bytes(), MaxKeyBytes, MaxValueBytes)
	}
	for len(d.gathered) > 0 {
		if err := h.flush(d); err != nil {
			return 0, err
		}
	}
	lines := linesOf(blocksAt(r.keyEnd()) + len(d.refs))
	if lines > lenMask+1 {
		return 0, h.full(d.bytes)
	}
	head, err := h.take(lines)
	if err != nil {
		return 0, h.full(d.bytes)
	}
	for at := 0; at < len(d.refs); at += refBytes {
		h.store(h.at(Ref(word(d.refs, at)))[offLease:], uint64(head))
	}
	h.write(head, longKind, &r, d.refs, d.bytes)
	h.records++
	*d = Draft{}
	return head, nil
}

// Discard gives up a draft, which is empty afterwards. Its blocks are free at once: no
// reader has had a reference to them.
func (h *Heap) Discard(d *Draft) {
	for at := 0; at < len(d.refs); at += refBytes {
		h.release(Ref(word(d.refs, at)))
	}
	*d = Draft{}
}
