package shm

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/internal/rdma"
)

// connRequest is a dialer that has sent its hello.
type connRequest struct {
	dev      *device
	conn     *net.UnixConn
	peer     string
	hello    greeting
	fds      []int // ring, table
	holds    *holding
	answered atomic.Bool
}

var errAnswered = errors.New("shm: the request was answered already")

func (r *connRequest) PrivateData() []byte { return r.hello.private }
func (r *connRequest) Peer() string        { return r.peer }

// Source implements rdma.Sourced.
func (r *connRequest) Source() string { return r.holds.from }

// drop closes the dialer's descriptors, and the connection.
func (r *connRequest) drop() {
	closeAll(r.fds)
	r.fds = nil
	_ = r.conn.Close()
	r.holds.close()
}

func (r *connRequest) take() error {
	if !r.answered.CompareAndSwap(false, true) {
		return errAnswered
	}
	r.dev.mu.Lock()
	delete(r.dev.waiting, r)
	r.dev.mu.Unlock()
	return nil
}

// send sends a packet. Its time begins here: to make a queue pair takes a busy machine long.
func (r *connRequest) send(b []byte, fds ...int) error {
	_ = r.conn.SetDeadline(time.Now().Add(sendTimeout))
	return sendMessage(r.conn, b, fds...)
}

// Accept connects. If it fails the dialer is refused, with the reason.
func (r *connRequest) Accept(cfg rdma.QPConfig, private []byte) (rdma.QueuePair, error) {
	if err := r.take(); err != nil {
		return nil, err
	}
	p, err := r.accept(cfg, private)
	if err != nil {
		err = r.holds.why(err)
		r.refuse("the server cannot accept: " + err.Error())
		r.drop()
		return nil, err
	}
	closeAll(r.fds)
	return p, nil
}

func (r *connRequest) accept(cfg rdma.QPConfig, private []byte) (*queuePair, error) {
	if err := checkPrivate(private); err != nil {
		return nil, err
	}
	if !r.dev.table.uses.acquire() {
		return nil, rdma.ErrClosed
	}
	defer r.dev.table.uses.release()
	p, fd, err := r.dev.newQueuePair(cfg)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	p.holds = r.holds
	if err := r.connect(p, fd, private); err != nil {
		p.discard()
		return nil, err
	}
	return p, nil
}

func (r *connRequest) connect(p *queuePair, ring int, private []byte) error {
	if err := p.attach(r.conn, r.peer, r.hello, r.fds); err != nil {
		return fmt.Errorf("%w: %s: %w", rdma.ErrDial, r.peer, err)
	}
	accept := greeting{kind: kindAccept, version: version, depth: uint16(p.recvDepth), private: private}
	if err := r.send(accept.encode(), ring, r.dev.table.fd); err != nil {
		return fmt.Errorf("%w: %s is gone: %w", rdma.ErrDial, r.peer, err)
	}
	_ = r.conn.SetDeadline(time.Time{})
	return p.start()
}

// Reject refuses the dialer, which gets the first maxReason bytes of
// reason.
func (r *connRequest) Reject(reason string) error {
	if err := r.take(); err != nil {
		return err
	}
	r.refuse(reason)
	r.drop()
	return nil
}

func (r *connRequest) refuse(reason string) {
	_ = r.send(refusal(reason))
}
