package shm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/internal/limits"
)

var (
	errAdmit  = errors.New("shm: this user may not connect")
	errSilent = errors.New("no hello came in time")
)

// newcomer is a connection whose hello has not arrived. Any number may come:
// beyond the limit the oldest one of the source that has most is closed, so
// that a dialer that speaks at once finds a place.
type newcomer struct {
	l     *listener
	conn  *net.UnixConn
	from  process
	place *limits.Account
	over  atomic.Bool // the hello has arrived, or the place was taken away
}

// welcome gives a connection a place among the silent ones. The caller closes
// it if that fails.
func (l *listener) welcome(c *net.UnixConn) (*newcomer, error) {
	from, err := peerOf(c)
	if err != nil {
		return nil, err
	}
	n := &newcomer{l: l, conn: c, from: from}
	n.place = l.dev.opt.Silent.Open(from.source(uint32(os.Geteuid())), n.leave)
	if err := n.place.Take(1); err != nil {
		n.place.Close()
		return nil, err
	}
	return n, nil
}

// leave makes room for others. It does not wait.
func (n *newcomer) leave(why error) {
	if !n.over.CompareAndSwap(false, true) {
		return // its hello has arrived
	}
	refuseNow(n.conn, errSilent.Error()+": "+why.Error())
	_ = n.conn.Close()
}

// greet reads the hello. Nil: it was invalid, or of another version, or the
// dialer may not connect. The connection is closed then.
func (n *newcomer) greet() *connRequest {
	defer n.place.Close()
	l, c := n.l, n.conn
	_ = c.SetDeadline(time.Now().Add(l.dev.greetTimeout))
	stop := context.AfterFunc(l.ctx, func() { _ = c.SetDeadline(past) })
	defer stop()
	b, fds, err := receiveMessage(c, make([]byte, maxMessage+1))
	if !n.over.CompareAndSwap(false, true) {
		closeAll(fds)
		return nil
	}
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			refuseNow(c, errSilent.Error())
		}
		_ = c.Close()
		return nil
	}
	g, err := decodeGreeting(b)
	if err == nil && g.version != version {
		err = fmt.Errorf("%w: %d here, %d at the dialer", ErrVersion, version, g.version)
	}
	if err == nil && (g.kind != kindHello || len(fds) != maxFds) {
		err = fmt.Errorf("%w: hello of kind %d with %d descriptors", errMessage, g.kind, len(fds))
	}
	if err == nil {
		err = l.admit(n.from)
	}
	r := &connRequest{dev: l.dev, conn: c, peer: n.from.name(l.addr), hello: g, fds: fds}
	r.holds = l.dev.holdFor(n.from, true, r.leave)
	if err == nil {
		err = r.holds.connection.Take(1)
	}
	if err != nil {
		_ = r.Reject(err.Error())
		return nil
	}
	l.dev.mu.Lock()
	defer l.dev.mu.Unlock()
	if l.dev.closed {
		r.drop()
		return nil
	}
	l.dev.waiting[r] = struct{}{}
	return r
}

// leave makes room for others, before the connection is accepted. Accept fails
// then.
func (r *connRequest) leave(why error) {
	refuseNow(r.conn, why.Error())
	_ = r.conn.Close()
}

// refuseNow sends a refusal if that needs no waiting.
func refuseNow(c *net.UnixConn, reason string) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	b := refusal(reason)
	_ = raw.Control(func(fd uintptr) {
		_ = unix.Send(int(fd), b, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	})
}

func refusal(reason string) []byte {
	g := greeting{kind: kindReject, version: version, reason: reason[:min(len(reason), maxReason)]}
	return g.encode()
}
