package fastmsg

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/rdma"
)

// Conn is the server's end of a connection. It belongs to its Worker:
// its methods may be called only from the Handler's methods and from
// Tick, that is, from the worker's goroutine.
type Conn struct {
	// Context is for the handler; nil at first.
	Context any

	w     *Worker
	qp    rdma.QueuePair
	hello []byte
	peer  rdma.Remote // the client's mailbox

	requests rdma.Region
	in       recvRing
	out      sendRing
	answers  *answerRing // that the client may fetch (leave.go); nil: all are written
	backlog  backlog
	account  *limits.Account // of the bytes that wait here
	later    int             // requests in flight that are answered later
	source   string
	rings    *limits.Account // of the rings
	wrs      [maxWRs]rdma.WorkRequest

	failed error // why the connection will be closed
	closed bool
	over   atomic.Bool // closed, for other goroutines (Later.Ended)

	step func(time.Duration) (done bool) // the rest of a request, see Continue
	slow progress

	place place // owned by the worker
}

// QueuePair returns the queue pair, for writes by the owner: at most
// SpareSends unsignaled ones may be outstanding. Their completions are
// dropped, except that a failed write closes the connection.
func (c *Conn) QueuePair() rdma.QueuePair { return c.qp }

// Peer names the client, for error messages and logs.
func (c *Conn) Peer() string { return c.qp.Peer() }

// Hello is what the client sent when it dialed.
func (c *Conn) Hello() []byte { return c.hello }

// Mailbox is the client's mailbox, MailboxBytes long.
func (c *Conn) Mailbox() rdma.Remote { return c.peer }

// Arrived is a number that changes with each request that arrives.
func (c *Conn) Arrived() uint64 { return c.in.tail }

// KeepPolling puts the worker into polling mode (WorkerConfig.Polling) as
// long as this connection is open.
func (c *Conn) KeepPolling() { c.w.keepPolling(c) }

// Fail closes the connection when the current call of the handler returns.
// Answers that are not sent yet, or were not fetched, are lost.
func (c *Conn) Fail(err error) {
	if c.failed == nil && !c.closed {
		c.failed = err
		c.w.schedule.touch(c)
	}
}

// Respond sends the last or only piece of the answer to request id. It
// copies the payload and never blocks: what does not fit into the client's
// ring waits in the backlog. Until the backlog is empty, no further request
// of this connection is served, and no step is made. So the backlog holds at
// most what one call of Serve, of ServeBatch or of a step responds, and what
// is answered later (Later).
func (c *Conn) Respond(kind Kind, id uint64, payload []byte) {
	c.respond(kind, id, payload, FlagEnd)
}

// Waits reports whether an answer waits for room in the client's ring. Then no
// step is made, either.
func (c *Conn) Waits() bool { return !c.backlog.empty() || c.moving() }

// RespondPart sends a piece of an answer; Respond must follow.
func (c *Conn) RespondPart(kind Kind, id uint64, payload []byte) {
	if len(payload) > 0 {
		c.respond(kind, id, payload, FlagContinue)
	}
}

func (c *Conn) respond(kind Kind, id uint64, payload []byte, last Flags) {
	if c.closed || c.failed != nil {
		return
	}
	if kind == kindPad {
		c.Fail(protocolError("answer of kind 0, which is reserved"))
		return
	}
	c.w.countResponse(len(payload))
	// Half of the largest message, so that the client reads one segment
	// while the next ones arrive.
	segment := maxMessage(int(c.out.size))/2 - headerBytes
	for len(payload) > segment {
		c.send(kind, FlagContinue, id, payload[:segment])
		payload = payload[segment:]
	}
	c.send(kind, last, id, payload)
}

func (c *Conn) send(kind Kind, flags Flags, id uint64, payload []byte) {
	if !c.backlog.empty() || !c.append(kind, flags, id, payload) {
		if err := c.account.Take(c.backlog.grow(len(payload))); err != nil {
			c.Fail(fmt.Errorf("answers that wait: %w", err))
			return
		}
		c.backlog.push(kind, flags, id, payload)
	}
	// A long answer is sent in parts before it is complete.
	if c.unposted() >= c.out.size/4 {
		c.flush()
	}
	c.w.schedule.touch(c)
}

