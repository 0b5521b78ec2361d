package fastmsg

// schedule lists the connections that have work. It belongs to the worker's
// goroutine.
type schedule struct {
	now     []*Conn // in this turn
	next    []*Conn // in the next turn
	stalled []*Conn // to be listed again: Post found their queue pairs full
}

// place is the state of a connection that belongs to its worker. Only methods
// of Worker and schedule change it.
type place struct {
	listed   bool   // in schedule.next, or not finished in schedule.now
	stalled  bool   // in schedule.stalled
	opened   bool   // the handler's Opened was called
	more     bool   // list it again after its share of the turn
	polling  bool   // counted in Worker.pollers
	stepping bool   // in Worker.steps
	parked   bool   // makes no steps, see Park
	watched  int    // 1 + its index in Worker.words, 0: not there
	waiting  int    // requests in Worker.batch
	index    int    // in Worker.conns
	unread   uint64 // bytes, counted in Worker.unread
}

// touch lists a connection for the next turn, unless it is listed already.
func (s *schedule) touch(c *Conn) {
	if !c.place.listed && !c.closed {
		c.place.listed = true
		s.next = append(s.next, c)
	}
}

// stall records a connection whose Post was refused.
func (s *schedule) stall(c *Conn) {
	if !c.place.stalled {
		c.place.stalled = true
		s.stalled = append(s.stalled, c)
	}
}

func (s *schedule) retryStalled() {
	for _, c := range s.stalled {
		c.place.stalled = false
		s.touch(c)
	}
	clear(s.stalled)
	s.stalled = s.stalled[:0]
}

func (s *schedule) empty() bool { return len(s.next) == 0 }

// begin begins a turn, and returns the connections listed for it.
func (s *schedule) begin() []*Conn {
	s.now, s.next = s.next, s.now[:0]
	return s.now
}

// remove ends the part of a connection in this turn: it may be listed again.
func (s *schedule) remove(c *Conn) { c.place.listed = false }

// end ends a turn.
func (s *schedule) end() { clear(s.now) }
