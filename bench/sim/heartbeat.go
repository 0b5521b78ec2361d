package sim

import (
	"time"

	"github.com/catfish-index/catfish/internal/policy"
)

// heartbeatSlots is how many heartbeats may be on their way to one client. One
// that took longer than this number of intervals would be overwritten; at a
// hundredth of a second each that is beyond any latency allowed.
const heartbeatSlots = 1 << 8

// heartbeats are the server's measurements for its heartbeats.
type heartbeats struct {
	slots  [heartbeatSlots]policy.Load
	seq    uint64
	busyNs float64 // of cores, since the last heartbeat; spinning not counted
	bytes  float64 // of answers, since then
	served uint64  // requests, since then
	idle   float64 // ns without requests
	owed   float64 // ns of work that no core has done yet
	inLine bool
}

// sendHeartbeats measures the server and writes to every client. The card sends
// the heartbeats at once, even if all cores are busy: real ones come from the
// workers' loop between two requests. Their work is queued for a core.
func (s *sim) sendHeartbeats() {
	k, b := &s.cl.Heartbeat, &s.heartbeats
	b.seq++
	slot := uint16(b.seq % heartbeatSlots)
	all := k.IntervalNs * float64(s.cl.Server.Cores)
	workers := float64(min(len(s.server.workers), s.cl.Server.Cores))
	b.slots[slot] = policy.Load{
		Seq: b.seq, CPU: min(b.busyNs/all, 1), Busy: min(b.busyNs/(k.IntervalNs*workers), 1),
		Waiting: uint64(s.server.waiting), BytesOut: b.bytes * 1e9 / k.IntervalNs,
		Interval: time.Duration(k.IntervalNs),
	}
	// A server without requests for a second falls silent.
	if b.idle += k.IntervalNs; b.served > 0 {
		b.idle = 0
	}
	b.busyNs, b.bytes, b.served = 0, 0, 0
	if b.idle < 1e9 {
		apart := k.Spread * k.IntervalNs / float64(len(s.clients))
		for i := range s.clients {
			// A later heartbeat should reach the card later; among thousands
			// of operations this makes no difference.
			out := ns(s.card.start(s.now, k.Bytes)) + int64(apart*float64(i))
			s.schedule(out+int64(s.latency), evHeartbeat, uint32(i), slot)
		}
		b.owed += k.CPUNs * float64(len(s.clients))
		// Polling threads that share cores have no queue for them.
		if !b.inLine && s.server.turns == nil && b.owed > 0 {
			b.inLine = true
			if s.server.cores.acquire(ticker) {
				s.tick()
			}
		}
	}
	s.schedule(s.now+ns(k.IntervalNs), evHeartbeatDue, 0, 0)
}

// tick is the work of heartbeats on a core.
func (s *sim) tick() {
	takes := s.heartbeats.owed
	s.heartbeats.owed = 0
	s.heartbeats.busyNs += takes
	s.n.busyNs += takes
	s.schedule(s.now+ns(takes), evTicked, ticker, 0)
}

// ticked handles the end of that work.
func (s *sim) ticked() {
	s.heartbeats.inLine = false
	if next, ok := s.server.cores.release(); ok {
		s.granted(next)
	}
}
