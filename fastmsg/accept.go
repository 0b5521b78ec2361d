package fastmsg

import (
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/rdma"
)

// Accept answers a connection request: it checks the handshake, registers
// the rings, and hands the connection to the worker's loop, which calls
// Opened. It may be called from any goroutine, also while the worker is
// paused. If it fails, the request was rejected; the error says why
// (ErrVersion, ErrProtocol, ErrTooLarge, ErrClosed, or that of Hello).
func (w *Worker) Accept(req rdma.ConnRequest) error {
	c, err := w.accept(req)
	if err != nil {
		return fmt.Errorf("fastmsg: accept %s: %w", req.Peer(), err)
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		c.release()
		return fmt.Errorf("fastmsg: accept %s: %w: worker has ended", req.Peer(), ErrClosed)
	}
	w.inbox = append(w.inbox, c)
	w.mu.Unlock()
	w.cq.Wake()
	return nil
}

func (w *Worker) accept(req rdma.ConnRequest) (*Conn, error) {
	c, answer, err := w.prepare(req)
	if err != nil {
		if rerr := req.Reject(err.Error()); rerr != nil {
			err = errors.Join(err, rerr)
		}
		return nil, err
	}
	c.qp, err = req.Accept(rdma.QPConfig{
		SendCQ: w.cq, RecvCQ: w.cq,
		SendDepth: sendDepth(int(c.out.size)),
		RecvDepth: c.recvDepth(),
		Context:   c,
	}, answer)
	if err != nil {
		c.release()
		return nil, err
	}
	return c, nil
}

// prepare returns a connection that has no queue pair yet, and the private
// data for the answer.
func (w *Worker) prepare(req rdma.ConnRequest) (*Conn, []byte, error) {
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		return nil, nil, fmt.Errorf("%w: worker has ended", ErrClosed)
	}
	peer, err := decodeHandshake(req.PrivateData(), "client", "server")
	if err != nil {
		return nil, nil, err
	}
	if peer.placed && !w.info.InOrder {
		return nil, nil, notInOrder(w.info)
	}
	var hello []byte
	if w.cfg.Hello != nil {
		if hello, err = w.cfg.Hello(req.Peer(), peer.hello); err != nil {
			return nil, nil, err
		}
	}
	c := &Conn{w: w, hello: peer.hello, peer: peer.region}
	answer, err := w.equip(c, sourceOf(req, req.Peer()), &peer, hello)
	if err != nil {
		c.release()
		return nil, nil, err
	}
	return c, answer, nil
}

// equip gives a connection its rings, if the budget has room for them, and
// returns the private data for the answer. If it fails, the caller must release c.
func (w *Worker) equip(c *Conn, source string, peer *handshake, hello []byte) (answer []byte, err error) {
	c.rings = w.cfg.Rings.Open(source, func(err error) { w.post(posted{c, err}) })
	take, rings := RingsBytes(w.cfg.RingBytes, peer.ringBytes), "rings of %d and %d bytes: %w"
	if peer.fetch { // There are two rings for answers: one to be written from, one to be read.
		take, rings = take+int64(peer.ringBytes), "rings of %d and twice %d bytes: %w"
	}
	if err := c.rings.Take(take); err != nil {
		return nil, fmt.Errorf(rings, w.cfg.RingBytes, peer.ringBytes, err)
	}
	if c.requests, err = w.dev.Register(regionBytes(w.cfg.RingBytes, peer.inMemory), rdma.RemoteWrite); err != nil {
		return nil, err
	}
	if answer, err = (handshake{w.cfg.RingBytes, c.requests.Remote(), hello, peer.inMemory, peer.fetch, peer.placed}).encode(); err != nil {
		return nil, err
	}
	if peer.fetch {
		if err := w.openAnswers(c, peer.ringBytes); err != nil {
			return nil, err
		}
	}
	mirror, err := w.dev.Register(peer.ringBytes, 0)
	if err != nil {
		return nil, err
	}
	c.in = newRecvRing(c.requests.Bytes()[:w.cfg.RingBytes], peer.inMemory)
	c.out = newSendRing(mirror, peer.region.At(MailboxBytes), peer.ringBytes, false)
	if peer.placed {
		c.in.becomePlaced()
		c.out.becomePlaced()
	}
	return answer, nil
}

// RingsBytes is what a connection's rings may take of the server's memory: the
// request ring, the copy of the response ring, and what the backlog keeps. If
// the client may fetch its answers, a second ring for answers is added. Pages
// that were never written take no memory.
func RingsBytes(requests, answers int) int64 {
	return int64(requests) + int64(answers) + keepBacklog
}

// takeOver takes what other goroutines have queued for the loop.
func (w *Worker) takeOver() {
	w.mu.Lock()
	w.opening, w.inbox = w.inbox, w.opening[:0]
	posted := w.posted
	w.posted = nil
	w.takeAnsweredLocked()
	w.mu.Unlock()
	w.openAccepted()
	w.takePosted(posted)
}

// openAccepted introduces new connections to the handler. Their earlier
// events were taken into account, but no request was served.
func (w *Worker) openAccepted() {
	for _, c := range w.opening {
		c.place.opened = true
		w.openAccount(c)
		c.place.index = len(w.conns)
		w.conns = append(w.conns, c)
		w.stats.connections.Store(int64(len(w.conns)))
		if len(w.conns) == 1 {
			w.nextTick = w.cfg.Now()
		}
		w.ticking = true
		if c.in.inMemory() {
			w.watch(c)
		}
		w.h.Opened(c)
		w.schedule.touch(c) // also if the budget has cut its rings
	}
	clear(w.opening)
}
