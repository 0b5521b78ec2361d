package fastmsg

import (
	"encoding/binary"

	"github.com/catfish-index/catfish/internal/rdma"
)

// The writing end of a ring. A position counts all bytes since the start;
// modulo the ring's size it is an offset in the ring:
//
//	      head            posted          tail       head+size
//	-------|----------------|---------------|------------|
//	 read   at the peer,     in the mirror,   free
//	 by     may be unread    not posted
//	 peer
//
// head <= posted <= tail <= head+size always. The mirror's bytes from head
// to posted belong to the provider. When the peer returns its head, the bytes
// before it are free again: the peer has read them, so their write is
// complete. Therefore ring writes need no completion of their own.
//
// # Why lazy heads cannot deadlock
//
// A flight is a WriteImm that was posted and not returned yet. The reader
// returns its head when it has read a quarter of the ring since the last
// return, or a quarter of the flights that there may be, whichever comes
// first. So a reader that has read everything leaves less than size/4 bytes
// and less than a quarter of the flights unreturned. A message takes at most
// maxMessage = size/4 bytes, plus padding that is smaller than the message
// (padding is written only when the message does not fit before the ring's
// end; or when the ring begins again at its front, but then there is room for
// both, and more). So a message needs at most size/2 bytes where more than
// 3*size/4 are free, and one flight where more than 3/4 of them are free. It
// follows that while a writer is blocked, its reader still finds bytes to
// read, and will return its head.
//
// # Why a queue pair is never full, if announcements are events
//
// Events that a reader has not polled yet are at most the flights of this
// ring, and returns of the opposite ring. The writer of that ring has at most
// size bytes and all its flights outstanding since the last return that it
// polled; each return frees a quarter of one or the other. So there are at
// most maxReturns = 4+4 returns. recvDepth and sendDepth follow from that.
type sendRing struct {
	mirror rdma.Region
	buf    []byte // the mirror's memory
	remote rdma.Remote
	size   uint64

	tail, posted, head uint64
	padEnd             uint64 // end of the last padding's header
	written            uint64 // end of a lap whose rest was written, but not announced

	flights     []uint64 // where each flight ends; a queue
	first, used int
	word        tailWriter // in place of flights
	placed      bool       // messages announce themselves (placed.go): no flights either

	unsignaled int // requests prepared since the last signaled one
}

const (
	// MinRingBytes and MaxRingBytes bound a ring: one page, and half of
	// the longest single write that package internal/rdma/soft takes by default.
	MinRingBytes = 4 << 10
	MaxRingBytes = 8 << 20
	// DefaultRingBytes is the paper's ring (section V).
	DefaultRingBytes = 256 << 10

	// maxFlights bounds WriteImms in flight, so that queue depths stay
	// within what any card grants (EFA, the smallest: 4096 receives).
	maxFlights = 1024
	maxReturns = 8 // see above
	// signalEvery is the number of ring writes for each one that asks for a
	// completion: the card frees unsignaled requests when it reports a later
	// signaled one. It is rare enough to cost nothing, and a small part of
	// sendDepth.
	signalEvery = 32
	// SpareSends is how many unsignaled writes the owner of a connection may
	// have outstanding besides those of the rings, for heartbeats.
	SpareSends = 64

	returnBit = 1 << 31 // in an immediate: units are returned, not appended
	maxWRs    = 3       // a write up to the ring's end, one from its start, a return or a tail word
)

// frontBytes is the room that must be left when a ring begins again at its front
// before its end is reached. A ring whose reader keeps up is used up to the
// first return of its head, 256 small messages or a quarter of it, and not from
// end to end, so that it stays in the caches: with 64 clients, rings and mirrors
// are 64 MB. The room is for messages sent while the next return is in flight.
const frontBytes = 4096

func flightsOf(ringBytes int) int { return min(ringBytes/headerBytes, maxFlights) }

// recvDepth is the number of events that can wait at the reader of a ring.
func recvDepth(ringBytes int, inMemory bool) int {
	if inMemory {
		return maxReturns
	}
	return flightsOf(ringBytes) + maxReturns
}

// sendDepth is the number of requests that the writer of a ring can have
// outstanding: flights, one more write for each of the at most two laps that
// they span, returns, requests that wait for a signaled one, and those of the
// owner. Announcements in memory have no flights, so there may be more of them
// than the queue pair takes: Post refuses those beyond its depth, and abort undoes them.
func sendDepth(ringBytes int) int {
	return flightsOf(ringBytes) + 2 + maxReturns + 2*signalEvery + SpareSends
}

// maxMessage is the largest message, with header, that a ring takes.
func maxMessage(ringBytes int) int { return ringBytes / 4 }

// newSendRing returns the writing end of a ring of that size at remote. The
// mirror has mirrorBytes.
func newSendRing(mirror rdma.Region, remote rdma.Remote, ringBytes int, inMemory bool) sendRing {
	s := sendRing{
		mirror: mirror,
		buf:    mirror.Bytes()[:ringBytes],
		remote: remote,
		size:   uint64(ringBytes),
	}
	if inMemory {
		s.word.remote = remote.At(s.size)
		s.word.sources = mirror.Bytes()[ringBytes:mirrorBytes(ringBytes, true)]
	} else {
		s.flights = make([]uint64, flightsOf(ringBytes))
	}
	return s
}

func (s *sendRing) inMemory() bool { return s.word.sources != nil }