// flush posts everything that was appended, and the head if it is due.
func (c *Conn) flush() {
	for c.flushOnce() && c.out.placed && c.out.unposted() > 0 {
	}
}

// flushOnce is flush, but of one message where messages announce themselves. It reports
// whether all of it was posted.
func (c *Conn) flushOnce() bool {
	if c.closed || c.failed != nil {
		return false
	}
	c.publish()
	posted := c.out.posted
	data := c.out.prepare(&c.wrs)
	n := data
	credit := c.credit()
	if credit != 0 {
		c.wrs[n] = rdma.WorkRequest{
			Op: rdma.OpWriteImm, Unsignaled: !c.out.signals(), Imm: credit,
		}
		n++
	}
	if n == 0 {
		return false
	}
	taken, err := c.qp.Post(c.wrs[:n])
	c.w.count.posted += uint64(taken)
	if taken < data {
		c.out.abort(posted, taken)
	}
	if credit != 0 && taken == n {
		c.credited(credit)
	}
	switch {
	case err == nil:
	case errors.Is(err, rdma.ErrQueueFull):
		c.w.schedule.stall(c)
	default:
		c.Fail(err)
	}
	return err == nil
}

// handle takes one completion, and reports whether it announced requests.
func (c *Conn) handle(comp *rdma.Completion) (requests bool) {
	if c.closed || c.failed != nil {
		return false
	}
	if comp.Status != rdma.StatusOK {
		c.Fail(comp.Err())
		return false
	}
	if comp.Op != rdma.OpRecv {
		return false
	}
	var err error
	if comp.Imm&returnBit != 0 {
		err = c.handleReturned(comp.Imm)
	} else {
		err = c.in.announce(comp.Imm)
		requests = err == nil
	}
	if err != nil {
		c.Fail(err)
		return false
	}
	c.w.schedule.touch(c)
	return requests
}

// drain moves answers that wait for room into the ring, and reports whether it
// must continue in the next turn.
func (c *Conn) drain() (more bool) {
	if c.answers != nil {
		return c.drainLeft()
	}
	c.account.Give(c.backlog.drain(&c.out))
	return false
}

// takesAnswers reports whether a request may be served: no earlier answer
// waits in the backlog, or is made in steps.
func (c *Conn) takesAnswers() bool {
	return c.failed == nil && !c.Waits() && c.step == nil
}

// next returns the first request that is not held, as recvRing.next does. If
// it violates the protocol, the connection fails.
func (c *Conn) next() (m Message, size uint64, ok bool) {
	m, size, ok, err := c.in.next()
	if err == nil && ok && m.Flags != FlagEnd {
		err = protocolError("request with flags %#x, want %#x", m.Flags, FlagEnd)
	}
	if err != nil {
		c.Fail(err)
		return m, 0, false
	}
	return m, size, ok
}

// hold leaves the request that next returned in the ring; next continues
// after it. before is how much was held before next. hold returns how much to
// consume for the request: its size, and the size of padding that next held.
func (c *Conn) hold(size, before uint64) uint64 {
	c.in.hold(size)
	return c.in.held - before
}

// unhold makes next return the held requests that are not consumed again.
func (c *Conn) unhold() { c.in.unhold() }

// consume frees the request that next returned, or the first one held.
func (c *Conn) consume(size uint64) { c.in.consume(size) }

// closeAccount returns the held bytes when the connection has ended and the
// last of its requests was answered.
func (c *Conn) closeAccount() {
	if c.closed && c.later == 0 {
		c.account.Close()
	}
}

// release frees everything; the queue pair first, since the regions must
// outlive its requests.
func (c *Conn) release() {
	c.closed = true
	c.over.Store(true)
	c.step = nil
	c.closeAccount()
	if c.qp != nil {
		c.qp.Close()
	}
	if c.requests != nil {
		c.requests.Close()
	}
	if c.out.mirror != nil {
		c.out.mirror.Close()
	}
	if c.answers != nil {
		c.answers.region.Close()
	}
	c.rings.Close() // only now is the memory free
}
