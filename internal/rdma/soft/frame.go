package soft

import (
	"encoding/binary"
	"fmt"

	"github.com/catfish-index/catfish/internal/rdma"
)

// A stream carries frames back to back after the handshake. All numbers
// are little-endian; unused bytes are zero.
//
//	       0        4      5       6       8            16           24
//	       +--------+------+-------+-------+------------+------------+---
//	       | length | kind | flags | 0     |  per kind
//	       +--------+------+-------+-------+------------+------------+---
//	bytes      4       1       1      2         8            8
//
//	kind         8..16      16..24            24..28    28..32  then
//	1 WRITE      key        offset            (payload starts at 24)
//	2 WRITE_IMM  key        offset            imm       0       payload
//	3 READ_REQ   key        offset            bytes     0
//	4 READ_RESP  sequence   (payload starts at 16)
//	5 ACK        sequence
//	6 NAK        sequence   status (4), 0 (4)
//	7 CREDIT     count
//	8 BYE        9 PING     10 PONG
//
// length counts the whole frame. Requests (WRITE, WRITE_IMM, READ_REQ)
// are numbered from 1 in each direction by their place in the stream;
// the number does not travel with the request, answers carry it:
//
//   - READ_RESP s carries the bytes of Read s, and acknowledges all Writes
//     before s.
//   - ACK s acknowledges all Writes up to s; the READ_RESP of every Read up
//     to s was sent before.
//   - NAK s acknowledges all before s, reports that s failed with status and
//     had no effect, and that nothing after s was or will be executed.
//   - CREDIT n: n events of WRITE_IMMs have been polled since the connection
//     began. At most RecvDepth more than n may be sent.
//   - A PING is answered by a PONG. A PONG may also be sent without a PING,
//     to show that a side is alive while a long frame arrives.
//
// Flag 1 (answer) of a request asks for an ACK as soon as it is executed;
// others are acknowledged with the next bytes sent in that direction, or when
// enough of them wait.
const (
	kindWrite = 1 + iota
	kindWriteImm
	kindReadReq
	kindReadResp
	kindAck
	kindNak
	kindCredit
	kindBye
	kindPing
	kindPong
	kinds
)

const (
	headBytes = 8
	maxFixed  = 32 // the longest frame without payload

	flagAnswer = 1
)

// fixedBytes is the length of each kind without payload.
var fixedBytes = [kinds]int{
	kindWrite:    24,
	kindWriteImm: 32,
	kindReadReq:  32,
	kindReadResp: 16,
	kindAck:      16,
	kindNak:      24,
	kindCredit:   16,
	kindBye:      8,
	kindPing:     8,
	kindPong:     8,
}

// frame is a decoded frame without its payload.
type frame struct {
	kind    byte
	answer  bool
	fixed   int    // bytes before the payload
	payload int    // bytes
	number  uint64 // key, sequence or count
	offset  uint64
	word    uint32 // imm, bytes or status
}

// decode reads the frame at the start of b. False: b is too short to hold
// everything but the payload. It refuses lengths that the kind cannot have,
// and payloads of more than maxPayload bytes.
func decode(b []byte, maxPayload int) (f frame, ok bool, err error) {
	if len(b) < headBytes {
		return f, false, nil
	}
	length := int64(binary.LittleEndian.Uint32(b))
	f.kind = b[4]
	if f.kind == 0 || f.kind >= kinds {
		return f, false, violation("frame of unknown kind %d", f.kind)
	}
	f.fixed = fixedBytes[f.kind]
	payload := length - int64(f.fixed)
	most := int64(0)
	switch f.kind {
	case kindWrite, kindWriteImm, kindReadResp:
		most = int64(maxPayload)
	}
	if payload < 0 || payload > most {
		return f, false, violation("%s frame of %d bytes, allowed %d to %d",
			kindName(f.kind), length, f.fixed, int64(f.fixed)+most)
	}
	f.payload = int(payload)
	if b[5]&^flagAnswer != 0 || b[6] != 0 || b[7] != 0 {
		return f, false, violation("%s frame with unknown flags %#x",
			kindName(f.kind), b[5:8])
	}
	f.answer = b[5]&flagAnswer != 0
	if len(b) < f.fixed {
		return f, false, nil
	}
	if f.fixed >= 16 {
		f.number = binary.LittleEndian.Uint64(b[8:])
	}
	switch f.kind {
	case kindWrite:
		f.offset = binary.LittleEndian.Uint64(b[16:])
	case kindWriteImm, kindReadReq:
		f.offset = binary.LittleEndian.Uint64(b[16:])
		f.word = binary.LittleEndian.Uint32(b[24:])
	case kindNak:
		f.word = binary.LittleEndian.Uint32(b[16:])
	}
	return f, true, nil
}

// appendHeader appends the first 8 bytes of a frame, its header.
func appendHeader(b []byte, kind byte, answer bool, payload int) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(fixedBytes[kind]+payload))
	var flags byte
	if answer {
		flags = flagAnswer
	}
	return append(b, kind, flags, 0, 0)
}

// appendRequest appends a request's frame without its payload. For a Read, n
// is the number of bytes to read.
func appendRequest(b []byte, wr *rdma.WorkRequest, n int) []byte {
	remote, answer := wr.Remote, !wr.Unsignaled
	switch wr.Op {
	case rdma.OpWrite:
		b = appendHeader(b, kindWrite, answer, n)
	case rdma.OpWriteImm:
		b = appendHeader(b, kindWriteImm, answer, n)
		if n == 0 {
			remote = rdma.Remote{}
		}
	case rdma.OpRead:
		b = appendHeader(b, kindReadReq, answer, 0)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(remote.Key))
	b = binary.LittleEndian.AppendUint64(b, remote.Addr)
	switch wr.Op {
	case rdma.OpWriteImm:
		b = binary.LittleEndian.AppendUint64(b, uint64(wr.Imm))
	case rdma.OpRead:
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return b
}

// appendNumber appends a frame whose body is one number (ACK, CREDIT,
// READ_RESP without its payload).
func appendNumber(b []byte, kind byte, number uint64, payload int) []byte {
	b = appendHeader(b, kind, false, payload)
	return binary.LittleEndian.AppendUint64(b, number)
}

func appendNak(b []byte, seq uint64, s rdma.Status) []byte {
	b = appendNumber(b, kindNak, seq, 0)
	return binary.LittleEndian.AppendUint64(b, uint64(s))
}

func kindName(k byte) string {
	names := [kinds]string{"", "WRITE", "WRITE_IMM", "READ_REQ", "READ_RESP",
		"ACK", "NAK", "CREDIT", "BYE", "PING", "PONG"}
	if k == 0 || k >= kinds {
		return fmt.Sprintf("kind %d", k)
	}
	return names[k]
}
