package soft

import (
	"time"

	"github.com/catfish-index/catfish/internal/direct"
	"github.com/catfish-index/catfish/internal/limits"
)

// outbox collects frames and sends them, many in one system call.
//
// The goroutine that sets writing has the write role, and sends until nothing
// is left; all others only append and return (flat combining: Hendler, Incze,
// Shavit and Tzafrir, SPAA 2010). So the frames that accumulate during one
// system call are sent by the next one, and a single Post does not pay for a
// hand-over to another goroutine.
//
//	poster / NIC goroutine                     drain goroutine
//	append to buf (mu)
//	writing? yes: leave
//	no: take the role
//	  +-> swap buf, send without blocking
//	  |     all sent, nothing new: drop role
//	  +--- all sent, more came
//	        the stream is full,
//	        or inlineRounds done:      --role-->  send, blocking, until
//	                                              nothing is left: drop role
//
// Posters and NIC goroutines never block in a send. A stream that cannot
// send without blocking (TLS) is only written to by drain goroutines.
//
// ACK, CREDIT and PONG are not queued but generated from the latest state
// when buf is swapped, after all frames appended earlier.
type outbox struct {
	buf     []byte
	spare   []byte // the other buffer
	sending int    // bytes of the buffer being sent
	// sendingCap is that buffer's capacity, held the bytes accounted
	// for (bounds.go).
	sendingCap int
	held       int64
	// peak is the most bytes sent at once in the last ticks of the monitor.
	peak, ticks int
	writing     bool
	direct      *direct.Writer // nil: the stream cannot send without blocking
	broken      bool           // a send failed: drop everything
	ended       bool           // keep no buffers
	drained     chan struct{}  // if not nil: closed when the role is dropped

	// respBytes counts READ_RESPs in buf, respSending those being sent.
	respBytes, respSending int

	acked     uint64 // last number that an ACK or READ_RESP carried
	ackDue    bool
	creditDue bool
	pingDue   bool
	pongDue   bool
}

const (
	// inlineRounds bounds how long a poster sends for others: the first round
	// has its own frames, the second those that arrived meanwhile.
	inlineRounds = 2

	// keepBuffer is the largest buffer that is kept for reuse: a batch
	// of 256 Reads of 2 KiB and more.
	keepBuffer = 1 << 20
)

func (o *outbox) queued() int { return len(o.buf) + o.sending }

// dueLocked reports whether bytes should be sent now.
func (q *queuePair) dueLocked() bool {
	o := &q.box
	return len(o.buf) > 0 || o.ackDue || o.creditDue || o.pingDue || o.pongDue
}

// takeLocked returns the bytes to send now, empty for none.
func (q *queuePair) takeLocked() []byte {
	o := &q.box
	if o.broken {
		if o.buf = o.buf[:0]; o.ended {
			o.buf, o.spare = nil, nil
		}
		o.ackDue, o.creditDue, o.pingDue, o.pongDue = false, false, false, false
		return nil
	}
	if !q.dueLocked() {
		return nil
	}
	// After a NAK or BYE the peer expects nothing.
	if q.cause == nil {
		if q.executed > o.acked {
			o.acked = q.executed
			o.buf = appendNumber(o.buf, kindAck, o.acked, 0)
		}
		if n := q.polled.Load(); n > q.credited.Load() {
			q.credited.Store(n)
			o.buf = appendNumber(o.buf, kindCredit, n, 0)
		}
		if o.pingDue {
			o.buf = appendHeader(o.buf, kindPing, false, 0)
		}
		if o.pongDue {
			o.buf = appendHeader(o.buf, kindPong, false, 0)
		}
	}
	o.ackDue, o.creditDue, o.pingDue, o.pongDue = false, false, false, false
	b := o.buf
	o.buf, o.spare = o.spare[:0], nil
	o.sending, o.sendingCap = len(b), cap(b)
	o.peak = max(o.peak, len(b))
	o.respSending, o.respBytes = o.respBytes, 0
	return b
}

// sentLocked ends the sending of b.
func (q *queuePair) sentLocked(b []byte) {
	o := &q.box
	o.sending, o.sendingCap, o.respSending = 0, 0, 0
	if o.spare == nil && cap(b) <= keepBuffer && !o.ended {
		o.spare = b[:0]
	}
	if o.held > 0 {
		_ = q.settleLocked() // bytes that Take refuses are requested again by the next call
	}
	q.unstarveLocked() // QueuedBytes
}

// flushUnlock sends the due bytes, or leaves that to the holder of the
// write role. It is called with mu held and returns without it.
func (q *queuePair) flushUnlock() {
	o := &q.box
	if o.writing || !q.dueLocked() {
		q.mu.Unlock()
		return
	}
	o.writing = true
	if o.direct == nil {
		b := q.takeLocked()
		q.mu.Unlock()
		q.handOver(b, 0)
		return
	}
	for round := 0; ; round++ {
		b := q.takeLocked()
		if len(b) == 0 {
			q.dropRoleLocked()
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		if round == inlineRounds {
			q.handOver(b, 0)
			return
		}
		n, err := o.direct.Try(b)
		if err != nil {
			q.sendFailed()
		} else if n < len(b) {
			q.handOver(b, n)
			return
		}
		q.dev.nic.flushes.Add(1)
		q.mu.Lock()
		q.sentLocked(b)
	}
}

// handOver passes the write role, with b[n:] to send, to a goroutine.
func (q *queuePair) handOver(b []byte, n int) {
	q.dev.spawn(func() { q.drain(b, n) })
}

// drain sends b[n:] and all that comes after, blocking.
func (q *queuePair) drain(b []byte, n int) {
	for {
		begun, from := time.Now(), n
		end := begun.Add(q.dev.opt.StallTimeout + limits.TransferTime(len(b)-n))
		for n < len(b) {
			k := min(len(b)-n, limits.WriteChunk)
			by := time.Now().Add(q.dev.opt.StallTimeout)
			if end.Before(by) {
				by = end
			}
			_ = q.conn.SetWriteDeadline(by)
			m, err := q.conn.Write(b[n : n+k])
			n += m
			if err != nil {
				if why := stalled(err, n-from, len(b)-from, begun); why != nil {
					q.cutFor.CompareAndSwap(nil, &why)
				}
				q.sendFailed()
				break
			}
			q.dev.nic.flushes.Add(1)
		}
		q.mu.Lock()
		q.sentLocked(b)
		b, n = q.takeLocked(), 0
		if len(b) == 0 {
			_ = q.conn.SetWriteDeadline(time.Time{}) // direct.Try obeys it
			q.dropRoleLocked()
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
	}
}

func (q *queuePair) dropRoleLocked() {
	q.box.writing = false
	if q.box.drained != nil {
		close(q.box.drained)
		q.box.drained = nil
	}
}

// sendFailed records that the stream is broken. The NIC goroutine will notice
// it too, but before the end of the stream it may find a NAK or BYE with more
// detail, so it gets some time to read that.
func (q *queuePair) sendFailed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.box.broken = true
	if q.cause == nil {
		_ = q.conn.SetReadDeadline(time.Now().Add(brokenGrace))
	}
}

// brokenGrace is the time for reading bytes already in this machine's buffers.
const brokenGrace = 100 * time.Millisecond

// grow makes room for n more bytes.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	bigger := make([]byte, len(b), max(2*cap(b), len(b)+n))
	copy(bigger, b)
	return bigger
}
