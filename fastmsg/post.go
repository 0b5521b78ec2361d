package fastmsg

// posted is another goroutine's message about a connection: that it must end,
// or that its steps continue. Without a connection it asks for a tick.
type posted struct {
	conn *Conn
	err  error // nil: its steps continue
}

// post hands p to the worker's loop.
func (w *Worker) post(p posted) {
	w.mu.Lock()
	w.posted = append(w.posted, p)
	w.mu.Unlock()
	w.cq.Wake()
}

// TickSoon makes the worker call WorkerConfig.Tick within TickEvery, also if ticks
// have stopped. Any goroutine may call it; after the worker's end it does nothing.
func (w *Worker) TickSoon() { w.post(posted{}) }

// takePosted handles the messages that other goroutines have posted.
func (w *Worker) takePosted(all []posted) {
	for _, p := range all {
		c := p.conn
		switch {
		case c == nil:
			w.ticking = true
		case !c.place.opened: // the budget cut its rings during Accept
			c.failed = p.err
		case c.closed:
		case p.err != nil:
			c.Fail(p.err)
		case c.place.parked:
			c.place.parked = false
			w.listStep(c)
		}
	}
}
