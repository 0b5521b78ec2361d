package heartbeat

import "time"

// Connections at rest
//
// Ten thousand connections with a heartbeat each 10 ms are a million writes a
// second, which over sockets take more than a core, although most of the
// clients may have had nothing to ask for hours. So a connection without
// requests rests: its heartbeats come RestInterval apart, and each says so
// (Beat.Interval). With its next request it is as before:
//
//	            no request for IdleAfter
//	every 10 ms ------------------------> every second
//	            <------------------------
//	               Wake: a request
//
// A client that only offloads sends no requests, either. It learns of another
// load later, within RestInterval; the paper's back-off ends with a request
// long before. Whether there were requests is looked at with each signaled
// heartbeat, so a connection rests up to signalEvery intervals later.

// rest is what a subscription needs for it.
type rest struct {
	every   int    // ticks of its own interval while it rests, 0: it does not
	arrived uint64 // Target.Arrived, when it was last looked at
	since   time.Time
}

// isQuiet reports whether a connection is to rest.
func (s *Sender) isQuiet(sub *Subscription, now time.Time) bool {
	r := &sub.rest
	if s.cfg.RestInterval == 0 || r.every > 0 || s.Interval(sub) >= s.cfg.RestInterval {
		return false
	}
	if n := sub.t.Arrived(); n != r.arrived || r.since.IsZero() {
		r.arrived, r.since = n, now
		return false
	}
	return now.Sub(r.since) >= s.cfg.IdleAfter
}

// putToRest is at the end of a tick, when no list is being gone through.
func (s *Sender) putToRest() {
	for i, sub := range s.quiet {
		sub.rest.every = sub.group.every
		s.resting++
		s.move(sub, s.ticks(s.cfg.RestInterval))
		s.quiet[i] = nil
	}
	s.quiet = s.quiet[:0]
}

// Resting is how many connections rest. If it is 0, none needs Wake.
func (s *Sender) Resting() int { return s.resting }

// Wake has a connection that rests get heartbeats at its own interval again. It
// is for each request, so it does next to nothing for others.
func (s *Sender) Wake(sub *Subscription) {
	if sub.rest.every == 0 || sub.index < 0 {
		return
	}
	every := sub.rest.every
	sub.rest = rest{}
	s.resting--
	s.move(sub, every)
}

func (s *Sender) move(sub *Subscription, every int) {
	s.take(sub)
	s.put(sub, every)
}
