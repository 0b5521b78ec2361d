package server

import (
	"bytes"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/internal/wire"
)

// tcpWork has the buffers that a plain socket needs while it answers: those of a
// service and of its answers, up to some MiB. The sockets of a server share a pool
// of them (Server.tcpWork): a socket takes a tcpWork when a request has arrived, and
// gives it back when no other request has. So a socket at rest holds only its
// request buffer, however large its last answer was.
//
// The memory of a tcpWork beyond keptWork counts against the budget of answers: a
// client that does not take its answer keeps it.
type tcpWork struct {
	service
	to      *answerWriter
	from    *peer
	account limits.Holder // of the connection
	held    int64         // counted in the budget
}

// keptWork is how much a tcpWork holds uncounted, besides to; most hold no more.
const keptWork = 64 << 10

// takeWork returns a tcpWork for a connection.
func (s *Server) takeWork(out *pacedWriter, from *peer, account limits.Holder) *tcpWork {
	w, _ := s.tcpWork.Get().(*tcpWork)
	if w == nil {
		w = &tcpWork{to: newAnswerWriter(out)}
		w.service = service{s: s, transport: model.TransportTCP, via: querylog.ViaTCP, meter: s.meters[model.TransportTCP]}
	} else {
		w.to.reset(out)
	}
	w.from, w.account = from, account
	return w
}

// putWork takes back a tcpWork that takeWork returned.
func (s *Server) putWork(w *tcpWork) {
	w.account.Give(w.held)
	w.held, w.from, w.account = 0, nil, nil
	w.to.reset(nil)
	w.trim()
	s.tcpWork.Put(w)
}

// answer makes and sends an answer. An error means that the connection is lost.
func (w *tcpWork) answer(kind fastmsg.Kind, id uint64, p []byte, flush bool) error {
	kind, answer, t := w.process(w.from, kind, p)
	answer, err := w.count(answer)
	if t != nil {
		return w.begin(id, t, flush)
	}
	if err != nil {
		kind, answer = wire.KindFailure, wire.AppendFailure(nil, err, 0)
	}
	kind, answer = wire.FitReply(kind, answer)
	return w.to.write(kind, id, answer, flush)
}

// begin begins a task of a plain socket.
func (w *tcpWork) begin(id uint64, t *task, flush bool) error {
	if t.steps != nil {
		return w.finish(id, t, flush)
	}
	l, err := w.to.paced.answers.later(id, t.keeps)
	if err != nil {
		return w.to.write(wire.KindFailure, id, wire.AppendFailure(nil, err, t.done), flush)
	}
	t.begin(reply{socket: l}, &w.writes)
	w.writes.Submit()
	if flush {
		return w.to.flush() // sends the answers before it
	}
	return nil
}

// finish makes all steps of a plain socket's task, and sends the answer.
func (w *tcpWork) finish(id uint64, t *task, flush bool) error {
	defer t.release(w.account)
	err := t.hold(w.account)
	for err == nil && !t.ready {
		err = w.s.inSlot(t.source, func() error { return t.step(w.account, stepNodes) })
	}
	if err != nil {
		return w.to.write(wire.KindFailure, id, wire.AppendFailure(nil, err, 0), flush)
	}
	if err := w.send(id, t); err != nil {
		return err
	}
	return w.to.flush()
}

// sendsPerTurn is how many pieces are made and sent in a scheduling slot: some 60 us.
const sendsPerTurn = 4

// send sends a large answer in scheduling slots, alternating with other requests. It
// waits for its client outside of the slots.
func (w *tcpWork) send(id uint64, t *task) error {
	w.to.begin(wire.KindReply, id, t.steps.bytes())
	last, left := false, []byte(nil)
	for {
		if err := w.to.push(left); err != nil || last {
			return err
		}
		left = nil
		err := w.s.turns.RunStep(w.s.ctx, t.source, func() {
			for n := 0; n < sendsPerTurn && !last && len(left) == 0; n++ {
				w.out, last = t.piece(w.account, w.out[:0])
				left = w.out[w.to.paced.try(w.out):]
			}
		})
		if err != nil {
			return err
		}
	}
}

// count adjusts the budget to the size of the buffers, and returns the answer. If
// the budget refuses the buffers, a small answer is copied out of them. The answers
// to writes, which then are complete, are always small enough.
func (w *tcpWork) count(answer []byte) ([]byte, error) {
	held := w.buffered() - keptWork
	if held <= w.held {
		return answer, nil // the surplus is given back soon
	}
	err := limits.Hold(w.account, w.s, &w.held, held)
	if err != nil && len(answer) <= keptWork { // the buffers grew for other answers
		answer, err = bytes.Clone(answer), nil
		w.release()
	}
	return answer, err
}
