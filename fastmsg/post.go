package fastmsg

// posted is what another goroutine has to say of a connection: that it has to
// end, or that its steps go on. Without a connection it asks for a tick.
type posted struct {
	conn *Conn
	err  error // nil: its steps go on
}

// post hands p to the worker's loop.
func (w *Worker) post(p posted) {
	w.mu.Lock()
	w.posted = append(w.posted, p)
	w.mu.Unlock()
	w.cq.Wake()
}

// TickSoon has WorkerConfig.Tick called within TickEvery, also if ticks have
// stopped. Any goroutine may call it; after the worker's end it does nothing.
func (w *Worker) TickSoon() { w.post(posted{}) }

// takePosted does what other goroutines have posted.
func (w *Worker) takePosted(all []posted) {
	for _, p := range all {
		c := p.conn
		switch {
		case c == nil:
			w.ticking = true
		case !c.place.opened: // cut for its rings, while it is being accepted
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
