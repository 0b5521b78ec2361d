package catfish

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/catfish-index/catfish/fastmsg"
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
	b = binary.LittleEndian.AppendUint32(b, uint32(frameBytes+len(payload)))
	b = append(b, byte(kind), 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, id)
	return append(b, payload...)
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
	err := fmt.Errorf("answer of %d bytes, limit %d", len(answer), maxReply-frameBytes)
	return kindFailure, appendFailure(nil, err, 0)
}

// serveTCP answers one plain-socket connection until it ends.
func (s *Server) serveTCP(c net.Conn) {
	defer c.Close()
	if !s.track(c) {
		return
	}
	defer s.untrack(c)
	v := service{s: s, transport: TransportTCP, via: querylog.ViaTCP}
	if s.rec != nil {
		v.client = s.rec.Client()
	}
	r, w := bufio.NewReaderSize(c, 64<<10), bufio.NewWriterSize(c, 64<<10)
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
		kind, answer := fitReply(v.process(kind, p))
		s.tcpRequests.Add(1)
		frame = appendFrame(frame[:0], kind, id, answer)
		if _, err := w.Write(frame); err != nil {
			return
		}
		if cap(frame) > keepBytes {
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

// tcpCaller is the client's end: any number of goroutines share it.
type tcpCaller struct {
	c net.Conn
	// writing holds a token while a frame is on its way into the socket:
	// whoever put it there owns out. A channel, for a peer that does not
	// read makes the others wait, and they have contexts.
	writing chan struct{}
	out     []byte
	done    chan struct{}

	mu   sync.Mutex // guards the fields below; not held while writing
	next uint64
	wait map[uint64]*tcpCall
	err  error
	// sent counts the bytes of all requests, taken those that the server
	// has read for certain: it answers in order.
	sent, taken uint64
}

// inlineBytes that the server may not have read yet fit into the smallest
// socket buffers: a write of that much does not block.
const inlineBytes = 16 << 10

type tcpCall struct {
	dst  []byte
	end  uint64 // sent after this request
	kind fastmsg.Kind
	err  error
	ch   chan struct{}
}

func dialTCP(ctx context.Context, addr string) (*tcpCaller, error) {
	c, err := dialStream(ctx, addr, streamTCP)
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrNoServer, addr, err)
	}
	t := &tcpCaller{c: c, wait: make(map[uint64]*tcpCall), done: make(chan struct{}), writing: make(chan struct{}, 1)}
	go t.read()
	return t, nil
}

func (t *tcpCaller) read() {
	defer close(t.done)
	r := bufio.NewReaderSize(t.c, 64<<10)
	var buf []byte
	for {
		kind, id, p, err := readFrame(r, buf, maxReply)
		if err != nil {
			t.fail(err)
			return
		}
		if buf = p; cap(buf) > keepBytes {
			buf = nil
		}
		t.mu.Lock()
		call := t.wait[id]
		delete(t.wait, id)
		if call != nil {
			t.taken = max(t.taken, call.end)
		}
		t.mu.Unlock()
		if call != nil { // nil: its caller gave up
			call.dst, call.kind = append(call.dst, p...), kind
			close(call.ch)
		}
	}
}

func (t *tcpCaller) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = fmt.Errorf("tcp to %s: %w", t.c.RemoteAddr(), err)
	}
	for id, call := range t.wait {
		call.err = fmt.Errorf("%w: %w", ErrUnknownOutcome, t.err)
		delete(t.wait, id)
		close(call.ch)
	}
	t.c.Close()
}

// acquire waits for its turn to write.
func (t *tcpCaller) acquire(ctx context.Context) error {
	select {
	case t.writing <- struct{}{}:
		return nil
	default:
	}
	select {
	case t.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-t.done:
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.err
	}
}

// write sends out, and ends the turn.
func (t *tcpCaller) write() {
	if _, err := t.c.Write(t.out); err != nil {
		t.fail(err) // ends this call too
	}
	<-t.writing
}

// Call sends a request and waits for its answer.
func (t *tcpCaller) Call(ctx context.Context, kind fastmsg.Kind, payload, dst []byte) ([]byte, fastmsg.Kind, error) {
	call := &tcpCall{dst: dst, ch: make(chan struct{})}
	if err := t.acquire(ctx); err != nil {
		return dst, 0, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	t.mu.Lock()
	if err := t.err; err != nil {
		t.mu.Unlock()
		<-t.writing
		return dst, 0, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	t.next++
	id := t.next
	t.sent += frameBytes + uint64(len(payload))
	call.end = t.sent
	t.wait[id] = call
	short := t.sent-t.taken <= inlineBytes
	t.mu.Unlock()
	t.out = appendFrame(t.out[:0], kind, id, payload)
	if short {
		t.write()
	} else {
		go t.write() // may take until the server reads, or Close
	}
	select {
	case <-call.ch:
		return call.dst, call.kind, call.err
	case <-ctx.Done():
	}
	t.mu.Lock()
	_, waiting := t.wait[id]
	delete(t.wait, id)
	t.mu.Unlock()
	if !waiting {
		<-call.ch // the reader owns dst until then
		return call.dst, call.kind, call.err
	}
	return dst, 0, fmt.Errorf("%w: %w", ErrUnknownOutcome, ctx.Err())
}

func (t *tcpCaller) Done() <-chan struct{} { return t.done }

func (t *tcpCaller) Close() error {
	t.fail(ErrClosed)
	<-t.done
	t.writing <- struct{}{} // the last write has ended
	<-t.writing
	return nil
}
