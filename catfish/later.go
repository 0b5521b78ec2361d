package catfish

import (
	"github.com/catfish-index/catfish/fastmsg"
)

// Requests that are answered later
//
// A request that waits for something else than a processor, such as a write that
// waits for the disk, keeps nobody: process leaves it in service.pending, and
// who serves the connection begins it, and goes on. Hundreds of one connection
// may be under way. Whoever learns the answer gives it, from any goroutine:
//
//	              worker (shm, soft, ofi)               plain socket
//	begin         fastmsg.Conn.Later                    socketAnswers.later
//	answer        taken over by the worker's next turn  written by whoever owns
//	                                                    the socket (tcplater.go)
//
// So answers come in any order, and requests of one connection that are under
// way at the same time are carried out in any order, too, if the one that begins
// them does not take care. What a request keeps counts against the budget of
// answers until it is answered, and one beyond maxLater of a connection is
// refused with ErrBusy.

// maxLater is how many requests of a connection may be under way: as many as a
// client's connection has in flight (fastmsg.CallerConfig).
const maxLater = 1024

// pending is a request that is answered later. It owns all that it needs: the
// payload of its message ends with process.
type pending interface {
	// keeps is how many bytes it keeps until it is answered.
	keeps() int
	// begin has it carried out. It must not wait. a is answered once, also if
	// the client has hung up or the server is closing, from any goroutine, also
	// within begin.
	begin(a lateAnswer)
	// refused is called in place of begin, when there is no room for it.
	refused()
}

// lateAnswer takes the answer to one request that is pending. It is a small
// value, to be copied freely.
type lateAnswer struct {
	ring   fastmsg.Later
	socket socketLater
}

// reply gives the answer, which is copied. It waits for nobody, and reports
// whether this is the answer: false if there was one before, which stays.
func (a lateAnswer) reply(p []byte) bool { return a.respond(kindReply, p) }

// fail answers that the request failed; done is how much of it was carried out.
func (a lateAnswer) fail(err error, done uint64) bool {
	return a.respond(kindFailure, appendFailure(nil, err, done))
}

// hold counts n bytes against the connection's account until unhold; both come
// before the answer.
func (a lateAnswer) hold(n int64) error {
	if a.socket.of != nil {
		return a.socket.of.account.Hold(n)
	}
	return a.ring.Hold(n)
}

func (a lateAnswer) unhold(n int64) {
	if a.socket.of != nil {
		a.socket.of.account.Unhold(n)
		return
	}
	a.ring.Unhold(n)
}

// ended reports whether the connection has ended, so that nobody waits for the
// answer, which is to be given nevertheless.
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
		c.Respond(kindFailure, id, appendFailure(h.out[:0], err, 0))
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

// maxWrites of a turn go to the store's door together: half a millisecond of work
// for a worker that goes through it by itself.
const maxWrites = 128

// TurnEnds has the writes of a turn made.
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
		return w.to.write(kindFailure, id, appendFailure(nil, err, 0), flush)
	}
	p.begin(lateAnswer{socket: l})
	if flush {
		return w.to.flush() // the answers before it
	}
	return nil
}
