package client

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
)

// tcpCaller is the client's end, which any number of goroutines share.
type tcpCaller struct {
	c net.Conn
	// writing holds a token while a frame is being written to the socket:
	// the goroutine that put it there owns out. It is a channel, because other
	// goroutines wait for a peer that does not read, and they have contexts.
	writing chan struct{}
	out     []byte
	done    chan struct{}

	mu   sync.Mutex // guards the fields below; not held while writing
	next uint64
	wait map[uint64]*tcpCall
	err  error
	// sent counts the bytes of all requests, taken the bytes that the server
	// is known to have read: it reads in order.
	sent, taken uint64
}

// inlineBytes is how many unread bytes fit into the smallest socket buffers: a
// write that leaves no more than this unread does not block.
const inlineBytes = 16 << 10

type tcpCall struct {
	dst  []byte
	end  uint64 // sent after this request
	kind fastmsg.Kind
	err  error
	ch   chan struct{}
}

func dialTCP(ctx context.Context, addr string, ticket uint64) (*tcpCaller, error) {
	c, err := wire.DialTCPBy(ctx, addr, ticket)
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", model.ErrNoServer, addr, err)
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
		kind, id, p, err := wire.ReadFrame(r, buf, wire.MaxReply)
		if err != nil {
			t.fail(err)
			return
		}
		if buf = p; cap(buf) > wire.KeepBytes {
			buf = nil
		}
		if id == 0 && kind == wire.KindFailure { // no request has this id
			t.end(model.ErrNotSent, wire.GetFailure(p))
			return
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

func (t *tcpCaller) fail(err error) { t.end(model.ErrUnknownOutcome, err) }

// end fails all calls. outcome says whether they were carried out.
func (t *tcpCaller) end(outcome, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = fmt.Errorf("tcp to %s: %w", t.c.RemoteAddr(), err)
	}
	for id, call := range t.wait {
		call.err = fmt.Errorf("%w: %w", outcome, t.err)
		delete(t.wait, id)
		close(call.ch)
	}
	t.c.Close()
}

// acquire waits for the permission to write.
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

// write sends out, and gives up the permission.
func (t *tcpCaller) write() {
	if _, err := t.c.Write(t.out); err != nil {
		t.fail(err) // fails this call too
	}
	<-t.writing
}

// Call sends a request and waits for its answer.
func (t *tcpCaller) Call(ctx context.Context, kind fastmsg.Kind, payload, dst []byte) ([]byte, fastmsg.Kind, error) {
	call := &tcpCall{dst: dst, ch: make(chan struct{})}
	if err := t.acquire(ctx); err != nil {
		return dst, 0, fmt.Errorf("%w: %w", model.ErrNotSent, err)
	}
	t.mu.Lock()
	if err := t.err; err != nil {
		t.mu.Unlock()
		<-t.writing
		return dst, 0, fmt.Errorf("%w: %w", model.ErrNotSent, err)
	}
	t.next++
	id := t.next
	t.sent += wire.FrameBytes + uint64(len(payload))
	call.end = t.sent
	t.wait[id] = call
	short := t.sent-t.taken <= inlineBytes
	t.mu.Unlock()
	t.out = wire.AppendFrame(t.out[:0], kind, id, payload)
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
	return dst, 0, fmt.Errorf("%w: %w", model.ErrUnknownOutcome, ctx.Err())
}

func (t *tcpCaller) Done() <-chan struct{} { return t.done }

func (t *tcpCaller) Close() error {
	t.fail(model.ErrClosed)
	<-t.done
	t.writing <- struct{}{} // the last write has ended
	<-t.writing
	return nil
}
