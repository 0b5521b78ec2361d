package jakiro

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	"github.com/catfish-index/catfish/internal/lines"
)

const (
	// Buffers is the number of response buffers of a client thread.
	Buffers     = 8
	headerBytes = 2
	tailBytes   = 1
	statusBit   = 1 << 15
	// MaxBody is the largest size that a header can say.
	MaxBody = statusBit - 1
	// tail is the last byte of a request.
	tail = 1
	word = 8
)

// requestBytes and bufferBytes are the memory of the buffers for bodies of at most body bytes, in
// whole lines.
func requestBytes(body int) int { return wholeLines(headerBytes + body + tailBytes) }
func bufferBytes(body int) int  { return wholeLines(headerBytes + body) }
func wholeLines(n int) int      { return (n + lines.Bytes - 1) / lines.Bytes * lines.Bytes }

func header(body int) uint16 { return statusBit | uint16(body) }

// parse returns what a header says.
func parse(h uint16) (body int, there bool) { return int(h &^ statusBit), h&statusBit != 0 }

// putRequest encodes a request into b, and returns its bytes.
func putRequest(b, body []byte) int {
	binary.LittleEndian.PutUint16(b, header(len(body)))
	n := headerBytes + copy(b[headerBytes:], body)
	b[n] = tail
	return n + tailBytes
}

// load reads the aligned word at an offset of memory that a peer writes.
//
// SAFETY: the pointer is that of 8 bytes of mem, which begins at a page.
func load(mem []byte, at int) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&mem[at : at+word][0])))
}

// request returns the body of the request in a buffer, if header and tail show one. bad:
// the header says more than the buffer holds.
func request(mem []byte) (body []byte, there, bad bool) {
	n, there := parse(uint16(load(mem, 0)))
	if !there {
		return nil, false, false
	}
	end := headerBytes + n
	if end+tailBytes > len(mem) {
		return nil, false, true
	}
	if byte(load(mem, end&^(word-1))>>(8*(end%word))) != tail {
		return nil, false, false
	}
	return mem[headerBytes:end], true, false
}

// clearRequest clears a request's bytes, so that no old tail stands behind a new header.
func clearRequest(mem []byte, body int) {
	end := wholeLines(headerBytes + body + tailBytes)
	var zero [lines.Bytes]byte
	for at := 0; at < end; at += lines.Bytes {
		lines.Fill(mem[at:at+lines.Bytes], zero[:])
	}
}

// responses are the buffers of one client thread.
type responses struct {
	mem     []byte
	size    int // of a buffer
	current int // CRBP
}

func (r *responses) buffer(i int) []byte { return r.mem[i%Buffers*r.size:][:r.size] }

// put leaves a result in the current buffer: first the next buffer's header is cleared, then the
// body is written, and last the header, in one word with the body's first bytes.
func (r *responses) put(body []byte) {
	var first [word]byte
	next := r.buffer(r.current + 1)
	lines.Store(next, first[:])
	b := r.buffer(r.current)
	binary.LittleEndian.PutUint16(first[:], header(len(body)))
	n := copy(first[headerBytes:], body)
	lines.Fill(b[word:], body[n:])
	lines.Store(b, first[:])
	r.current = (r.current + 1) % Buffers
}
