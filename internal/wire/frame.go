package wire

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
)

// The baseline of the paper: the same requests over a plain socket, with one
// goroutine per connection in the server.
//
//	0        4      5     8         16
//	+--------+------+-----+---------+---------+
//	| size   | kind | 0   | id      | payload |   little-endian
//	+--------+------+-----+---------+---------+
//	size u32 counts header and payload. An answer has the id of its request.
//	A failure with id 0 answers no request: the server refuses the connection, and
//	carries out nothing.
const (
	FrameBytes = 16
	// MaxPayload is that of the largest request without a name.
	MaxPayload = HeadBytes + MaxBatch*ItemBytes
	// MaxRequest is the size of the largest request that a server takes.
	MaxRequest = FrameBytes + NameBytes + MaxPayload
	// MaxReply is the size of the largest answer that a client takes: 25
	// million items.
	MaxReply = 1 << 30
)

// AppendFrame appends a message as plain sockets carry it.
func AppendFrame(b []byte, kind fastmsg.Kind, id uint64, payload []byte) []byte {
	return append(AppendFrameHead(b, kind, id, len(payload)), payload...)
}

// AppendFrameHead begins a frame with a payload of n bytes.
func AppendFrameHead(b []byte, kind fastmsg.Kind, id uint64, n int) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(FrameBytes+n))
	b = append(b, byte(kind), 0, 0, 0)
	return binary.LittleEndian.AppendUint64(b, id)
}

// ReadFrame reads one message into buf, growing it as needed.
func ReadFrame(r *bufio.Reader, buf []byte, limit int) (kind fastmsg.Kind, id uint64, payload []byte, err error) {
	head, err := r.Peek(FrameBytes)
	if err != nil {
		return 0, 0, buf, err
	}
	size := int64(binary.LittleEndian.Uint32(head))
	kind, id = fastmsg.Kind(head[4]), binary.LittleEndian.Uint64(head[8:])
	if size < FrameBytes || size > int64(limit) {
		return 0, 0, buf, fmt.Errorf("%w: frame of %d bytes, want %d..%d", model.ErrProtocol, size, FrameBytes, limit)
	}
	r.Discard(FrameBytes)
	// Grow as bytes arrive, so that a size alone does not cost memory.
	buf = buf[:0]
	for n := int(size) - FrameBytes; n > 0; {
		step := min(n, 64<<10)
		off := len(buf)
		buf = append(buf, make([]byte, step)...)
		if _, err := io.ReadFull(r, buf[off:]); err != nil {
			return 0, 0, buf, err
		}
		n -= step
	}
	return kind, id, buf, nil
}

// FitReply turns an answer that is too large for clients into a failure, so
// that the connection remains usable for other requests.
func FitReply(kind fastmsg.Kind, answer []byte) (fastmsg.Kind, []byte) {
	if len(answer) <= MaxReply-FrameBytes {
		return kind, answer
	}
	err := fmt.Errorf("%w: %d bytes, limit %d", model.ErrTooLarge, len(answer), MaxReply-FrameBytes)
	return KindFailure, AppendFailure(nil, err, 0)
}
