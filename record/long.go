package record

import "encoding/binary"

// putLong stores a record that exceeds MaxBlockBytes: the blocks first, then
// the head.
func (h *Heap) putLong(r *Record) (Ref, error) {
	n := blocksOf(len(r.Value))
	bytes := refsAt(len(r.Key)) + n*refBytes
	// Places for all, or for none.
	head, err := h.take(linesOf(bytes))
	if err != nil {
		return 0, err
	}
	h.refs = h.refs[:0]
	for i := range n {
		size := min(blockBytes, len(r.Value)-i*blockBytes)
		ref, err := h.take(linesOf(offData + size))
		if err != nil {
			for at := len(h.refs) - refBytes; at >= 0; at -= refBytes {
				h.untake(Ref(word(h.refs, at)))
			}
			h.untake(head)
			return 0, h.full(headBytes + len(r.Key) + len(r.Value))
		}
		h.refs = binary.LittleEndian.AppendUint64(h.refs, uint64(ref))
	}
	for i := range n {
		from := i * blockBytes
		h.writeBlock(Ref(word(h.refs, i*refBytes)), head, r.Value[from:min(from+blockBytes, len(r.Value))])
	}
	h.write(head, longKind, r, h.refs, len(r.Value))
	h.records++
	return head, nil
}
