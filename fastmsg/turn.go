package fastmsg

import (
	"runtime"
	"time"

	"github.com/catfish-index/catfish/rdma"
)

// A turn
//
// All that a worker does for its connections it does in turns, which are
// taken here and nowhere else:
//
//	take the events         which connections have something to do?
//	for each of those       its share of the turn: what waits for room,
//	    serve               then requests, served or put into the batch
//	    finish              one WriteImm for all its answers
//	    tick if it is due   on time even when saturated
//	serve the batch         and finish those whose requests it held
//
// During a turn a connection is in one of four states:
//
//	          touch               its share begins
//	   idle ---------> listed -------------------------> serving
//	    ^                ^                               |     |
//	    |                | more to do    none in batch   |     | some in the
//	    +----------------+------------ finish <----------+     v batch
//	    |                                ^----- serveBatch -- batched
//	    +--- closed, if it has failed
//
// idle, its place is not listed; in the other states it is, so touching it
// again does nothing. That loses nothing: what a connection is touched for
// (an event, an answer to post, a failure) is seen by serve or by finish,
// of which at least finish is still to come. finish takes it off the list
// before it looks at what is left to do, and touches it again for that.
//
// batched, place.waiting counts its requests in the batch. Every turn serves
// its batch before it ends, and with the batch all who wait in it finish;
// so between two turns a connection is idle or listed, and the batch is
// empty.
//
// # Who changes what
//
//   - The worker's goroutine alone runs all of this. Other goroutines leave
//     what they have in a queue behind Worker.mu and wake the worker, which
//     takes it over before a turn: today that is connections (Accept,
//     openAccepted). Answers from other goroutines would enter by the same
//     door, each to be responded there, which touches its connection.
//   - A Conn changes its rings, its backlog and its failure, by its own
//     methods. Of its worker it asks three things: to be looked at (touch),
//     to be looked at again when its queue pair may have room (stall), and
//     to count an answer.
//   - Worker methods change the place of a connection (see there) and the
//     worker's counters.

// turnRequests is how many requests a connection may have served before it
// is the next one's turn: so many that the flush per turn costs little, so
// few that a greedy client cannot hold up others, or a tick, for long.
const turnRequests = 32

// turn does everything that is ready and reports whether that was
// anything.
func (w *Worker) turn() bool {
	n := w.cq.Poll(w.comps)
	if n == 0 && w.schedule.empty() {
		return false
	}
	from := w.cfg.Now()
	w.beginBusy(from)
	w.takeEvents(w.comps[:n])
	w.publishWaiting()
	now := from
	for _, c := range w.schedule.begin() {
		if c.closed || !c.place.opened {
			w.schedule.remove(c)
			continue
		}
		w.serve(c)
		if c.place.waiting > 0 {
			continue // serveBatch finishes it
		}
		w.finish(c)
		now = w.afterFinish()
	}
	if w.batch.n > 0 {
		w.serveBatch(nil)
		now = w.afterFinish()
	}
	w.schedule.end()
	w.endBusy(from, now)
	if now.Sub(w.yielded) >= yieldEvery {
		runtime.Gosched()
		w.yielded = now
	}
	return true
}

// takeEvents hands events to their connections, which touch themselves if
// there is something to do.
func (w *Worker) takeEvents(comps []rdma.Completion) {
	for i := range comps {
		if qp := comps[i].QP; qp != nil {
			if c, ok := qp.Context().(*Conn); ok && c.handle(&comps[i]) {
				w.account(c)
			}
		}
		comps[i].QP = nil
	}
	if len(comps) > 0 {
		w.ticking = true
		w.schedule.retryStalled()
	}
}

// serve gives a connection its share of the turn: what waits for room
// first, then at most turnRequests requests, some of which may be left in
// the batch. It notes whether more could be done at once.
func (w *Worker) serve(c *Conn) {
	c.drain()
	c.place.more = false
	for served := 0; c.takesAnswers(); served++ {
		if served == turnRequests {
			c.place.more = c.in.more()
			break
		}
		held := c.in.held
		m, size, ok := c.next()
		if !ok {
			break
		}
		if w.batcher != nil && w.collect(c, m, size, held) {
			continue
		}
		if c.place.waiting > 0 {
			w.serveBatch(c) // what came before m
			continue
		}
		m.Payload = append(w.scratch[:0], m.Payload...)
		w.consume(c, size, len(m.Payload))
		w.h.Serve(c, m)
	}
}

// collect puts the request that next returned into the batch, if the
// handler wants it there. held is what c held before next.
func (w *Worker) collect(c *Conn, m Message, size, held uint64) bool {
	b := &w.batch
	if len(m.Payload) > BatchPayload {
		return false
	}
	m.Payload = b.copyPayload(m.Payload)
	if !w.batcher.Batches(m) {
		return false
	}
	if c.place.waiting++; c.place.waiting == 1 {
		b.conns = append(b.conns, c)
	}
	if full := b.add(Request{c, m, c.hold(size, held)}); full {
		w.serveBatch(c)
	}
	return true
}

// serveBatch serves what was collected, and finishes all whose requests
// these were but c, whose share of the turn goes on.
func (w *Worker) serveBatch(c *Conn) {
	b := &w.batch
	reqs := servable(b.reqs[:b.n])
	for len(reqs) > 0 {
		n := 1
		if len(reqs) == 1 {
			w.h.Serve(reqs[0].Conn, reqs[0].Message)
		} else {
			n = w.batcher.ServeBatch(reqs)
		}
		for _, r := range reqs[:n] {
			w.consume(r.Conn, r.size, len(r.Payload))
		}
		reqs = servable(reqs[n:])
	}
	for _, of := range b.conns {
		of.unhold()
		of.place.waiting = 0
		if of != c {
			w.finish(of)
		}
	}
	b.reset()
}

// consume frees a request in its ring, and counts it.
func (w *Worker) consume(c *Conn, size uint64, payload int) {
	c.consume(size)
	w.countRequest(payload)
}

// finish ends a connection's share of the turn: what was answered is
// posted.
func (w *Worker) finish(c *Conn) {
	w.account(c)
	c.flush()
	w.schedule.remove(c)
	if c.failed != nil {
		w.close(c, c.failed)
	} else if c.place.more {
		w.schedule.touch(c)
	}
}

// afterFinish keeps the figures and the ticks up to date within a turn.
func (w *Worker) afterFinish() time.Time {
	w.publishWaiting()
	now := w.cfg.Now()
	w.tick(now)
	return now
}
