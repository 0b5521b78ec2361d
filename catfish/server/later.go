package server

import (
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
)

// Requests that are answered later
//
// A request that waits for something else than a processor, such as a write that
// waits for the disk, blocks no goroutine: process leaves it in service.pending, and the
// goroutine that serves the connection begins it and continues. Hundreds of one
// connection may be in flight. The answer may come from any goroutine:
//
//	              worker (shm, soft, ofi)               plain socket
//	begin         fastmsg.Conn.Later                    socketAnswers.later
//	answer        taken over by the worker's next turn  written by the goroutine that
//	                                                    owns the socket (tcplater.go)
//
// So answers come in any order. Concurrent requests of one connection are carried out in
// any order, too, unless the connection's goroutine begins them with care. The memory
// that a request keeps counts against the budget of answers until the request is
// answered. Requests of a connection beyond maxLater are refused with ErrBusy.

// maxLater bounds the in-flight requests of a connection: as many as a client's
// connection has in flight (fastmsg.CallerConfig).
const maxLater = 1024

// pending is a request that is answered later. It owns all its memory: the
// payload of its message ends with process.
type pending interface {
	// keeps is how many bytes the request keeps until it is answered.
	keeps() int
	// begin starts the request. It must not wait. a is answered once, also if
	// the client has hung up or the server is closing, from any goroutine, also
	// within begin.
	begin(a lateAnswer)
	// refused is called in place of begin, when there is no room for the request.
	refused()
}

// lateAnswer is the reply to one request that is pending. It is a small value,
// which may be copied freely.
type lateAnswer struct {
	ring   fastmsg.Later
	socket socketLater
}

// reply gives the answer, which is copied. It does not block, and reports whether
// this is the answer: false if there was one before, which stays.
func (a lateAnswer) reply(p []byte) bool { return a.respond(wire.KindReply, p) }

// fail answers that the request failed; done is how much of it was carried out.
func (a lateAnswer) fail(err error, done uint64) bool {
	return a.respond(wire.KindFailure, wire.AppendFailure(nil, err, done))
}

// Take counts n bytes against the connection's account until Give; both come
// before the answer.
func (a lateAnswer) Take(n int64) error {
	if a.socket.of != nil {
		return a.socket.of.account.Take(n)
	}
	return a.ring.Take(n)
}

// Give gives back n bytes that Take counted.
func (a lateAnswer) Give(n int64) {
	if a.socket.of != nil {
		a.socket.of.account.Give(n)
		return
	}
	a.ring.Give(n)
}

// ended reports whether the connection has ended. Then no client waits for the
// answer, which must be given nevertheless.
func (a lateAnswer) ended() bool {
	if a.socket.of != nil {
		return a.socket.of.over()
	}
	return a.ring.Ended()
}

func (a lateAnswer) respond(kind fastmsg.Kind, p []byte) bool {
	if a.socket.of != nil {
		return a.socket.respond(kind, p)
	}
	return a.ring.Respond(kind, p)
}

// takePending returns the request that process left to be answered later, nil:
// none.
func (v *service) takePending() pending {
	p := v.pending
	v.pending = nil
	return p
}

// beginLater begins a request of a worker's connection.
func (h *handler) beginLater(c *fastmsg.Conn, id uint64, p pending) {
	l, err := c.Later(id, p.keeps())
	if err != nil {
		p.refused()
		c.Respond(wire.KindFailure, id, wire.AppendFailure(h.out[:0], err, 0))
		return
	}
	w, ok := p.(*stores)
	if !ok {
		p.begin(lateAnswer{ring: l})
		return
	}
	if w.put(&h.writes, lateAnswer{ring: l}); h.writes.Len() >= maxWrites {
		h.writes.Submit()
	}
}

// maxWrites of a turn go to the commit queue together: half a millisecond of work
// for a worker that is the commit leader.
const maxWrites = 128

// TurnEnds queues the writes of a turn.
func (h *handler) TurnEnds() bool {
	any := h.writes.Len() > 0
	h.writes.Submit()
	return any
}

// beginLater begins a request of a plain socket.
func (w *tcpWork) beginLater(id uint64, p pending, flush bool) error {
	l, err := w.to.paced.answers.later(id, p.keeps())
	if err != nil {
		p.refused()
		return w.to.write(wire.KindFailure, id, wire.AppendFailure(nil, err, 0), flush)
	}
	p.begin(lateAnswer{socket: l})
	if flush {
		return w.to.flush() // sends the answers before it
	}
	return nil
}
