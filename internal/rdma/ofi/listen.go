//go:build ofi

package ofi

/*
#include "shim.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
	"unsafe"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/rdma"
)

const (
	// backlog is the number of dialers that wait for Accept to be called.
	backlog = 128
	// maxGreeters bounds connections that have not greeted yet: a
	// goroutine and a descriptor each. As in package soft, the oldest of the
	// host that has most of them is closed first.
	maxGreeters = 1024
	// acceptPause follows an accept that failed, mostly for lack of
	// descriptors.
	acceptPause = 50 * time.Millisecond
)

// listener accepts control connections and reads each greeting on a goroutine
// of its own.
type listener struct {
	dev      *device
	ln       net.Listener
	requests chan *connRequest
	done     chan struct{}

	silent *limits.Budget // connections that have not greeted yet

	mu     sync.Mutex
	closed bool
	open   map[*control]*limits.Account // not answered yet
}

// Listen listens for control connections, and on the fabric.
func (d *device) Listen(addr string) (rdma.Listener, error) {
	if !d.begin() {
		return nil, rdma.ErrClosed
	}
	defer d.end()
	if err := d.openPEP(); err != nil {
		return nil, err
	}
	ln, err := d.opt.Listen(addr)
	if err != nil {
		return nil, fmt.Errorf("ofi: cannot listen on %s: %w", addr, err)
	}
	l := &listener{
		dev: d, ln: ln,
		requests: make(chan *connRequest, backlog),
		done:     make(chan struct{}),
		silent:   limits.NewReplacingBudget("greetings", maxGreeters),
		open:     make(map[*control]*limits.Account),
	}
	d.mu.Lock()
	closed := d.closed
	if !closed {
		d.listeners[l] = struct{}{}
	}
	d.mu.Unlock()
	if closed || !d.spawn(l.acceptLoop) {
		_ = ln.Close()
		return nil, rdma.ErrClosed
	}
	return l, nil
}

// openPEP makes the fabric's own listener, once.
func (d *device) openPEP() error {
	d.eqMu.Lock()
	defer d.eqMu.Unlock()
	if d.ctx.Err() != nil {
		return rdma.ErrClosed
	}
	if d.pep != nil {
		return nil
	}
	var addr [128]byte // of a sockaddr_storage
	n := C.size_t(len(addr))
	ret := C.cf_pep(d.fabric, d.info, d.eq, &d.pep, unsafe.Pointer(unsafe.SliceData(addr[:])), &n)
	if ret != 0 {
		d.pep = nil
		return failure("listening on "+d.at.String(), ret)
	}
	d.pepAt = addr[:min(int(n), len(addr))]
	return nil
}

func (l *listener) acceptLoop() {
	for {
		conn, err := l.ln.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			l.dev.opt.Log.Warn("ofi: accept failed", "err", err)
			select {
			case <-l.done:
				return
			case <-time.After(acceptPause):
			}
			continue
		}
		ctl := newControl(conn)
		if !l.admit(ctl) || !l.dev.spawn(func() { l.receive(ctl) }) {
			l.take(ctl)
			ctl.close()
		}
	}
}

func (l *listener) admit(ctl *control) bool {
	place := l.silent.Open(limits.SourceOf(ctl.conn.RemoteAddr()), func(error) { ctl.close() })
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.open[ctl] = place
	}
	l.mu.Unlock()
	if closed {
		place.Close()
		return false
	}
	return place.Take(1) == nil
}

// greeted returns the place of a silent connection.
func (l *listener) greeted(ctl *control) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if place := l.open[ctl]; place != nil {
		place.Close()
	}
}

// take makes the caller the owner of a connection. False: it was closed.
func (l *listener) take(ctl *control) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	place, ok := l.open[ctl]
	place.Close()
	delete(l.open, ctl)
	return ok
}

// receive reads the greeting and queues the request.
func (l *listener) receive(ctl *control) {
	_ = ctl.conn.SetDeadline(time.Now().Add(l.dev.opt.HandshakeTimeout))
	g, err := ctl.receive()
	l.greeted(ctl)
	if err == nil {
		_ = ctl.conn.SetDeadline(time.Time{})
		if p := l.dev.at.Provider; g.Provider != p {
			// The dialer is notified; there is nothing to decide here.
			_ = ctl.send(greeting{Reason: fmt.Sprintf("fabric providers differ: %s here, %q there", p, g.Provider)})
			err = fmt.Errorf("%w: dialer on fabric provider %q, this is %s", errProtocol, g.Provider, p)
		}
	}
	if err != nil {
		l.dev.opt.Log.Warn("ofi: handshake failed", "peer", ctl.peer, "err", err)
		if l.take(ctl) {
			ctl.close()
		}
		return
	}
	select {
	case l.requests <- &connRequest{l: l, ctl: ctl, hello: g}:
	case <-l.done:
		if l.take(ctl) {
			ctl.close()
		}
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

// Close also ends the connections that were not accepted or rejected.
func (l *listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	close(l.done)
	for ctl, place := range l.open {
		place.Close()
		ctl.close()
	}
	clear(l.open)
	l.mu.Unlock()
	l.dev.mu.Lock()
	delete(l.dev.listeners, l)
	l.dev.mu.Unlock()
	return l.ln.Close()
}

// connRequest is a dialer that waits for an answer.
type connRequest struct {
	l     *listener
	ctl   *control
	hello greeting
}

func (r *connRequest) PrivateData() []byte { return r.hello.Private }
func (r *connRequest) Peer() string        { return r.ctl.peer }

// Accept accepts the dialer and waits for the fabric's connection. Errors:
// rdma.ErrTooLarge and rdma.ErrBadRequest (the dialer still waits),
// rdma.ErrClosed, or another failure.
func (r *connRequest) Accept(cfg rdma.QPConfig, private []byte) (rdma.QueuePair, error) {
	d := r.l.dev
	if err := d.checkConfig(&cfg, private); err != nil {
		return nil, err
	}
	if !d.begin() {
		return nil, rdma.ErrClosed
	}
	defer d.end()
	if !r.l.take(r.ctl) {
		return nil, rdma.ErrClosed
	}
	q, err := r.accept(&cfg, private)
	if err != nil {
		r.ctl.close()
		return nil, fmt.Errorf("ofi: accepting %s: %w", r.ctl.peer, err)
	}
	return q, nil
}

func (r *connRequest) accept(cfg *rdma.QPConfig, private []byte) (*queuePair, error) {
	d := r.l.dev
	ch := d.expect(r.hello.Token)
	defer d.forget(r.hello.Token, ch)
	// From here on, a byte or the end of the connection means that the peer
	// has disconnected.
	var q *queuePair
	made := make(chan struct{})
	if !d.spawn(func() {
		r.ctl.watch(func() {
			<-made
			if q != nil {
				q.peerGone()
			}
		})
	}) {
		close(made)
		return nil, rdma.ErrClosed
	}
	q, err := r.answer(cfg, private, ch)
	close(made)
	if err != nil {
		return nil, err
	}
	timeout := time.NewTimer(d.opt.HandshakeTimeout)
	defer timeout.Stop()
	if err := q.await(timeout.C, d.ctx.Done()); err != nil {
		return nil, err
	}
	return q, nil
}

// answer sends the dialer the address to connect to, and makes the endpoint
// when the dialer connects.
func (r *connRequest) answer(cfg *rdma.QPConfig, private []byte, ch chan *C.struct_fi_info) (*queuePair, error) {
	d := r.l.dev
	_ = r.ctl.conn.SetWriteDeadline(time.Now().Add(d.opt.HandshakeTimeout))
	err := r.ctl.send(greeting{
		Provider: d.at.Provider, Fabric: d.at.Name, Accepted: true, Private: private, Addr: d.pepAt,
	})
	if err != nil {
		return nil, err
	}
	timeout := time.NewTimer(d.opt.HandshakeTimeout)
	defer timeout.Stop()
	var info *C.struct_fi_info
	select {
	case info = <-ch:
	case <-r.ctl.gone:
		return nil, errGone
	case <-d.ctx.Done():
		return nil, rdma.ErrClosed
	case <-timeout.C:
		return nil, fmt.Errorf("%w: no connection over the fabric within %v", rdma.ErrTimeout, d.opt.HandshakeTimeout)
	}
	defer C.fi_freeinfo(info)
	q, err := d.newQP(r.ctl, cfg, r.hello.Private, info, nil)
	if err != nil {
		C.cf_reject(d.pep, info)
		return nil, err
	}
	q.mu.Lock()
	err = q.cause
	if err == nil {
		if ret := C.cf_accept(q.ep); ret != 0 {
			err = failure("accepting", ret)
		}
	}
	q.mu.Unlock()
	if err != nil {
		_ = q.Close()
		C.cf_reject(d.pep, info)
		return nil, err
	}
	return q, nil
}

// Reject refuses the dialer; a reason is cut to maxReason bytes.
func (r *connRequest) Reject(reason string) error {
	if !r.l.take(r.ctl) {
		return rdma.ErrClosed
	}
	_ = r.ctl.conn.SetWriteDeadline(time.Now().Add(r.l.dev.opt.HandshakeTimeout))
	err := r.ctl.send(greeting{Reason: reason[:min(len(reason), maxReason)]})
	r.ctl.close()
	return err
}
