package fastmsg

import (
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/rdma"
)

// Clients that do not take their answers
//
// What does not fit into a client's ring waits at the server. Three bounds
// keep that from growing:
//
//   - No request of a client is served while an answer to it waits (turn.go).
//   - What waits counts against WorkerConfig.Budget. What exceeds it ends a
//     connection: this one, or the one of the client that holds most.
//   - A client whose answers wait must take a ring of bytes, or all of them,
//     in each StallTimeout. Otherwise its connection ends with ErrStalled.

// ErrStalled ends the connection of a client that does not take its answers.
var ErrStalled = errors.New("fastmsg: the client does not take its answers")

// defaultStall is long enough for a client that was stopped for seconds, by a
// debugger or by its garbage collector. With rings of 256 KiB it is a rate of
// 26 KB/s.
const defaultStall = 10 * time.Second

// slowChecks is how many times in a StallTimeout slow clients are checked.
// The number of checks without progress counts: if this process itself was
// stopped, that counts only once.
const slowChecks = 8

// slow is the worker's list of connections whose answers wait.
type slow struct {
	conns []*Conn
	next  time.Time // when to check them
}

// progress is how much a slow connection has taken.
type progress struct {
	listed bool
	head   uint64 // Conn.takenBytes when it had last taken a ring more
	checks int    // since then
}

// noteSlow lists a connection whose answers wait.
func (w *Worker) noteSlow(c *Conn) {
	if !c.Waits() || c.slow.listed || c.closed {
		return
	}
	c.slow = progress{listed: true, head: c.takenBytes()}
	if len(w.slow.conns) == 0 {
		w.slow.next = w.cfg.Now().Add(w.cfg.StallTimeout / slowChecks)
	}
	w.slow.conns = append(w.slow.conns, c)
}

// checkSlow ends the connections that have made no progress. It is called when
// all events have been taken into account, among them what clients returned.
func (w *Worker) checkSlow(now time.Time) {
	if len(w.slow.conns) == 0 || now.Before(w.slow.next) {
		return
	}
	w.slow.next = now.Add(w.cfg.StallTimeout / slowChecks)
	left := w.slow.conns[:0]
	for _, c := range w.slow.conns {
		if c.closed || !c.Waits() {
			c.slow = progress{}
			continue
		}
		if c.takenBytes()-c.slow.head >= c.out.size {
			c.slow.head, c.slow.checks = c.takenBytes(), 0
		} else if c.slow.checks++; c.slow.checks == slowChecks {
			c.Fail(fmt.Errorf("%w: it took %d bytes in %v, %d and more wait", ErrStalled,
				c.takenBytes()-c.slow.head, w.cfg.StallTimeout, c.backlog.waiting()+c.leftBytes()))
		}
		left = append(left, c)
	}
	clear(w.slow.conns[len(left):])
	w.slow.conns = left
}

// untilSlow returns how long the worker may sleep before it checks slow
// clients.
func (w *Worker) untilSlow(timeout time.Duration) time.Duration {
	if len(w.slow.conns) == 0 {
		return timeout
	}
	left := max(0, w.slow.next.Sub(w.cfg.Now()))
	if timeout < 0 {
		return left
	}
	return min(timeout, left)
}

// Source names the budget source of the client: a host, or a process or user of
// this one.
func (c *Conn) Source() string { return c.source }

// Take takes n more bytes from the worker's budget, for data that the handler
// keeps for this client. If it fails, it took nothing, and the handler should
// give up the request. The end of the connection returns everything.
func (c *Conn) Take(n int64) error { return c.account.Take(n) }

// Give returns n bytes that Take took.
func (c *Conn) Give(n int64) { c.account.Give(n) }

// openAccount lets c take from the budget. If another client needs the room,
// this worker's loop ends c.
func (w *Worker) openAccount(c *Conn) {
	c.source = sourceOf(c.qp, c.Peer())
	c.account = w.cfg.Budget.Open(c.source, func(err error) {
		w.post(posted{c, err})
	})
}

// sourceOf is the budget source of a connection: x, its queue pair or the
// request for it, may know it better than the peer's name does.
func sourceOf(x any, peer string) string {
	if of, ok := x.(rdma.Sourced); ok {
		return of.Source()
	}
	return limits.SourceOfPeer(peer)
}
