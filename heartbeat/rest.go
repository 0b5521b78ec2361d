package heartbeat

import "time"

// Connections at rest
//
// Ten thousand connections with a heartbeat each 10 ms are a million writes a
// second, which over sockets take more than a core, although most of the
// clients may have sent no request for hours. So a connection without
// requests rests: its heartbeats come RestInterval apart, and each says so
// (Beat.Interval). Its next request ends the rest:
//
//	            no request for IdleAfter
//	every 10 ms ------------------------> every second
//	            <------------------------
//	               Wake: a request
//
// A client that only offloads sends no requests, either. It learns of another
// load later, within RestInterval; the paper's back-off ends with a request
// long before. The Sender looks for requests with each signaled heartbeat, so
// a connection rests up to signalEvery intervals later.

// rest is the state of a subscription's rest.
type rest struct {
	every   int    // ticks of its own interval while it rests, 0: it does not rest
	arrived uint64 // Target.Arrived at the last look
	since   time.Time
}

// isQuiet reports whether a connection should rest.
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

// putToRest runs at the end of a tick, when no loop over a list is running.
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

// Wake resumes the heartbeats of a resting connection at its own interval. It is
// called for each request, so it costs next to nothing for other connections.
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
