package fastmsg

import "encoding/binary"

// recvRing is the reading end of a ring, in memory that the peer may
// change at any time (see sendring.go for the positions):
//
//	   returned         head      head+held      tail      returned+size
//	------|----------------|----------|------------|------------|
//	       read, not        held:       announced,   free for
//	       returned yet     in a batch  unread       the peer
//
// returned <= head <= head+held <= tail <= returned+size always; announce
// and next enforce it. The bytes themselves may be anything.
type recvRing struct {
	buf  []byte
	size uint64

	returned, head, tail uint64

	held uint64 // bytes after head that next skips, see hold

	// Unless announced in memory:
	flights []uint64 // where each announced, unread flight ends; a queue
	first   int
	used    int
	read    int // flights read since the last return

	where   bool // the peer may send FlagWhere
	mailbox bool // the peer may send FlagMailbox
	placed  bool // messages announce themselves (placed.go): no flights either
}

func newRecvRing(buf []byte, inMemory bool) recvRing {
	r := recvRing{buf: buf, size: uint64(len(buf))}
	if !inMemory {
		r.flights = make([]uint64, flightsOf(len(buf)))
	}
	return r
}

func (r *recvRing) inMemory() bool { return r.flights == nil }

// announce handles the peer's event that it has appended units.
func (r *recvRing) announce(units uint32) error {
	if r.inMemory() {
		return protocolError("%d bytes announced by an event, this ring's are announced in memory",
			uint64(units)*unitBytes)
	}
	if r.used+r.read == len(r.flights) {
		return protocolError("more than %d announcements at once", len(r.flights))
	}
	if err := r.appended(units); err != nil {
		return err
	}
	r.flights[(r.first+r.used)%len(r.flights)] = r.tail
	r.used++
	return nil
}

// announceTail handles the peer's word that its tail is at units, modulo 2^32
// (tail.go). A tail that moves back counts as one too far ahead: a ring has
// fewer than 2^31 units.
func (r *recvRing) announceTail(units uint32) error {
	return r.appended(units - uint32(r.tail/unitBytes))
}

// appended moves the tail by units.
func (r *recvRing) appended(units uint32) error {
	tail := r.tail + uint64(units)*unitBytes
	if units == 0 || tail-r.returned > r.size {
		return protocolError("%d bytes announced, the ring has %d free",
			uint64(units)*unitBytes, r.size-(r.tail-r.returned))
	}
	r.tail = tail
	return nil
}

// unread returns the number of bytes that are announced and not consumed,
// including those that are held.
func (r *recvRing) unread() uint64 { return r.tail - r.head }

// more reports whether there is a message after the held ones.
func (r *recvRing) more() bool { return r.head+r.held < r.tail }

// next returns the first message that is not held; ok is false if there is
// none. Its payload is ring memory: copy it, then call consume or hold.
func (r *recvRing) next() (m Message, size uint64, ok bool, err error) {
	for r.more() {
		at := (r.head + r.held) % r.size
		rest, unread := r.size-at, r.tail-r.head-r.held
		// One load; Go's memory model forbids the compiler to repeat it.
		h := decodeHeader(binary.LittleEndian.Uint64(r.buf[at:]))
		size = uint64(h.size)
		switch {
		case size%unitBytes != 0 || size > unread || size > rest || h.rsvd != 0:
			return m, 0, false, r.malformed(h, at)
		case h.kind == kindPad:
			if size != rest || h.flags != 0 || h.fill != 0 {
				return m, 0, false, r.malformed(h, at)
			}
			if r.held > 0 {
				r.held += size
			} else {
				r.consume(size)
			}
			continue
		case size < headerBytes || size > uint64(maxMessage(len(r.buf))),
			h.fill >= unitBytes && !(r.placed && h.fill == unitBytes) || uint64(h.fill) > size-headerBytes,
			h.flags != FlagContinue && h.flags != FlagEnd && !(r.where && h.flags == FlagWhere) &&
				!(r.mailbox && h.flags == FlagMailbox):
			return m, 0, false, r.malformed(h, at)
		}
		end := at + size - uint64(h.fill)
		return Message{
			Kind: h.kind, Flags: h.flags,
			ID:      binary.LittleEndian.Uint64(r.buf[at+8:]),
			Payload: r.buf[at+headerBytes : end : end],
		}, size, true, nil
	}
	return m, 0, false, nil
}

func (r *recvRing) malformed(h header, at uint64) error {
	return protocolError("message at ring offset %d of %d, %d unread: "+
		"size %d, kind %d, flags %#x, fill %d", at, r.size, r.tail-r.head,
		h.size, h.kind, h.flags, h.fill)
}

// hold leaves the message that next returned in the ring; next continues
// after it. Later, consume frees it, together with padding before it, or next
// returns it again after unhold.
func (r *recvRing) hold(size uint64) { r.held += size }

// unhold makes next begin at the head again.
func (r *recvRing) unhold() { r.held = 0 }

// consume frees the message that next returned, or the first bytes that are
// held.
func (r *recvRing) consume(size uint64) {
	if r.placed {
		r.clear(size)
	}
	r.head += size
	r.held -= min(size, r.held)
	for r.used > 0 && r.flights[r.first] <= r.head {
		r.first = (r.first + 1) % len(r.flights)
		r.used--
		r.read++
	}
}

// due returns the immediate that returns the head, 0 while that can wait.
func (r *recvRing) due() uint32 {
	read := r.head - r.returned
	if read == 0 || read < r.size/4 && (r.inMemory() || r.read < len(r.flights)/4) {
		return 0
	}
	return returnBit | uint32(read/unitBytes)
}

// unreturned is the immediate that returns all that was read.
func (r *recvRing) unreturned() uint32 { return uint32((r.head - r.returned) / unitBytes) }

// gaveBack records that the immediate from due was posted.
func (r *recvRing) gaveBack(imm uint32) {
	r.returned += uint64(imm&^returnBit) * unitBytes
	r.read = 0
}
