package shm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/internal/rdma"
)

// past is a deadline that ends a socket call at once.
var past = time.Unix(1, 0)

// Dial connects to the socket at addr.
func (d *device) Dial(
	ctx context.Context, addr string, cfg rdma.QPConfig, private []byte,
) (rdma.QueuePair, error) {
	if err := checkPrivate(private); err != nil {
		return nil, err
	}
	if err := checkPath(addr); err != nil {
		return nil, fmt.Errorf("%w: %w", rdma.ErrDial, err)
	}
	if !d.table.uses.acquire() {
		return nil, rdma.ErrClosed
	}
	defer d.table.uses.release()
	p, fd, err := d.newQueuePair(cfg)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(d.ctx, func() { cancel(rdma.ErrClosed) })()
	if err := p.dial(ctx, addr, fd, private); err != nil {
		p.discard()
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		if !errors.Is(err, rdma.ErrRejected) {
			err = fmt.Errorf("%w to %s: %w", rdma.ErrDial, addr, err)
		}
		return nil, err
	}
	return p, nil
}

func checkPrivate(private []byte) error {
	if len(private) > rdma.MaxPrivateData {
		return fmt.Errorf("%w: %d bytes of private data, limit %d",
			rdma.ErrTooLarge, len(private), rdma.MaxPrivateData)
	}
	return nil
}

// connectPause is the pause before the next try while the listener's backlog is
// full: Linux refuses then instead of waiting. A listener takes 4096, a whole
// backlog, in some 40 ms.
const connectPause = time.Millisecond

func connectSocket(ctx context.Context, addr string) (*net.UnixConn, error) {
	var dialer net.Dialer
	for {
		c, err := dialer.DialContext(ctx, "unixpacket", addr)
		if err == nil {
			return c.(*net.UnixConn), nil
		}
		if !errors.Is(err, unix.EAGAIN) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: too many others wait to connect: %w", context.Cause(ctx), err)
		case <-time.After(connectPause):
		}
	}
}

// dial connects, sends the greeting and starts the pair.
func (p *queuePair) dial(ctx context.Context, addr string, ring int, private []byte) (err error) {
	c, err := connectSocket(ctx, addr)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = c.Close()
		}
	}()
	server, err := peerOf(c)
	if err != nil {
		return err
	}
	if check := p.dev.opt.CheckPeer; check != nil {
		if err := check(server.uid); err != nil {
			return err
		}
	}
	p.holds = p.dev.holdFor(server, false, func(error) { _ = c.Close() })
	defer func() {
		if err != nil {
			err = p.holds.why(err)
		}
	}()
	interrupt := context.AfterFunc(ctx, func() { _ = c.SetDeadline(past) })
	defer interrupt()

	hello := greeting{kind: kindHello, version: version, depth: uint16(p.recvDepth), private: private}
	// A listener that has refused already has closed its end, and sent the reason.
	if err := sendMessage(c, hello.encode(), ring, p.dev.table.fd); err != nil && !errors.Is(err, unix.EPIPE) {
		return err
	}
	buf := make([]byte, maxMessage+1)
	b, fds, err := receiveMessage(c, buf)
	if err != nil {
		return err
	}
	defer closeAll(fds)
	g, err := decodeGreeting(b)
	if err != nil {
		return err
	}
	peer := server.name(addr)
	switch {
	case g.version != version:
		return fmt.Errorf("%w: %d here, %d at the server", ErrVersion, version, g.version)
	case g.kind == kindReject:
		return &rdma.RejectError{Peer: peer, Reason: g.reason}
	case g.kind != kindAccept:
		return fmt.Errorf("%w: kind %d instead of an answer", errMessage, g.kind)
	}
	if err := p.attach(c, peer, g, fds); err != nil {
		return err
	}
	if !interrupt() { // ctx was done: the deadline is set, or will be
		return context.Cause(ctx)
	}
	return p.start()
}
