package fastmsg

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/catfish-index/catfish/internal/lines"
	"github.com/catfish-index/catfish/internal/rdma"
)

// Messages that announce themselves
//
// The paper's base line, as FaRM, polls the messages themselves, on both sides (section
// III-A, figure 6a): first the size at the place where the next message will begin, then
// that message's last byte. So a message is one plain Write, and nothing else is sent:
//
//	           tail                    where the next one will begin
//	           |                       |
//	+----------+------+-----------+---+----------------------------+
//	| 0 0 0 0  | size | id, data  | 1 | 0 0 0 0 0 0 ...            |
//	+----------+------+-----------+---+----------------------------+
//	 read,       1. not 0          2. not 0: the message is there
//	 cleared
//
// Messages are those of message.go, but the fill has 1 to 8 bytes, and the last one
// is 1. Padding to the ring's end is its header alone, a word that is written whole.
//
// # What it relies on
//
// Package rdma does not promise the order of the bytes of one Write. This form needs
// it: both sides refuse devices that do not declare it (rdma.Info.InOrder).
//
//   - What the reader sees after the last byte is the message: all its bytes appear
//     before that one, and are not stored again. So the reader may clear them at once.
//   - That holds for one Write. A later store of a Write with two messages might
//     store again the end of the first, which the reader has cleared meanwhile. So each
//     message, and each padding, is a Write of its own.
//   - A size that is not 0 is that of a message that comes. The reader clears all that
//     it has read, before it returns the head. The writer writes only what was
//     returned, so all bytes from the tail on are 0, unless they belong to the Write
//     that is in progress. Memory is zeroed at first.
//   - Nothing is trusted: the size is checked against the ring before the last byte
//     is looked for, and next checks the header again, as it does everywhere. A peer that
//     writes elsewhere, or in another order, damages its own messages.
//
// The ring is used from end to end (FaRM's is), so that little padding is cleared.
// The head is returned by an immediate, as everywhere in this package, and not by
// a Write of a pointer as FaRM does.
const placedEnd = 1 // the last byte of a message

func notInOrder(i rdma.Info) error {
	return fmt.Errorf("%w: messages that announce themselves need a device that declares the order of a Write's bytes"+
		" (rdma.Info.InOrder), and %s does not", ErrConfig, i.Provider)
}

// placedBytes is the size of a message in a ring if its payload has n bytes.
func placedBytes(n int) int { return messageBytes(n + 1) }

func (s *sendRing) becomePlaced() { s.placed, s.flights = true, nil }

func (s *sendRing) appendPlaced(kind Kind, flags Flags, id uint64, payload []byte) bool {
	dst := s.reserve(placedBytes(len(payload)))
	if dst == nil {
		return false
	}
	putMessage(dst, kind, flags, id, payload)
	dst[len(dst)-1] = placedEnd
	return true
}

// preparePlaced is prepare of the first message that is not posted, and of the padding
// before it. The caller repeats it until it returns 0.
func (s *sendRing) preparePlaced(wrs *[maxWRs]rdma.WorkRequest) (n int) {
	if s.posted == s.tail {
		return 0
	}
	h := decodeHeader(binary.LittleEndian.Uint64(s.buf[s.posted%s.size:]))
	if h.kind == kindPad {
		wrs[0] = s.request(rdma.OpWrite, s.posted, s.posted+unitBytes)
		n = 1
		s.posted += uint64(h.size)
		h = decodeHeader(binary.LittleEndian.Uint64(s.buf)) // reserve appends a message after it
	}
	wrs[n] = s.request(rdma.OpWrite, s.posted, s.posted+uint64(h.size))
	s.posted += uint64(h.size)
	n++
	wrs[n-1].Unsignaled = !s.signals()
	return n
}

// abortPlaced is abort: padding that Post has taken was announced.
func (s *sendRing) abortPlaced(posted uint64, taken int) {
	s.unsignaled = signalEvery
	if taken > 0 {
		posted += s.size - posted%s.size
	}
	s.posted = posted
}

func (r *recvRing) becomePlaced() { r.placed, r.flights = true, nil }

// word is the word of the ring at a position, which the peer may be writing.
//
// SAFETY: the ring begins at a page and has whole pages, and positions are multiples
// of 8. Pointers to it are kept only while its region is open.
func (r *recvRing) word(at uint64) *atomic.Uint64 {
	at %= r.size
	return (*atomic.Uint64)(unsafe.Pointer(&r.buf[at : at+unitBytes][0]))
}

// begun reports whether a message begins to appear at the tail.
func (r *recvRing) begun() bool { return r.placed && r.word(r.tail).Load() != 0 }

// arrived moves the tail over the messages that are there, and reports whether
// there was one.
func (r *recvRing) arrived() (found bool, err error) {
	for r.tail-r.returned < r.size {
		at := r.tail % r.size
		h := decodeHeader(littleEndian(r.word(r.tail).Load()))
		size := uint64(h.size)
		if size == 0 {
			break
		}
		if size%unitBytes != 0 || size > r.size-at || r.tail+size-r.returned > r.size ||
			h.kind != kindPad && (size <= headerBytes || size > uint64(maxMessage(len(r.buf)))) {
			return found, r.malformed(h, at)
		}
		if h.kind != kindPad {
			switch end := littleEndian(r.word(r.tail+size-unitBytes).Load()) >> 56; end {
			case 0:
				return found, nil
			case placedEnd:
			default:
				return found, protocolError("message at ring offset %d of %d ends with %#x, want %#x", at, r.size, end, placedEnd)
			}
		}
		r.tail += size
		found = true
	}
	return found, nil
}

// littleEndian is a word that was loaded in the processor's byte order.
func littleEndian(loaded uint64) uint64 {
	var b [unitBytes]byte
	binary.NativeEndian.PutUint64(b[:], loaded)
	return binary.LittleEndian.Uint64(b[:])
}

// clear clears the first bytes after the head, which were read.
func (r *recvRing) clear(size uint64) {
	var zero [rdma.LineBytes]byte
	for at := r.head; at < r.head+size; {
		n := min(r.head+size-at, rdma.LineBytes-at%rdma.LineBytes)
		lines.Fill(r.buf[at%r.size:], zero[:n])
		at += n
	}
}

// lookPlaced takes what has appeared in a connection's ring, whose word at place i of
// w.words has changed.
func (w *Worker) lookPlaced(i int, c *Conn) {
	if c.failed != nil {
		return
	}
	found, err := c.in.arrived()
	if err != nil {
		c.Fail(err)
	}
	w.words[i].word = c.in.word(c.in.tail)
	if found {
		w.schedule.touch(c)
		w.account(c)
		w.ticking = true
	}
}
