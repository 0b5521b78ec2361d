package soft

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/rdma"
)

// linger bounds how long a connection stays open to deliver a NAK or a
// BYE.
const linger = 500 * time.Millisecond

// teardown ends a queue pair: it is the NIC goroutine's last act. In order:
// name the cause, complete everything outstanding, let Close return, deliver
// the last message.
//
// Closing a TCP connection whose input was not read to the end makes the
// kernel send a reset, which can overtake a NAK. So the sending half is
// closed first, and input discarded until the peer, having read the
// NAK, closes too.
func (r *reader) teardown(err error) {
	q := r.q
	status, cause := rdma.StatusPeerLost, err
	var no *refusal
	switch {
	case errors.As(err, &no):
		status = rdma.StatusFlushed
	case errors.Is(err, ErrProtocol):
		status = rdma.StatusProtocol
		no = &refusal{status: status, seq: r.executed + 1}
	case errors.Is(err, limits.ErrExceeded), errors.Is(err, ErrStalled):
		cause = fmt.Errorf("connection to %s cut: %w", q.peer, err)
		q.dev.opt.Log.Warn("soft: connection cut", "peer", q.peer, "err", err)
	default:
		cause = fmt.Errorf("connection to %s lost: %w", q.peer, err)
	}

	q.mu.Lock()
	if q.cause == nil {
		if no != nil {
			// takeLocked makes no more ACKs; the NAK is one.
			q.box.buf = appendNak(q.box.buf, no.seq, no.status)
			q.farewell = true
			q.dev.opt.Log.Warn("soft: connection ended", "peer", q.peer,
				"err", err)
		}
		q.failLocked(status, cause)
	}
	status = q.headStatus
	head := status
	for q.sqLen > 0 {
		r.completeLocked(head)
		head = rdma.StatusFlushed
	}
	byOwner, farewell := q.byOwner, q.farewell
	var drained chan struct{}
	if !farewell {
		q.box.broken = true // there is no peer to send to
	} else if !q.box.broken {
		drained = make(chan struct{})
		q.box.drained = drained
		if !q.box.writing && !q.dueLocked() {
			q.dropRoleLocked()
		}
	}
	q.flushUnlock()

	if !byOwner {
		if status != rdma.StatusPeerLost && status != rdma.StatusProtocol {
			status = rdma.StatusFlushed
		}
		r.recvs = append(r.recvs, rdma.Completion{
			Op: rdma.OpRecv, Status: status, QP: q,
		})
		r.pushEvents()
	}
	r.count()
	close(q.stopped)

	if drained != nil {
		waitFor(drained, linger)
		lingerClose(q.conn)
	}
	_ = q.conn.Close()
	q.mu.Lock()
	// The owner may keep the queue pair for longer.
	q.box.ended, q.box.broken = true, true
	if q.box.spare = nil; !q.box.writing {
		q.box.buf = nil
	}
	q.mu.Unlock()
	q.leave()
	now := time.Since(q.dev.base)
	q.dev.nic.busy.Add(int64(now - r.woke))
	q.dev.mu.Lock()
	delete(q.dev.qps, q)
	q.dev.mu.Unlock()
}

func waitFor(c <-chan struct{}, most time.Duration) {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-c:
	case <-t.C:
	}
}

// lingerClose closes a stream such that the peer gets all sent bytes.
func lingerClose(conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(linger))
	if c, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
	}
	_ = conn.Close()
}
