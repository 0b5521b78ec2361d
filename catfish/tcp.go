package catfish

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/budget"
	"github.com/catfish-index/catfish/internal/querylog"
)

// The baseline of the paper: the same requests over a plain socket, with one
// goroutine per connection in the server.
//
//	0        4      5     8         16
//	+--------+------+-----+---------+---------+
//	| size   | kind | 0   | id      | payload |   little-endian
//	+--------+------+-----+---------+---------+
//	size u32 counts header and payload.
const (
	frameBytes = 16
	// maxRequest is the size of the largest request that a server takes.
	maxRequest = frameBytes + headBytes + maxBatch*itemBytes
	// maxReply is the size of the largest answer that a client takes: 25
	// million items.
	maxReply = 1 << 30
)

func appendFrame(b []byte, kind fastmsg.Kind, id uint64, payload []byte) []byte {
	return append(appendFrameHead(b, kind, id, len(payload)), payload...)
}

// appendFrameHead begins a frame with a payload of n bytes.
func appendFrameHead(b []byte, kind fastmsg.Kind, id uint64, n int) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(frameBytes+n))
	b = append(b, byte(kind), 0, 0, 0)
	return binary.LittleEndian.AppendUint64(b, id)
}

// readFrame reads one message into buf, growing it as needed.
func readFrame(r *bufio.Reader, buf []byte, limit int) (kind fastmsg.Kind, id uint64, payload []byte, err error) {
	head, err := r.Peek(frameBytes)
	if err != nil {
		return 0, 0, buf, err
	}
	size := int64(binary.LittleEndian.Uint32(head))
	kind, id = fastmsg.Kind(head[4]), binary.LittleEndian.Uint64(head[8:])
	if size < frameBytes || size > int64(limit) {
		return 0, 0, buf, fmt.Errorf("%w: frame of %d bytes, want %d..%d", ErrProtocol, size, frameBytes, limit)
	}
	r.Discard(frameBytes)
	// Grow as bytes arrive, so that a size alone does not cost memory.
	buf = buf[:0]
	for n := int(size) - frameBytes; n > 0; {
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

// fitReply turns an answer that is too large for clients into a failure, so
// that the connection remains usable for other requests.
func fitReply(kind fastmsg.Kind, answer []byte) (fastmsg.Kind, []byte) {
	if len(answer) <= maxReply-frameBytes {
		return kind, answer
	}
	err := fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, len(answer), maxReply-frameBytes)
	return kindFailure, appendFailure(nil, err, 0)
}

// serveTCP answers one plain-socket connection until it ends.
func (s *Server) serveTCP(c net.Conn) {
	defer c.Close()
	if !s.track(c) {
		return
	}
	defer s.untrack(c)
	v := service{s: s, transport: TransportTCP, via: querylog.ViaTCP, peer: tcpPeer{c}}
	if s.rec != nil {
		v.client = s.rec.Client()
	}
	r, w := bufio.NewReaderSize(c, 64<<10), bufio.NewWriterSize(c, 64<<10)
	account := tcpAccount{s.budgets.answers.Open(budget.SourceOf(c.RemoteAddr()), func(err error) {
		c.Close()
	})}
	defer account.Close()
	var in, frame []byte
	for {
		kind, id, p, err := readFrame(r, in, maxRequest)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				s.log.Warn("connection ended", "transport", TransportTCP, "peer", c.RemoteAddr(), "err", err)
			}
			return
		}
		in = p
		kind, answer, rest := v.process(kind, p)
		s.tcpRequests.Add(1)
		if rest != nil {
			if err := v.sendLong(w, id, rest, account); err != nil {
				return
			}
			continue
		}
		kind, answer = fitReply(kind, answer)
		frame = appendFrame(frame[:0], kind, id, answer)
		if _, err := w.Write(frame); err != nil {
			return
		}
		if v.trim(); cap(frame) > keepBytes {
			frame = nil
		}
		// The answers to pipelined requests share one system call.
		if r.Buffered() < frameBytes {
			if err := w.Flush(); err != nil {
				return
			}
		}
	}
}

// tcpAccount is what a plain socket holds.
type tcpAccount struct{ *budget.Account }

func (a tcpAccount) Hold(n int64) error { return a.Take(n) }
func (a tcpAccount) Unhold(n int64)     { a.Give(n) }

// sendLong makes and sends the answer to a request that takes long. An error
// means that the connection is lost.
func (v *service) sendLong(w *bufio.Writer, id uint64, l *long, h holder) error {
	defer l.end(h)
	if err := v.s.turns.search(v.s, l, h); err != nil {
		v.out = appendFrame(v.out[:0], kindFailure, id, appendFailure(nil, err, 0))
		return write(w, v.out)
	}
	v.recordRead(&l.req, l.scan.Count())
	v.out = appendFrameHead(v.out[:0], kindReply, id, l.bytes())
	for last := false; !last; {
		v.out, last = l.piece(h, v.out)
		if _, err := w.Write(v.out); err != nil {
			return err
		}
		v.out = v.out[:0]
	}
	return w.Flush()
}

func write(w *bufio.Writer, b []byte) error {
	if _, err := w.Write(b); err != nil {
		return err
	}
	return w.Flush()
}
