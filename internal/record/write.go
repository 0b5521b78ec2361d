package record

import (
	"encoding/binary"

	"github.com/catfish-index/catfish/internal/lines"
)

// write makes a record (readers.go, steps 1 to 3). body follows the key: the value, or
// a head's references; valueBytes is the value's length.
func (h *Heap) write(ref Ref, kind int, r *Record, body []byte, valueBytes int) {
	g := makeGuard(ref.generation(), kind, len(r.Key), r.Flags)
	if r.Expiry != 0 {
		g |= expiresBit
	}
	b := h.begin(ref, g)
	binary.LittleEndian.PutUint64(b[offLease:], r.lease(h.now))
	binary.LittleEndian.PutUint32(b[offLen:], uint32(valueBytes))
	binary.LittleEndian.PutUint64(b[offRevision:], r.Revision)
	if r.Expiry != 0 {
		binary.LittleEndian.PutUint64(b[offExpiry:], uint64(r.Expiry))
	}
	at := g.keyEnd()
	copy(b[g.keyAt():], r.Key)
	if kind == longKind {
		clear(b[at:blocksAt(at)])
		at = blocksAt(at)
		binary.LittleEndian.PutUint64(b[at-countBytes:], uint64(len(body)/refBytes))
	}
	n := at + copy(b[at:], body)
	h.finish(ref, g, b, n)
}

// writeBlock makes a block of a long record.
func (h *Heap) writeBlock(ref, head Ref, data []byte) {
	g := makeGuard(ref.generation(), blockKind, 0, 0)
	b := h.begin(ref, g)
	binary.LittleEndian.PutUint64(b[offLease:], uint64(head))
	binary.LittleEndian.PutUint32(b[offLen:], uint32(len(data)))
	n := offData + copy(b[offData:], data)
	h.finish(ref, g, b, n)
}

// begin stores the guardian under the new generation, dead, and returns the
// bytes to fill from offLease on.
func (h *Heap) begin(ref Ref, g guard) []byte {
	b := h.at(ref)
	if mutant == aliveEarly {
		g |= aliveBit
	}
	if plainStores && h.onStore == nil {
		// Not an atomic store, which would wait for this line before the
		// others are asked for.
		binary.LittleEndian.PutUint64(b, uint64(g))
	} else {
		h.store(b, uint64(g))
		if h.scratch == nil {
			h.scratch = make([]byte, MaxBlockBytes)
		}
		b = h.scratch[:len(b)]
	}
	return b
}

// finish stores the check sum, the bytes of b if that is not the place itself, and the
// guardian, alive.
func (h *Heap) finish(ref Ref, g guard, b []byte, n int) {
	binary.LittleEndian.PutUint32(b[offSum:], h.space.checkSum(ref, g, b[:n]))
	dst := h.at(ref)
	if &b[0] != &dst[0] {
		h.storeWords(dst[:(n+7)&^7], b)
	}
	h.store(dst, uint64(g|aliveBit))
}

// storeWords is the portable path, and the one that the race detector
// understands: words, stored whole, ascending, without the guardian.
func (h *Heap) storeWords(dst, src []byte) {
	for at := 8; at < len(dst); at += 8 {
		lines.Store(dst[at:at+8], src[at:at+8])
		if h.onStore != nil {
			h.onStore()
		}
	}
}
