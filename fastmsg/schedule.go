package fastmsg

// schedule is which connections a worker is to look at. It belongs to the
// worker's goroutine.
type schedule struct {
	now     []*Conn // in the turn that is being taken
	next    []*Conn // in the next turn
	stalled []*Conn // again soon: Post found their queue pairs full
}

// place is what a worker and its schedule note about a connection. Only
// their methods change it.
type place struct {
	listed  bool   // in schedule.now or next
	stalled bool   // in schedule.stalled
	opened  bool   // the handler knows it
	more    bool   // to be touched when its share of the turn is over
	polling bool   // counted in Worker.pollers
	waiting int    // its requests in Worker.batch
	index   int    // in Worker.conns
	unread  uint64 // its part of Worker.unread
}

// touch has the worker look at a connection in the next turn, unless it is
// still to be finished in this one.
func (s *schedule) touch(c *Conn) {
	if !c.place.listed && !c.closed {
		c.place.listed = true
		s.next = append(s.next, c)
	}
}

// stall notes a connection whose Post was refused.
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

// begin begins a turn, and returns whom to look at.
func (s *schedule) begin() []*Conn {
	s.now, s.next = s.next, s.now[:0]
	return s.now
}

// remove takes a connection off the list of the turn under way.
func (s *schedule) remove(c *Conn) { c.place.listed = false }

// end ends a turn.
func (s *schedule) end() { clear(s.now) }
