package fastmsg

import (
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// A turn
//
// A worker serves its connections in turns. All of a turn is in this file:
//
//	take the events, and    which connections have something to do?
//	look at the tail words
//	give later answers      (later.go)
//	for each of those       its share of the turn: answers that wait for
//	    serve               room, then requests, served or batched
//	    finish              one WriteImm for all its answers
//	    tick if it is due   on time even when saturated
//	serve the batch         and finish the connections in it
//	call TurnEnds           all requests are served (TurnHandler)
//	make one step           of a request that takes long (step.go)
//
// A connection is in one of four states:
//
//	          touch               its share begins
//	   idle ---------> listed -------------------------> serving
//	    ^                ^                               |     |
//	    |                | more to do    none batched    |     | some requests
//	    +----------------+------------ finish <----------+     v batched
//	    |                                ^----- serveBatch -- batched
//	    +--- closed, if it has failed
//
// Only an idle connection is not listed (place.listed). In the other states,
// touching it has no effect. That loses nothing: the reasons for a touch are
// events, tail words, answers to post, and failures; serve or finish handles
// them, and at least finish is still to come. After its flush, finish unlists
// the connection, and then touches it again if there is more to do. A connection
// that the handler does not know yet is only unlisted; openAccepted touches it.
//
// place.waiting counts the requests of a connection in the batch. Each turn
// serves its batch before it ends, and finishes all connections in it. So
// between two turns a connection is idle or listed, and the batch is empty.
//
// # Owners
//
//   - Only the worker's goroutine runs this code. Other goroutines queue
//     their messages under Worker.mu and wake the worker, which takes them
//     over before a turn (takeOver): new connections (Accept), messages about
//     connections (post.go), and answers (later.go), which wake it only if it
//     sleeps.
//   - Only methods of Conn change its rings, its backlog and its error. It
//     calls its worker to be listed (touch), to be listed again when its queue
//     pair may have room (stall), to keep it polling, and to count answers.
//   - Only methods of Worker and schedule change the place of a connection,
//     and only methods of Worker change its counters (workerstats.go).

// turnRequests is the largest number of requests in a connection's share of a
// turn: enough that the flush afterwards costs little, and few enough that a
// greedy client cannot delay other clients, or a tick, for long.
const turnRequests = 32

// shareTime ends a connection's share of a turn earlier: 32 requests of many
// searches each take milliseconds.
const shareTime = 100 * time.Microsecond

// turn does all the work that is ready, and reports whether there was any.
func (w *Worker) turn() bool {
	n := w.cq.Poll(w.comps)
	w.look()
	if n == 0 && w.schedule.empty() && len(w.steps) == 0 && w.late.empty() {
		if len(w.slow.conns) > 0 {
			w.checkSlow(w.cfg.Now())
		}
		return !w.schedule.empty()
	}
	from := w.cfg.Now()
	w.now = from
	w.beginBusy(from)
	w.takeEvents(w.comps[:n])
	w.giveAnswers()
	w.publishWaiting()
	now, served := from, w.count.requests
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
	if w.turns != nil && w.turns.TurnEnds() {
		now = w.afterFinish()
	}
	stepped := false
	if len(w.steps) > 0 {
		others := time.Duration(0)
		if w.count.requests != served {
			others = now.Sub(from)
		}
		if stepped = w.makeStep(others); stepped {
			now = w.afterFinish()
		}
	}
	w.schedule.end()
	w.checkSlow(now)
	w.endBusy(from, now)
	w.yield(now, stepped)
	return true
}

// takeEvents passes events to their connections, which ask to be listed if
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

// serve gives a connection its share of the turn: first the answers that wait
// for room, then at most turnRequests requests, some of which may stay in the
// batch. place.more reports to finish whether there are more requests.
func (w *Worker) serve(c *Conn) {
	c.place.more = c.drain()
	c.leaveAgain()
	if c.step != nil {
		w.listStep(c)
	}
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
			w.serveBatch(c) // the requests before m
			continue
		}
		m.Payload = append(w.scratch[:0], m.Payload...)
		w.consume(c, size, len(m.Payload))
		w.h.Serve(c, m)
		if w.tookLong(served, len(m.Payload)) {
			c.place.more = c.in.more()
			break
		}
	}
}

// tookLong reports whether the share of a connection has taken shareTime, after
// a request that follows before others. The clock takes 40 ns, so it is read
// after some small requests only, and after each large one.
func (w *Worker) tookLong(before, payload int) bool {
	if payload <= BatchPayload && before%8 != 7 {
		return false
	}
	return w.cfg.Now().Sub(w.now) >= shareTime
}

// collect puts the request that next returned into the batch, if the handler
// accepts it. held is how much c held before next.
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

// serveBatch serves the requests in the batch, and finishes their connections
// except c, whose share of the turn continues.
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

// finish ends a connection's share of the turn: it posts the answers.
func (w *Worker) finish(c *Conn) {
	w.account(c)
	c.flush()
	w.noteSlow(c)
	w.schedule.remove(c)
	if c.failed != nil {
		w.close(c, c.failed)
	} else if c.place.more {
		w.schedule.touch(c)
	}
}

// afterFinish updates the figures, and ticks if that is due. It returns the
// time.
func (w *Worker) afterFinish() time.Time {
	w.publishWaiting()
	now := w.cfg.Now()
	w.now = now
	w.tick(now)
	return now
}
