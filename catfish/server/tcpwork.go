package server

import (
	"bytes"
	"net"

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
	to   *answerWriter
	held int64 // counted in the budget
}

// keptWork is how much a tcpWork holds uncounted, besides to; most hold no more.
const keptWork = 64 << 10

// takeWork returns a tcpWork for a connection.
func (s *Server) takeWork(out *pacedWriter, peer *tcpPeer, client uint32) *tcpWork {
	w, _ := s.tcpWork.Get().(*tcpWork)
	if w == nil {
		w = &tcpWork{to: newAnswerWriter(out)}
		w.service = service{s: s, transport: model.TransportTCP, via: querylog.ViaTCP, meter: s.meters[model.TransportTCP]}
	} else {
		w.to.reset(out)
	}
	w.peer, w.uploads, w.watches, w.client, w.guard = peer, &peer.uploads, &peer.watches, client, peer.guard
	return w
}

// putWork takes back a tcpWork that takeWork returned.
func (s *Server) putWork(w *tcpWork, h limits.Holder) {
	h.Give(w.held)
	w.held, w.peer, w.uploads, w.watches, w.guard = 0, nil, nil, nil, nil
	w.to.reset(nil)
	w.trim()
	s.tcpWork.Put(w)
}

// answer makes and sends an answer. An error means that the connection is lost.
func (w *tcpWork) answer(kind fastmsg.Kind, id uint64, p []byte, h limits.Holder, flush bool) error {
	kind, answer, rest := w.process(kind, p)
	if p := w.takePending(); p != nil {
		return w.beginLater(id, p, flush)
	}
	answer, err := w.count(h, answer)
	if rest == nil {
		if err != nil {
			kind, answer = wire.KindFailure, wire.AppendFailure(nil, err, 0)
		}
		kind, answer = wire.FitReply(kind, answer)
		return w.to.write(kind, id, answer, flush)
	}
	if rest.value != nil {
		return w.sendValue(id, rest, h)
	}
	defer rest.end(h)
	if err := w.s.search(w.source(), rest, h); err != nil {
		return w.to.write(wire.KindFailure, id, wire.AppendFailure(nil, err, 0), flush)
	}
	w.recordRead(&rest.req, rest.scan.Count())
	if err := w.send(id, rest, h); err != nil {
		return err
	}
	return w.to.flush()
}

// sendsPerTurn is how many pieces are made and sent in a scheduling slot: some 60 us.
const sendsPerTurn = 4

// send sends a long answer in scheduling slots, alternating with other requests. It
// waits for its client outside of the slots.
func (w *tcpWork) send(id uint64, l *long, h limits.Holder) error {
	w.to.begin(wire.KindReply, id, l.bytes())
	last, left := false, []byte(nil)
	pieces := func() {
		for n := 0; n < sendsPerTurn && !last && len(left) == 0; n++ {
			w.out, last = l.piece(h, w.out[:0])
			left = w.out[w.to.paced.try(w.out):]
		}
	}
	for {
		if err := w.to.push(left); err != nil || last {
			return err
		}
		left = nil
		if err := w.s.turns.RunStep(w.s.ctx, w.source(), pieces); err != nil {
			return err
		}
	}
}

// count adjusts the budget to the size of the buffers, and returns the answer. If
// the budget refuses the buffers, a small answer is copied out of them. The answers
// to writes, which then are complete, are always small enough.
func (w *tcpWork) count(h limits.Holder, answer []byte) ([]byte, error) {
	held := w.buffered() - keptWork
	if held <= w.held {
		return answer, nil // the surplus is given back soon
	}
	err := limits.Hold(h, w.s, &w.held, held)
	if err != nil && len(answer) <= keptWork { // the buffers grew for other answers
		answer, err = bytes.Clone(answer), nil
		w.release()
	}
	return answer, err
}

// tcpPeer is the peer of a plain socket.
type tcpPeer struct {
	c       net.Conn
	uploads uploadSet
	watches watchSet
	guard   *guard
}

func (p *tcpPeer) Peer() string { return p.c.RemoteAddr().String() }
