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

// waiting is the number of bytes that wait.
func (b *backlog) waiting() int { return len(b.buf) - b.off }

// grow makes room for a message with a payload of n bytes, and returns by how
// many bytes the backlog grew beyond what it keeps.
func (b *backlog) grow(n int) int64 {
	need := len(b.buf) + messageBytes(n)
	if need <= cap(b.buf) {
		return 0
	}
	before := b.counted()
	buf := make([]byte, len(b.buf), max(need, 2*cap(b.buf)))
	copy(buf, b.buf)
	b.buf = buf
	return b.counted() - before
}

// counted is what the backlog holds beyond what each connection may keep.
func (b *backlog) counted() int64 { return int64(max(0, cap(b.buf)-keepBacklog)) }

// push appends a message, for which grow has made room.
func (b *backlog) push(kind Kind, flags Flags, id uint64, payload []byte) {
	at := len(b.buf)
	b.buf = b.buf[:at+messageBytes(len(payload))]
	putMessage(b.buf[at:], kind, flags, id, payload)
}

// ring takes encoded messages, if it has room.
type ring interface{ appendEncoded(b []byte) bool }

// drain moves messages into the ring while they fit, and returns how many of
// the bytes that grow counted are free again.
func (b *backlog) drain(out ring) (freed int64) {
	for !b.empty() {
		n := int(decodeHeader(binary.LittleEndian.Uint64(b.buf[b.off:])).size)
		if !out.appendEncoded(b.buf[b.off : b.off+n]) {
			return 0
		}
		b.off += n
	}
	if freed = b.counted(); freed > 0 {
		b.buf = nil
	}
	b.off, b.buf = 0, b.buf[:0]
	return freed
}
