package server

import (
	"context"
	"errors"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

// Requests that are answered later
//
// service.process answers most requests at once. For the others it returns a task, and
// the goroutine that serves the connection begins it and continues:
//
//	        waits for                    by
//	start   an event, such as a commit   no goroutine: whoever learns of the event
//	work    a scheduling slot, or disk   a goroutine of its own
//	steps   a slot, and its client       the goroutine that serves the connection
//
// Hundreds of a connection's tasks of the first two sorts may be in flight. Each replies
// once, from any goroutine, in any order. The answer of the third sort may be large: it
// is made in steps and sent in pieces, and no other request of the connection is served
// meanwhile (steps.go). Two carriers deliver replies:
//
//	         worker (shm, soft, ofi)               plain socket
//	begin    handler.begin: fastmsg.Conn.Later     tcpWork.begin: socketAnswers.later
//	reply    taken over by the worker's next turn  written by the goroutine that
//	                                               owns the socket (tcplater.go)
//	steps    fastmsg.Conn.Continue                 tcpWork.finish
//
// A task takes scheduling slots of the server (internal/limits), which all long requests
// share. What it keeps counts against its connection's account of the budget of answers
// until it replies. If its client disconnects, steps end, and work ends with its next
// pause. What start has begun is finished.
//
// # How to add one
//
// The function that decodes the request returns later(task, err), and nothing else
// changes. A request that waits for others, such as a write that waits for secondaries,
// embeds a task and is its starter, as change does: no goroutine waits. One that calls
// what blocks, such as forwarding to another server, is a work (service.newWork). keeps
// must count the memory that the request holds: the payload ends with process.

// maxLater bounds the in-flight requests of a connection: as many as a client's
// connection has in flight (fastmsg.CallerConfig). Others are refused with ErrBusy.
const maxLater = 1024

// task is a request that is answered later.
type task struct {
	s      *Server
	source string  // whose scheduling slots it takes
	keeps  int     // bytes that it keeps from the beginning
	done   uint64  // how much of it was carried out, for an error
	read   reading // if it is one: looked at before the answer

	// One of these says what it does.
	starts starter
	work   func(t *task) ([]byte, error) // It has no slot before it calls pause.
	steps  steps

	kept, answer int64 // counted in the account, besides keeps

	// Of a task without steps.
	to          reply
	*limits.Job // of its goroutine

	// Of a task with steps.
	ready bool
	slot  *limits.Slot // a worker's
	long  chan error   // receives the outcome of a step that another goroutine makes
}

// starter begins a task, and must not wait. The task replies once in the end, also if the
// client has disconnected or the server is closing.
type starter interface {
	// start may add to the writes of the turn, which the caller submits.
	start(turn *store.Writes)
}

// newWork returns a task for a client that a goroutine of its own carries out.
func (v *service) newWork(from *peer, work func(t *task) ([]byte, error)) *task {
	return &task{s: v.s, source: v.source(from), work: work}
}

// begin begins a task without steps.
func (t *task) begin(to reply, turn *store.Writes) {
	t.to = to
	if t.starts != nil {
		t.starts.start(turn)
		return
	}
	t.run(t.s.ctx)
}

// run starts the goroutine that carries out work.
func (t *task) run(ctx context.Context) {
	t.Job = t.s.turns.Job(ctx, t.source)
	t.s.serving.Go(func() {
		out, err := t.work(t)
		if err == nil {
			err = t.read.Err()
		}
		t.End()
		t.to.account().Give(t.kept + t.answer)
		if err == nil {
			err = limits.CheckMemory(t.s, int64(len(out)))
		}
		t.reply(out, err)
	})
}

// reply gives the answer, or the error.
func (t *task) reply(out []byte, err error) {
	if err != nil {
		t.to.fail(err, t.done)
		return
	}
	t.to.answer(out)
}

// errHungUp ends the work for a client that has disconnected.
var errHungUp = errors.New("catfish: the client has hung up")

// pause is a search's Pace: it returns when the work has a slot.
func (t *task) pause() error {
	if t.to.ended() {
		return errHungUp
	}
	return t.Pause()
}

// holds is a search's Hold.
func (t *task) holds(bytes int64) error { return limits.Hold(t.to.account(), t.s, &t.kept, bytes) }

// answers sets how many bytes of memory the answer takes.
func (t *task) answers(bytes int) error {
	if t == nil || int64(bytes) == t.answer {
		return nil
	}
	return limits.Hold(t.to.account(), t.s, &t.answer, int64(bytes))
}

// reply is where the answer to one request goes. It is a small value, which may be
// copied freely.
type reply struct {
	ring   fastmsg.Later
	socket socketLater
}

// answer gives the answer, which is copied. It does not block, and reports whether
// this is the answer: false if there was one before, which stays.
func (a reply) answer(p []byte) bool { return a.respond(wire.KindReply, p) }

// fail answers that the request failed; done is how much of it was carried out.
func (a reply) fail(err error, done uint64) bool {
	return a.respond(wire.KindFailure, wire.AppendFailure(nil, err, done))
}

func (a reply) respond(kind fastmsg.Kind, p []byte) bool {
	if a.socket.of != nil {
		return a.socket.respond(kind, p)
	}
	return a.ring.Respond(kind, p)
}

// account is the connection's, until the answer.
func (a reply) account() limits.Holder {
	if a.socket.of != nil {
		return a.socket.of.account
	}
	return a.ring
}

// ended reports whether the connection has ended. Then no client waits for the answer,
// which must be given nevertheless.
func (a reply) ended() bool {
	if a.socket.of != nil {
		return a.socket.of.over()
	}
	return a.ring.Ended()
}
