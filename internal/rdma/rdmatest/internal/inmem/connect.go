package inmem

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// listener implements rdma.Listener.
type listener struct {
	dev  *Device
	addr string
	done chan struct{}
	// arrived holds a token while requests may be waiting.
	arrived chan struct{}

	waiting []*connRequest // guarded by dev.f.mu
	closed  bool
}

// connRequest implements rdma.ConnRequest.
type connRequest struct {
	l       *listener
	dialer  *Device
	cfg     rdma.QPConfig
	send    *completionQueue
	recv    *completionQueue
	private []byte
	answer  chan answer // of capacity 1

	answered bool // guarded by the fabric's mutex, also: given up
}

type answer struct {
	qp  *queuePair
	err error
}

// maxAddr bounds an address, as a socket's path is.
const maxAddr = 256

// Listen waits at addr, any text of 1 to 256 bytes without NUL.
func (d *Device) Listen(addr string) (rdma.Listener, error) {
	if addr == "" || len(addr) > maxAddr || bytes.ContainsRune([]byte(addr), 0) {
		return nil, fmt.Errorf("inmem: address %.40q: want 1 to %d bytes without NUL", addr, maxAddr)
	}
	d.f.mu.Lock()
	defer d.f.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("%w: device %s", rdma.ErrClosed, d.name)
	}
	if d.f.listeners[addr] != nil && d.f.bug != AddressTakenTwice {
		return nil, fmt.Errorf("inmem: address %s is in use", addr)
	}
	l := &listener{dev: d, addr: addr, done: make(chan struct{}), arrived: make(chan struct{}, 1)}
	d.f.listeners[addr] = l
	d.listeners[l] = struct{}{}
	return l, nil
}

// Dial hands a request to the listener and waits for its answer.
func (d *Device) Dial(ctx context.Context, addr string, cfg rdma.QPConfig, private []byte) (rdma.QueuePair, error) {
	if len(private) > rdma.MaxPrivateData {
		return nil, fmt.Errorf("%w: %d bytes, allowed %d", rdma.ErrTooLarge, len(private), rdma.MaxPrivateData)
	}
	send, recv, err := d.checkConfig(&cfg)
	if err != nil {
		return nil, err
	}
	r := &connRequest{dialer: d, cfg: cfg, send: send, recv: recv,
		private: bytes.Clone(private), answer: make(chan answer, 1)}
	f := d.f
	f.mu.Lock()
	if d.closed {
		f.mu.Unlock()
		return nil, fmt.Errorf("%w: device %s", rdma.ErrClosed, d.name)
	}
	l := f.listeners[addr]
	if l == nil {
		f.mu.Unlock()
		return nil, fmt.Errorf("%w to %.40q: nobody listens", rdma.ErrDial, addr)
	}
	r.l = l
	l.waiting = append(l.waiting, r)
	l.signal()
	f.mu.Unlock()
	select {
	case a := <-r.answer:
		if a.err != nil {
			return nil, a.err
		}
		return a.qp, nil
	case <-ctx.Done():
	}
	if f.bug == DialLate {
		<-time.After(time.Second)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.answered { // in the meantime
		if a := <-r.answer; a.qp != nil {
			a.qp.closeLocked()
		}
	}
	r.answered = true
	return nil, fmt.Errorf("%w to %s: %w", rdma.ErrDial, addr, ctx.Err())
}

func (l *listener) signal() {
	select {
	case l.arrived <- struct{}{}:
	default:
	}
}

func (l *listener) Addr() string { return l.addr }

func (l *listener) Accept(ctx context.Context) (rdma.ConnRequest, error) {
	for {
		l.dev.f.mu.Lock()
		if l.closed {
			l.dev.f.mu.Unlock()
			return nil, fmt.Errorf("%w: listener %s", rdma.ErrClosed, l.addr)
		}
		if len(l.waiting) > 0 {
			r := l.waiting[0]
			l.waiting = l.waiting[1:]
			l.signal() // for another Accept
			l.dev.f.mu.Unlock()
			return r, nil
		}
		l.dev.f.mu.Unlock()
		select {
		case <-l.arrived:
		case <-l.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *listener) Close() error {
	l.dev.f.mu.Lock()
	defer l.dev.f.mu.Unlock()
	l.closeLocked()
	return nil
}

func (l *listener) closeLocked() {
	if l.closed {
		return
	}
	l.closed = true
	close(l.done)
	if l.dev.f.listeners[l.addr] == l {
		delete(l.dev.f.listeners, l.addr)
	}
	delete(l.dev.listeners, l)
	for _, r := range l.waiting {
		r.answerLocked(nil, fmt.Errorf("%w to %s: the listener was closed", rdma.ErrDial, l.addr))
	}
	l.waiting = nil
}

func (r *connRequest) PrivateData() []byte { return r.private }
func (r *connRequest) Peer() string        { return r.dialer.name }

// answerLocked answers the dialer, unless it was answered or gave up.
func (r *connRequest) answerLocked(qp *queuePair, err error) bool {
	if r.answered {
		return false
	}
	r.answered = true
	r.answer <- answer{qp, err}
	return true
}

func (r *connRequest) Accept(cfg rdma.QPConfig, private []byte) (rdma.QueuePair, error) {
	if len(private) > rdma.MaxPrivateData {
		return nil, fmt.Errorf("%w: %d bytes, allowed %d", rdma.ErrTooLarge, len(private), rdma.MaxPrivateData)
	}
	d := r.l.dev
	send, recv, err := d.checkConfig(&cfg)
	if err != nil {
		return nil, err
	}
	f := d.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("%w: device %s", rdma.ErrClosed, d.name)
	}
	if r.dialer.closed || r.answered {
		return nil, fmt.Errorf("%w: %s gave up", rdma.ErrDial, r.dialer.name)
	}
	theirs, ours := bytes.Clone(r.private), bytes.Clone(private)
	if f.bug == PrivateDataCut && len(ours) > 0 {
		ours = ours[:len(ours)-1]
	}
	f.names++
	here := &queuePair{dev: d, cfg: cfg, send: send, recv: recv, private: theirs, number: f.names}
	there := &queuePair{dev: r.dialer, cfg: r.cfg, send: r.send, recv: r.recv, private: ours, number: f.names}
	here.peer, there.peer = there, here
	d.qps[here] = struct{}{}
	r.dialer.qps[there] = struct{}{}
	r.answerLocked(there, nil)
	return here, nil
}

func (r *connRequest) Reject(reason string) error {
	f := r.l.dev.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bug == ReasonLost {
		reason = "refused"
	}
	r.answerLocked(nil, &rdma.RejectError{Peer: r.l.addr, Reason: reason})
	return nil
}
