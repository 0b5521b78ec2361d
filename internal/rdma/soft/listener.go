package soft

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/rdma"
)

const (
	// backlog is the number of dialers that wait for Accept to be called;
	// further ones wait in their handshake.
	backlog = 128

	// acceptBackoff is the longest pause after an Accept that failed, as in
	// net/http's server (mostly for lack of descriptors).
	acceptBackoff = time.Second
)

// listener accepts streams and reads each one's hello on a separate
// goroutine, so that a slow or hostile dialer delays no other.
//
//	stream --> silent --hello--> waiting --Accept--> queue pair
//
// Silent streams are closed by source and by age; those that wait keep
// their place, unless another source has less.
type listener struct {
	dev      *device
	ln       net.Listener
	requests chan *connRequest
	done     chan struct{}

	silent, waiting *limits.Budget

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]*handshake // not answered yet
}

// handshake is a stream that is not answered yet.
type handshake struct {
	conn    net.Conn
	from    string
	account *limits.Account // silent, then waiting; under mu
	cutFor  atomic.Pointer[error]
}

func (d *device) Listen(addr string) (rdma.Listener, error) {
	ln, err := d.opt.Listen(addr)
	if err != nil {
		return nil, fmt.Errorf("soft: cannot listen on %s: %w", addr, err)
	}
	l := &listener{
		dev:      d,
		ln:       ln,
		requests: make(chan *connRequest, backlog),
		done:     make(chan struct{}),
		silent:   limits.NewReplacingBudget("handshakes", int64(d.opt.MaxHandshakes)),
		waiting: limits.NewBudget("connections that wait to be accepted",
			int64(d.opt.MaxHandshakes), int64(d.opt.MaxHandshakes)),
		conns: make(map[net.Conn]*handshake),
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		_ = ln.Close()
		return nil, rdma.ErrClosed
	}
	d.listeners[l] = struct{}{}
	d.spawnLocked(l.acceptLoop)
	return l, nil
}

func (l *listener) acceptLoop() {
	var pause time.Duration
	for {
		conn, err := l.ln.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			pause = min(max(2*pause, 5*time.Millisecond), acceptBackoff)
			l.dev.opt.Log.Warn("soft: accept failed", "err", err, "pause", pause)
			t := time.NewTimer(pause)
			select {
			case <-l.done:
				t.Stop()
				return
			case <-t.C:
			}
			continue
		}
		pause = 0
		if err := l.admit(conn); err != nil {
			l.dev.opt.Log.Warn("soft: connection dropped",
				"peer", conn.RemoteAddr().String(), "err", err)
			_ = conn.Close()
		}
	}
}

// admit starts the handshake of a new stream.
func (l *listener) admit(conn net.Conn) error {
	h := &handshake{conn: conn, from: limits.SourceOf(conn.RemoteAddr())}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return rdma.ErrClosed
	}
	l.conns[conn] = h
	l.mu.Unlock()
	if err := l.enter(h, l.silent); err != nil {
		l.take(conn)
		return err
	}
	l.dev.spawn(func() { l.receive(h) })
	return nil
}

// enter moves a stream into a budget, out of its previous one.
func (l *listener) enter(h *handshake, b *limits.Budget) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns[h.conn] == nil {
		return rdma.ErrClosed
	}
	a := b.Open(h.from, func(err error) {
		h.cutFor.CompareAndSwap(nil, &err)
		l.dev.spawn(func() { l.drop(h.conn) }) // Close of a TLS stream waits
	})
	if err := a.Take(1); err != nil {
		a.Close()
		return err
	}
	h.account.Close()
	h.account = a
	return nil
}

