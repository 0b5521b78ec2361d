package record

import "encoding/binary"

// putLong stores the value of a record in blocks: because it exceeds MaxBlockBytes, or
// because no free place is large enough for the record. Blocks are as large as
// possible. So a Put does not fail while there is room for its bytes in places of any
// size, as long as there is a place for the head.
func (h *Heap) putLong(r *Record) (Ref, error) {
	ideal := (len(r.Value) + blockBytes - 1) / blockBytes
	lines := linesOf(blocksAt(r.keyEnd()) + ideal*refBytes)
	for {
		// The head first: once the blocks are taken no place may be large enough. Its
		// size is known only then.
		head, err := h.take(lines)
		if err != nil {
			return 0, h.fullFor(r)
		}
		enough := h.takeBlocks(len(r.Value))
		need := linesOf(blocksAt(r.keyEnd()) + len(h.refs))
		if enough && need <= lines {
			h.writeLong(r, makeRef(head.place(), need, head.generation()))
			return makeRef(head.place(), need, head.generation()), nil
		}
		for at := len(h.refs) - refBytes; at >= 0; at -= refBytes {
			h.untake(Ref(word(h.refs, at)))
		}
		h.untake(head)
		if !enough || need > lenMask+1 {
			return 0, h.fullFor(r)
		}
		lines = min(max(need, 2*lines), lenMask+1)
	}
}

func (h *Heap) fullFor(r *Record) error { return h.full(r.keyEnd() + len(r.Value)) }

// takeBlocks takes places for that number of bytes, into h.refs.
func (h *Heap) takeBlocks(bytes int) bool {
	h.refs = h.refs[:0]
	for bytes > 0 {
		ref, err := h.takeBlock(min(offData+bytes, MaxBlockBytes))
		if err != nil {
			return false
		}
		h.refs = binary.LittleEndian.AppendUint64(h.refs, uint64(ref))
		if len(h.refs) > MaxBlockBytes {
			return false // no head has room for so large a list
		}
		bytes -= min(ref.Bytes()-offData, bytes)
	}
	return true
}

// writeLong writes the blocks in h.refs, and then the head.
func (h *Heap) writeLong(r *Record, head Ref) {
	for i, at := 0, 0; i < len(h.refs); i += refBytes {
		ref := Ref(word(h.refs, i))
		n := min(ref.Bytes()-offData, len(r.Value)-at)
		h.writeBlock(ref, head, r.Value[at:at+n])
		at += n
	}
	h.write(head, longKind, r, h.refs, len(r.Value))
	h.records++
}

// takeBlock finds a place for that number of bytes, or the largest free one.
func (h *Heap) takeBlock(bytes int) (Ref, error) {
	n := linesOf(bytes)
	if class, ok := h.find(n); ok {
		return h.takeFrom(class, n), nil
	}
	for c := int(classOf[n]) - 1; c >= 0; c-- {
		if h.classes[c].first >= 0 {
			return h.takeFrom(uint8(c), int(classLines[c])), nil
		}
	}
	return 0, ErrFull
}
