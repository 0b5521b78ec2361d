package soft

import (
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// The monitor checks all queue pairs of a device ticksPerTimeout times per
// PeerTimeout. It detects peers that ended without closing the connection
// (power cut, SIGSTOP, unplugged cable):
//
//   - A peer that owes something (requests without an answer, a PONG) and is
//     silent for a whole tick is sent a PING. Its NIC goroutine answers, so
//     a peer with busy workers does not look dead.
//   - After silentTicks it counts as dead. Ticks are counted, not time: if
//     this process itself was stopped, that counts as one tick only.
//   - A side that is receiving a long frame sends a PONG each tick, since
//     the PING of the other side waits for the end of the frame.
//
// Of 8 ticks, detection takes 7 at most: one until the silence is noticed,
// and silentTicks + 1.
const (
	ticksPerTimeout = 8
	silentTicks     = 5
)

// watch is the monitor's state of one queue pair.
type watch struct {
	rx     uint64
	silent int // ticks without input while something is owed
	idle   int // ticks without input
	pinged bool
}

// monitor runs while there are queue pairs.
func (d *device) monitor() {
	tick := d.opt.PeerTimeout / ticksPerTimeout
	keepAlive := 0
	if d.opt.KeepAlive > 0 {
		keepAlive = int(d.opt.KeepAlive/tick) + 1
	}
	t := time.NewTicker(tick)
	defer t.Stop()
	var qps []*queuePair
	for {
		select {
		case <-t.C:
		case <-d.ctx.Done():
			return
		}
		qps = qps[:0]
		d.mu.Lock()
		for q := range d.qps {
			qps = append(qps, q)
		}
		d.monitoring = len(qps) > 0
		d.mu.Unlock()
		if len(qps) == 0 {
			return
		}
		for _, q := range qps {
			q.tick(keepAlive)
		}
		clear(qps)
	}
}

func (q *queuePair) tick(keepAlive int) {
	w := &q.watch
	rx := q.rx.Load()
	heard := rx != w.rx
	w.rx = rx

	q.mu.Lock()
	if q.cause != nil {
		q.mu.Unlock()
		return
	}
	if heard {
		*w = watch{rx: rx}
		q.box.pongDue = q.box.pongDue || q.inFrame.Load()
	} else {
		w.idle++
		if q.sqLen > 0 || w.pinged {
			w.silent++
		}
		if !w.pinged && (w.silent > 0 || keepAlive > 0 && w.idle >= keepAlive) {
			w.pinged, q.box.pingDue = true, true
		}
	}
	// Acks that were not requested wait a tick at most.
	q.box.ackDue = q.box.ackDue || q.executed > q.box.acked
	q.trimLocked()
	q.flushUnlock()

	if w.silent > silentTicks {
		q.fail(rdma.StatusPeerLost, fmt.Errorf("%s has been silent for %v",
			q.peer, q.dev.opt.PeerTimeout*silentTicks/ticksPerTimeout))
	}
}
