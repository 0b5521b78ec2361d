//go:build ofi

package ofi

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/catfish-index/catfish/internal/rdma"
)

// Dial connects, within Options.HandshakeTimeout. Errors: rdma.ErrDial
// (dialing again is safe), *rdma.RejectError, rdma.ErrTooLarge, and
// rdma.ErrBadRequest for a configuration that cannot work.
func (d *device) Dial(ctx context.Context, addr string, cfg rdma.QPConfig, private []byte) (rdma.QueuePair, error) {
	if err := d.checkConfig(&cfg, private); err != nil {
		return nil, err
	}
	if !d.begin() {
		return nil, fmt.Errorf("%w: %w", rdma.ErrDial, rdma.ErrClosed)
	}
	defer d.end()
	ctx, cancel := context.WithTimeout(ctx, d.opt.HandshakeTimeout)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	q, err := d.dial(ctx, addr, &cfg, private)
	var refused *rdma.RejectError
	switch {
	case err == nil:
		return q, nil
	case errors.As(err, &refused):
		return nil, err
	}
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return nil, fmt.Errorf("%w to %s: %w", rdma.ErrDial, addr, err)
}

func (d *device) dial(ctx context.Context, addr string, cfg *rdma.QPConfig, private []byte) (*queuePair, error) {
	conn, err := d.opt.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	ctl := newControl(conn)
	token := random64()
	g, err := d.greet(ctx, ctl, greeting{Provider: d.at.Provider, Fabric: d.at.Name, Token: token, Private: private})
	if err != nil {
		ctl.close()
		return nil, err
	}
	q, err := d.newQP(ctl, cfg, g.Private, d.info, g.Addr)
	if err != nil {
		ctl.close()
		return nil, err
	}
	if !d.spawn(func() { ctl.watch(q.peerGone) }) {
		_ = q.Close()
		return nil, rdma.ErrClosed
	}
	if err := q.connect(g.Addr, token); err != nil {
		_ = q.Close()
		return nil, err
	}
	timeout := time.NewTimer(d.opt.HandshakeTimeout)
	defer timeout.Stop()
	if err := q.await(timeout.C, ctx.Done()); err != nil {
		return nil, err
	}
	return q, nil
}

// greet sends the greeting and reads the answer.
func (d *device) greet(ctx context.Context, ctl *control, hello greeting) (g greeting, err error) {
	end := ctl.until(ctx)
	if err = ctl.send(hello); err == nil {
		g, err = ctl.receive()
	}
	if cause := end(); cause != nil {
		return g, cause
	}
	switch {
	case err != nil:
		return g, err
	case !g.Accepted:
		return g, &rdma.RejectError{Peer: ctl.peer, Reason: g.Reason}
	case len(g.Addr) == 0:
		return g, fmt.Errorf("%w: accepted without an address", errProtocol)
	}
	return g, nil
}

// connect asks the fabric for the connection; an event reports it.
func (q *queuePair) connect(addr []byte, token uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ep == nil {
		return q.cause
	}
	at := C.CBytes(addr)
	defer C.free(at)
	if ret := C.cf_connect(q.ep, unsafe.Pointer(at), C.uint64_t(token)); ret != 0 {
		return failure("connecting over "+q.dev.at.String(), ret)
	}
	return nil
}

// peerGone: the control connection ended.
func (q *queuePair) peerGone() {
	q.fail(rdma.StatusPeerLost, noSlot, fmt.Errorf("connection to %s: %w", q.peer, errGone))
}
