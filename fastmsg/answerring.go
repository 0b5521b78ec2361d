package fastmsg

import (
	"encoding/binary"

	"github.com/catfish-index/catfish/internal/lines"
	"github.com/catfish-index/catfish/internal/rdma"
)

// Answers that are fetched
//
// A server may leave its answers in its own memory, from where the client fetches
// them by RDMA Reads, as RFP has it (Su et al., "RFP: When RPC is faster than
// server-bypass with RDMA", EuroSys 2017; Jakiro): a card serves reads several times
// as fast as it issues writes, and the server posts nothing.
//
// The paper has eight buffers for each client thread, used round robin. Here it
// is a ring of lines, so an answer may have any size, and one Read brings
// several. A position counts lines since the start:
//
//	      head         published        tail         head+lines
//	-------|--------------|---------------|--------------|
//	  the client     it may fetch     written, not      free
//	  has these      these            numbered yet
//
// A line is 64 bytes, the unit that a Read samples whole, in any order (package
// rdma). So each line says which one it is:
//
//	lane 0     bits 0-31   1 + the line's position, modulo 2^32
//	           bits 32-63  units of 8 bytes of requests that the server has read
//	           since the start, modulo 2^32, when it numbered the line
//	lanes 1-7  56 bytes of messages
//
// A message begins in a line of its own: its header of 16 bytes as in message.go, then
// the payload. What is left of its last line is not used.
//
// # Why a client takes no wrong line
//
// The server writes lanes 1 to 7, and then lane 0, by a store that no earlier one may
// follow. It writes to a line again only when the client has said that it no longer needs
// the line. So while a line has the number that the client waits for, its lanes do not
// change, and a snapshot of the line with this number has these lanes. Before that,
// the line's number is that of the lap before, or 0: memory holds no older number.
//
// The paper puts a flag and the size into two bytes before the answer, and clears
// those of the next buffer first. That is right if a Read samples the lines of a buffer
// in order, which no card promises; the number takes the place of both.
//
// # Requests' room
//
// Lane 0 reports how much of the request ring the server has read, so the
// server posts no return either, unless a quarter of the ring was read and no
// answer was numbered since.
type answerRing struct {
	region rdma.Region
	mem    []byte
	lines  uint64

	tail, published, head uint64
	on                    bool   // answers go here; else they are written
	again                 bool   // to be on, as soon as no answer is incomplete (leaveAgain)
	taken                 uint64 // bytes of the messages that were fetched

	ride    [RideBytes]byte
	rides   int  // bytes of ride that the next answer brings
	sayRead bool // report again how much of the request ring was read
}

const (
	lineBytes = rdma.LineBytes
	lineData  = lineBytes - wordBytes
	firstData = lineData - headerBytes
)

// linesOf is how many lines the message with a payload of n bytes takes.
func linesOf(n int) uint64 {
	if n <= firstData {
		return 1
	}
	return 1 + uint64((n-firstData+lineData-1)/lineData)
}

func newAnswerRing(region rdma.Region) *answerRing {
	return &answerRing{region: region, mem: region.Bytes(), again: true, lines: uint64(len(region.Bytes()) / lineBytes)}
}

func (r *answerRing) line(at uint64) []byte {
	at = at % r.lines * lineBytes
	return r.mem[at : at+lineBytes : at+lineBytes]
}

// append writes a message at the tail. It returns false if there is not enough room.
func (r *answerRing) append(kind Kind, flags Flags, id uint64, payload []byte) bool {
	n := linesOf(len(payload))
	if r.tail+n-r.head > r.lines {
		return false
	}
	size := messageBytes(len(payload))
	var first [headerBytes]byte
	h := header{size: uint32(size), kind: kind, flags: flags, fill: uint8(size - headerBytes - len(payload))}
	binary.LittleEndian.PutUint64(first[:], h.word())
	binary.LittleEndian.PutUint64(first[8:], id)
	line := r.line(r.tail)[wordBytes:]
	lines.Fill(line, first[:])
	done := lines.Fill(line[len(first):], payload)
	for at := r.tail + 1; at < r.tail+n; at++ {
		done += lines.Fill(r.line(at)[wordBytes:], payload[done:])
	}
	r.tail += n
	return true
}

// appendEncoded is append of a message as putMessage encodes it.
func (r *answerRing) appendEncoded(b []byte) bool {
	h := decodeHeader(binary.LittleEndian.Uint64(b))
	return r.append(h.kind, h.flags, binary.LittleEndian.Uint64(b[8:]), b[headerBytes:int(h.size)-int(h.fill)])
}

func (r *answerRing) unpublished() uint64 { return (r.tail - r.published) * lineBytes }

// publish numbers what was appended, for the client to fetch. read is how many bytes of
// requests the server has read. publish reports whether there was a line to number.
func (r *answerRing) publish(read uint64) bool {
	if r.published == r.tail {
		return false
	}
	units := uint64(uint32(read/unitBytes)) << 32
	for ; r.published < r.tail; r.published++ {
		var word [wordBytes]byte
		binary.LittleEndian.PutUint64(word[:], uint64(uint32(r.published+1))|units)
		lines.Store(r.line(r.published), word[:])
	}
	return true
}

// fetched handles the client's message that it has the lines before position
// at modulo 2^positionBits. It must be the end of a message.
func (r *answerRing) fetched(at uint32) error {
	to := r.head + uint64((at-uint32(r.head))&positionMask)
	if to > r.published {
		return protocolError("answers fetched up to line %d of %d", to, r.published)
	}
	end := r.head
	for end < to {
		end = r.endOf(end)
	}
	if end != to {
		return protocolError("answers fetched up to line %d, inside of one", to)
	}
	r.taken += (to - r.head) * lineBytes
	r.head = to
	return nil
}

// endOf returns the end of the message whose first line is at a position. Its
// header lies in memory that clients can only read.
func (r *answerRing) endOf(at uint64) uint64 {
	h := decodeHeader(binary.LittleEndian.Uint64(r.line(at)[wordBytes:]))
	return at + linesOf(int(h.size)-headerBytes-int(h.fill))
}

// message returns the first message after the head, encoded as in a ring, appended
// to b, and drops it. There is one if head is not tail.
func (r *answerRing) message(b []byte) []byte {
	at, end := len(b), r.endOf(r.head)
	line := r.line(r.head)[wordBytes:]
	size := int(decodeHeader(binary.LittleEndian.Uint64(line)).size)
	b = append(b, line...)
	for r.head++; r.head < end; r.head++ {
		b = append(b, r.line(r.head)[wordBytes:]...)
	}
	// The fill of a message counts in its size, and may go beyond its last line.
	for len(b) < at+size {
		b = append(b, 0)
	}
	return b[:at+size]
}