// reserve appends room for a message of n bytes (a multiple of 8, at most
// maxMessage) and returns it, nil if there is not enough room now.
func (s *sendRing) reserve(n int) []byte {
	at, used := s.tail%s.size, s.tail-s.head
	free := s.size - used
	// Begin again at the front, if the outstanding bytes leave room there.
	wraps := at >= used+frontBytes && s.size-at+uint64(n) <= free && !s.placed
	if rest := s.size - at; uint64(n) > rest || wraps {
		if rest+uint64(n) > free {
			return nil
		}
		h := header{size: uint32(rest), kind: kindPad}
		binary.LittleEndian.PutUint64(s.buf[at:], h.word())
		s.padEnd = s.tail + unitBytes
		s.tail += rest
		at = 0
	} else if uint64(n) > free {
		return nil
	}
	s.tail += uint64(n)
	return s.buf[at : at+uint64(n)]
}

// append encodes a message at the tail. It returns false if there is not
// enough room now.
func (s *sendRing) append(kind Kind, flags Flags, id uint64, payload []byte) bool {
	if s.placed {
		return s.appendPlaced(kind, flags, id, payload)
	}
	dst := s.reserve(messageBytes(len(payload)))
	if dst == nil {
		return false
	}
	putMessage(dst, kind, flags, id, payload)
	return true
}

// appendEncoded appends a message as putMessage encodes it.
func (s *sendRing) appendEncoded(b []byte) bool {
	if s.placed {
		h := decodeHeader(binary.LittleEndian.Uint64(b))
		return s.appendPlaced(h.kind, h.flags, binary.LittleEndian.Uint64(b[8:]), b[headerBytes:int(h.size)-int(h.fill)])
	}
	dst := s.reserve(len(b))
	if dst == nil {
		return false
	}
	copy(dst, b)
	return true
}

func (s *sendRing) unposted() uint64 { return s.tail - s.posted }

// prepare fills wrs with the requests that send everything appended, marks
// that as posted and returns the number of requests. It is 0 if there is
// nothing to send, or no flight is free (then a return will come). If Post
// does not take all of them, abort undoes prepare.
func (s *sendRing) prepare(wrs *[maxWRs]rdma.WorkRequest) int {
	if s.placed {
		return s.preparePlaced(wrs)
	}
	if s.posted == s.tail || !s.inMemory() && s.used == len(s.flights) {
		return 0
	}
	n := 0
	start := s.posted
	if lapEnd := s.posted - s.posted%s.size + s.size; s.tail > lapEnd {
		// The body of padding need not be sent.
		end := lapEnd
		if s.posted < s.padEnd && s.padEnd < lapEnd {
			end = s.padEnd
		}
		if s.written != lapEnd {
			wrs[n] = s.request(rdma.OpWrite, s.posted, end)
			n++
		}
		start = lapEnd
	}
	if s.inMemory() {
		wrs[n] = s.request(rdma.OpWrite, start, s.tail)
		n++
		wrs[n] = s.word.request(s.mirror, int(s.size), s.tail)
	} else {
		wrs[n] = s.request(rdma.OpWriteImm, start, s.tail)
		wrs[n].Imm = uint32((s.tail - s.posted) / unitBytes)
		s.flights[(s.first+s.used)%len(s.flights)] = s.tail
		s.used++
	}
	n++
	if s.unsignaled += n; s.unsignaled >= signalEvery {
		wrs[n-1].Unsignaled = false
		s.unsignaled = 0
	}
	s.posted = s.tail
	return n
}

func (s *sendRing) request(op rdma.Op, from, to uint64) rdma.WorkRequest {
	at := from % s.size
	return rdma.WorkRequest{
		Op:         op,
		Unsignaled: true,
		Local:      rdma.Buffer{Region: s.mirror, Offset: int(at), Len: int(to - from)},
		Remote:     s.remote.At(at),
	}
}

// signals counts a request of the owner, and reports whether it is to be signaled: on
// a connection whose client fetches its answers there may be no others for long.
func (s *sendRing) signals() bool {
	s.unsignaled++
	if s.unsignaled < signalEvery {
		return false
	}
	s.unsignaled = 0
	return true
}

// abort undoes the last prepare, of which Post took only the first taken
// requests: none, or writes of bytes that nothing announced. The write of the
// rest of a lap is not repeated: otherwise a client whose queue is always full
// could keep a worker copying megabytes. The next request is signaled, in case
// the refused one should have been.
func (s *sendRing) abort(posted uint64, taken int) {
	if s.placed {
		s.abortPlaced(posted, taken)
		return
	}
	if lapEnd := posted - posted%s.size + s.size; taken > 0 && s.posted > lapEnd {
		s.written = lapEnd
	}
	s.posted = posted
	s.unsignaled = signalEvery
	if s.inMemory() {
		s.word.posted--
	} else if s.used > 0 {
		s.used--
	}
}

// returnedTo handles the peer's message that it has read units since the start,
// modulo 2^bits. A message older than an earlier one says nothing new.
func (s *sendRing) returnedTo(units uint32, bits int) error {
	more := (units - uint32(s.head/unitBytes)) << (32 - bits) >> (32 - bits)
	if more >= 1<<(bits-1) || more == 0 {
		return nil
	}
	return s.returned(more)
}

// returned handles the peer's message that it has read units since the last such message.
func (s *sendRing) returned(units uint32) error {
	head := s.head + uint64(units)*unitBytes
	if units == 0 || head > s.posted {
		return protocolError("%d bytes returned, %d are outstanding",
			uint64(units)*unitBytes, s.posted-s.head)
	}
	s.head = head
	for s.used > 0 && s.flights[s.first] <= head {
		s.first = (s.first + 1) % len(s.flights)
		s.used--
	}
	return nil
}