// receive reads the dialer's hello and queues its request.
func (l *listener) receive(hs *handshake) {
	conn := hs.conn
	peer := conn.RemoteAddr().String()
	_ = conn.SetDeadline(time.Now().Add(l.dev.opt.HandshakeTimeout))
	h, err := readHello(conn, peer)
	if err == nil && h.verdict != verdictHello {
		err = violation("hello with verdict %d, allowed %d",
			h.verdict, verdictHello)
	}
	var mismatch *VersionError
	if errors.As(err, &mismatch) {
		// The dialer gets our version from the answer's first bytes.
		_, _ = conn.Write((&hello{verdict: verdictReject}).encode())
		l.dev.opt.Log.Warn("soft: handshake failed", "peer", peer, "err", err)
		if l.take(conn) {
			lingerClose(conn)
		}
		return
	}
	if err == nil {
		if err = l.enter(hs, l.waiting); err != nil {
			_, _ = conn.Write((&hello{verdict: verdictReject, body: []byte(err.Error())}).encode())
		}
	}
	if err != nil {
		if cut := hs.cutFor.Load(); cut != nil {
			err = *cut
		}
		l.dev.opt.Log.Warn("soft: handshake failed", "peer", peer, "err", err)
		l.drop(conn)
		return
	}
	select {
	case l.requests <- &connRequest{l: l, conn: conn, peer: peer, hello: h}:
	case <-l.done:
		l.drop(conn)
	}
}

// take makes the caller the owner of a stream. False: it was closed.
func (l *listener) take(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, ok := l.conns[conn]
	if ok {
		h.account.Close()
		delete(l.conns, conn)
	}
	return ok
}

func (l *listener) drop(conn net.Conn) {
	if l.take(conn) {
		_ = conn.Close()
	}
}

func (l *listener) Accept(ctx context.Context) (rdma.ConnRequest, error) {
	select {
	case <-l.done:
		return nil, rdma.ErrClosed
	default:
	}
	select {
	case r := <-l.requests:
		return r, nil
	case <-l.done:
		return nil, rdma.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *listener) Addr() string { return l.ln.Addr().String() }

// Close also closes the streams that were not accepted or rejected yet.
func (l *listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	close(l.done)
	for conn, h := range l.conns {
		h.account.Close()
		_ = conn.Close()
	}
	clear(l.conns)
	l.mu.Unlock()

	l.dev.mu.Lock()
	delete(l.dev.listeners, l)
	l.dev.mu.Unlock()
	return l.ln.Close()
}

// connRequest is a dialer that waits for an answer.
type connRequest struct {
	l     *listener
	conn  net.Conn
	peer  string
	hello *hello
}

func (r *connRequest) PrivateData() []byte { return r.hello.body }
func (r *connRequest) Peer() string        { return r.peer }

// Accept accepts the dialer. Errors: rdma.ErrTooLarge and rdma.ErrBadRequest
// (the dialer still waits), rdma.ErrClosed, or the stream's.
func (r *connRequest) Accept(cfg rdma.QPConfig, private []byte) (rdma.QueuePair, error) {
	d := r.l.dev
	if err := d.checkConfig(&cfg, private); err != nil {
		return nil, err
	}
	if !r.l.take(r.conn) {
		return nil, rdma.ErrClosed
	}
	q := d.newQP(r.conn, r.peer, &cfg, r.hello)
	err := q.admit()
	if err != nil {
		_ = r.refuse(err.Error())
		return nil, fmt.Errorf("soft: accepting %s: %w", r.peer, err)
	}
	if err = r.answer(d.ourHello(&cfg, verdictAccept, private)); err == nil {
		if err = q.start(); err == nil {
			return q, nil
		}
	}
	q.leave()
	_ = r.conn.Close()
	return nil, fmt.Errorf("soft: accepting %s: %w", r.peer, err)
}

// Reject refuses the dialer; a reason is cut to maxReason bytes.
func (r *connRequest) Reject(reason string) error {
	if !r.l.take(r.conn) {
		return rdma.ErrClosed
	}
	return r.refuse(reason)
}

func (r *connRequest) refuse(reason string) error {
	defer r.conn.Close()
	body := []byte(reason)
	return r.answer(&hello{verdict: verdictReject,
		body: body[:min(len(body), maxReason)]})
}

func (r *connRequest) answer(h *hello) error {
	_ = r.conn.SetDeadline(time.Now().Add(r.l.dev.opt.HandshakeTimeout))
	if _, err := r.conn.Write(h.encode()); err != nil {
		return err
	}
	return r.conn.SetDeadline(time.Time{})
}
