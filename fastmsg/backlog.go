package fastmsg

import "encoding/binary"

// backlog holds encoded messages that wait for room in the client's ring.
type backlog struct {
	buf []byte
	off int
}

// keepBacklog is how much memory an empty backlog keeps for reuse: enough
// for a few ordinary answers. A thousand clients that each got one huge
// answer must not hold the memory of all of them.
const keepBacklog = 64 << 10

func (b *backlog) empty() bool { return b.off == len(b.buf) }

func (b *backlog) push(kind Kind, flags Flags, id uint64, payload []byte) {
	n, at := messageBytes(len(payload)), len(b.buf)
	if at+n <= cap(b.buf) {
		b.buf = b.buf[:at+n]
	} else {
		b.buf = append(b.buf, make([]byte, n)...)
	}
	putMessage(b.buf[at:], kind, flags, id, payload)
}

// drain moves messages into the ring while they fit.
func (b *backlog) drain(out *sendRing) {
	for !b.empty() {
		h := decodeHeader(binary.LittleEndian.Uint64(b.buf[b.off:]))
		dst := out.reserve(int(h.size))
		if dst == nil {
			return
		}
		b.off += copy(dst, b.buf[b.off:])
	}
	if b.off = 0; cap(b.buf) > keepBacklog {
		b.buf = nil
	}
	b.buf = b.buf[:0]
}
