package fastmsg

import (
	"errors"

	"github.com/catfish-index/catfish/rdma"
)

// Conn is the server's end of a connection. It belongs to its Worker:
// its methods may be called only from the Handler's methods and from
// Tick, that is, from the worker's goroutine.
type Conn struct {
	// Context is the handler's own, nil at first.
	Context any

	w     *Worker
	qp    rdma.QueuePair
	hello []byte
	peer  rdma.Remote // mailbox

	requests rdma.Region
	in       recvRing
	out      sendRing
	backlog  backlog
	wrs      [maxWRs]rdma.WorkRequest

	unread  uint64 // of in, as Worker.unread counts it
	index   int    // in Worker.conns
	waiting int    // requests in the worker's batch
	more    bool   // another turn at once, after this one
	opened  bool   // the handler knows it
	polling bool   // counted in Worker.pollers
	ready   bool   // in Worker.ready or next, or being served
	stalled bool   // in Worker.stalled
	failed  error  // why it is to be closed
	closed  bool
}

// QueuePair is the connection's, for the owner's own writes (at most
// SpareSends unsignaled ones outstanding; completions of successful
// ones are dropped, a failed one closes the connection).
func (c *Conn) QueuePair() rdma.QueuePair { return c.qp }

// Peer names the client, for messages.
func (c *Conn) Peer() string { return c.qp.Peer() }

// Hello is what the client sent when it dialed.
func (c *Conn) Hello() []byte { return c.hello }

// Mailbox is the start of the client's mailbox, MailboxBytes long.
func (c *Conn) Mailbox() rdma.Remote { return c.peer }

// KeepPolling puts the worker into polling mode while this connection is
// open, as WorkerConfig.Polling does for ever.
func (c *Conn) KeepPolling() {
	if !c.polling && !c.closed {
		c.polling = true
		c.w.pollers++
	}
}

// Fail closes the connection when the current call returns. Answers not
// flushed yet are lost.
func (c *Conn) Fail(err error) {
	if c.failed == nil && !c.closed {
		c.failed = err
		c.w.touch(c)
	}
}

// Respond sends the last or only piece of the answer to request id. It
// copies the payload and never blocks: what does not fit into the
// client's ring waits in the backlog, and until that is empty no further
// request of this connection is served. So the backlog holds at most
// the answer to one request, or those of one ServeBatch.
func (c *Conn) Respond(kind Kind, id uint64, payload []byte) {
	c.respond(kind, id, payload, FlagEnd)
}

// RespondPart sends a piece of the answer; Respond must follow.
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
	c.w.count.responses++
	c.w.count.bytesOut += uint64(len(payload))
	// Half of the largest message: the client drains one segment while
	// the next ones arrive.
	segment := maxMessage(int(c.out.size))/2 - headerBytes
	for len(payload) > segment {
		c.send(kind, FlagContinue, id, payload[:segment])
		payload = payload[segment:]
	}
	c.send(kind, last, id, payload)
}

func (c *Conn) send(kind Kind, flags Flags, id uint64, payload []byte) {
	if !c.backlog.empty() || !c.out.append(kind, flags, id, payload) {
		c.backlog.push(kind, flags, id, payload)
	}
	// A long answer starts to travel before it is complete.
	if c.out.unposted() >= c.out.size/4 {
		c.flush()
	}
	c.w.touch(c)
}

// flush posts all that was appended, and the head if it is due.
func (c *Conn) flush() {
	if c.closed || c.failed != nil {
		return
	}
	posted := c.out.posted
	data := c.out.prepare(&c.wrs)
	n := data
	credit := c.in.due()
	if credit != 0 {
		c.wrs[n] = rdma.WorkRequest{
			Op: rdma.OpWriteImm, Unsignaled: true, Imm: credit,
		}
		n++
	}
	if n == 0 {
		return
	}
	taken, err := c.qp.Post(c.wrs[:n])
	if taken < data {
		c.out.abort(posted, taken)
	}
	if credit != 0 && taken == n {
		c.in.gaveBack(credit)
	}
	switch {
	case err == nil:
	case errors.Is(err, rdma.ErrQueueFull):
		c.w.stall(c)
	default:
		c.Fail(err)
	}
}

// handle takes one completion.
func (c *Conn) handle(comp *rdma.Completion) {
	if c.closed || c.failed != nil {
		return
	}
	if comp.Status != rdma.StatusOK {
		c.Fail(comp.Err())
		return
	}
	if comp.Op != rdma.OpRecv {
		return
	}
	var err error
	if comp.Imm&returnBit != 0 {
		err = c.out.returned(comp.Imm &^ returnBit)
	} else {
		err = c.in.announce(comp.Imm)
		c.account()
	}
	if err != nil {
		c.Fail(err)
		return
	}
	c.w.touch(c)
}

// serve works for the connection for one turn: backlog first, then at
// most limit requests, some of which may be left in the worker's batch.
// It notes whether more could be done at once.
func (c *Conn) serve(limit int) {
	c.backlog.drain(&c.out)
	c.more = false
	for served := 0; c.failed == nil && c.backlog.empty(); served++ {
		if served == limit {
			c.more = c.in.more()
			break
		}
		before := c.in.held
		m, size, ok, err := c.in.next()
		if err == nil && ok && m.Flags != FlagEnd {
			err = protocolError("request with flags %#x, want %#x", m.Flags, FlagEnd)
		}
		if err != nil {
			c.Fail(err)
			break
		}
		if !ok {
			break
		}
		if c.w.together != nil && len(m.Payload) <= BatchPayload && c.w.collect(c, m, size, before) {
			continue
		}
		if c.waiting > 0 {
			c.w.serveBatch(c) // what came before m
			continue
		}
		m.Payload = append(c.w.scratch[:0], m.Payload...)
		c.consume(size, len(m.Payload))
		c.w.h.Serve(c, m)
	}
}

// consume frees a request in its ring, and counts it.
func (c *Conn) consume(size uint64, payload int) {
	c.in.consume(size)
	c.w.count.requests++
	c.w.count.bytesIn += uint64(payload)
}

// account tells the worker how much is unread.
func (c *Conn) account() {
	c.w.unread += c.in.unread() - c.unread
	c.unread = c.in.unread()
}

// finish ends a turn: what was answered is posted.
func (c *Conn) finish() {
	c.account()
	c.flush()
	c.ready = false
	if c.more && c.failed == nil {
		c.w.touch(c)
	}
	if c.failed != nil {
		c.w.close(c, c.failed)
	}
}

// release gives everything back; the queue pair first, since the
// regions must outlive its requests.
func (c *Conn) release() {
	c.closed = true
	if c.qp != nil {
		c.qp.Close()
	}
	c.requests.Close()
	c.out.mirror.Close()
}
