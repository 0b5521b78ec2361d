package fastmsg

import (
	"runtime"
	"time"
)

// Requests that take long
//
// While a worker serves one request, all its other clients wait. So a handler
// that cannot answer soon answers in steps: Serve calls Continue, and the
// worker then makes one step in each turn, of one connection, after it has
// served the requests of the others:
//
//	turn   requests of A B C | step of D | requests of B | step of E | ...
//
// A step may take as long as the others' requests of its turn took, within
// bounds: then these take at most twice as long as without it, and it still gets
// half of the worker's time. In turns without others it may take twice as long as
// the last one, up to maxStep, so that a client that comes back waits no longer
// than it was away.
//
// The connections that have a step to make alternate. A client that does not
// take its answer makes no steps: they continue when there is room in its
// ring. So an answer made in steps waits at the handler, as small as the
// handler can keep it, and not as encoded bytes in the backlog.
//
// A step that waits for anything but its turn parks the connection;
// another goroutine resumes it.

const (
	// minStep is several times the cost of a turn that makes a step, 0.5 us,
	// and not much against the 3 us of a call without waiting.
	minStep = 5 * time.Microsecond
	// maxStep is about two wake-ups of a client that sleeps.
	maxStep = 100 * time.Microsecond
)

// Continue makes the worker call step, at most once in a turn, until it returns
// true. It is called from Serve, for a request that Serve does not answer, and
// no other request of the connection is served before the last step. step
// answers by RespondPart and Respond. It should return after about the time
// that it is given, minStep to maxStep: the worker's other clients wait for it.
// If the connection ends, step is not called again, and Closed is called.
func (c *Conn) Continue(step func(time.Duration) (done bool)) {
	if c.closed || c.failed != nil {
		return
	}
	c.step = step
	c.w.listStep(c)
}

// yield lets other goroutines run, now and then, also those that wait for sockets,
// since a worker that makes steps is always ready to run (package netpoll).
func (w *Worker) yield(now time.Time, stepped bool) {
	since := now.Sub(w.yielded)
	switch {
	case w.cfg.OwnThread && !w.info.Emulated:
		return
	case stepped && since >= restEvery:
		w.poller.Poll()
	case since >= yieldEvery:
		runtime.Gosched()
	default:
		return
	}
	w.yielded = now
}

// restEvery is how long requests that come by sockets wait for a worker that
// makes steps; a poll takes some 3 us.
const restEvery = 50 * time.Microsecond

// Park, called by a step that is not done, stops the steps until Resume. The step
// that parks must start the work that resumes: a Resume before Park is lost.
func (c *Conn) Park() { c.place.parked = true }

// Resume ends a Park. It may be called from any goroutine, and does nothing if
// the connection has ended.
func (c *Conn) Resume() {
	c.w.post(posted{conn: c})
}

// listStep puts a connection among those that have a step to make, unless it
// is listed, or its client has to make room first.
func (w *Worker) listStep(c *Conn) {
	if !c.place.stepping && !c.place.parked && !c.Waits() {
		c.place.stepping = true
		w.steps = append(w.steps, c)
	}
}

// stepTime returns how long a step may take in a turn in which the requests of
// others took the time others, 0: there were none.
func (w *Worker) stepTime(others time.Duration) time.Duration {
	w.lastStep *= 2
	if others > 0 {
		w.lastStep = others
	}
	w.lastStep = min(max(w.lastStep, minStep), maxStep)
	return w.lastStep
}

// makeStep makes the next connection's step, and reports whether there was one.
func (w *Worker) makeStep(others time.Duration) bool {
	for len(w.steps) > 0 {
		c := w.steps[0]
		w.steps[0] = nil
		w.steps = w.steps[1:]
		c.place.stepping = false
		if c.closed || c.failed != nil || c.step == nil {
			continue
		}
		// As in its share of a turn, touching has no effect meanwhile.
		listed := c.place.listed
		c.place.listed = true
		done := c.step(w.stepTime(others))
		if done {
			c.step = nil
		}
		c.flush()
		w.noteSlow(c)
		c.place.listed = listed
		switch {
		case c.failed != nil:
			w.close(c, c.failed)
		case done:
			w.schedule.touch(c) // its next request
		default:
			w.listStep(c)
		}
		return true
	}
	return false
}
