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
	answer [heartbeatSlots]time.Duration // of a message that comes then: answers.go
	perNs  float64                       // of a request, in the latest interval with one
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
func (s *sim) sendHeartbeats(at uint32) {
	h := &s.hosts[at]
	k, b := &s.cl.Heartbeat, &h.heartbeats
	b.seq++
	slot := uint16(b.seq % heartbeatSlots)
	all := k.IntervalNs * float64(s.cl.Server.Cores)
	workers := float64(min(len(h.server.workers), s.cl.Server.Cores))
	b.slots[slot] = policy.Load{
		Seq: b.seq, CPU: min(b.busyNs/all, 1), Busy: min(b.busyNs/(k.IntervalNs*workers), 1),
		Waiting: uint64(h.server.waiting), BytesOut: b.bytes * 1e9 / k.IntervalNs,
		Interval: time.Duration(k.IntervalNs),
	}
	if b.served > 0 {
		b.perNs = b.busyNs / float64(b.served)
	}
	b.answer[slot] = time.Duration(b.perNs + float64(h.server.waiting)*b.perNs/float64(s.cl.Server.Cores))
	// A server without requests for a second falls silent.
	if b.idle += k.IntervalNs; b.served > 0 {
		b.idle = 0
	}
	b.busyNs, b.bytes, b.served = 0, 0, 0
	if b.idle < 1e9 {
		apart := k.Spread * k.IntervalNs / float64(s.cfg.Clients)
		for i := range s.cfg.Clients {
			// A later heartbeat should reach the card later; among thousands
			// of operations this makes no difference.
			out := ns(h.card.start(s.now, k.Bytes)) + int64(apart*float64(i))
			s.schedule(out+int64(s.latency), evHeartbeat, uint32(i*len(s.hosts))+at, slot)
		}
		b.owed += k.CPUNs * float64(s.cfg.Clients)
		// Polling threads that share cores have no queue for them.
		if !b.inLine && h.server.turns == nil && b.owed > 0 {
			b.inLine = true
			if h.server.cores.acquire(ticker) {
				s.tick(at)
			}
		}
	}
	s.schedule(s.now+ns(k.IntervalNs), evHeartbeatDue, at, 0)
}

// tick is the work of heartbeats on a core.
func (s *sim) tick(at uint32) {
	b := &s.hosts[at].heartbeats
	takes := b.owed
	b.owed = 0
	b.busyNs += takes
	s.n.busyNs += takes
	s.schedule(s.now+ns(takes), evTicked, at, 0)
}

// ticked handles the end of that work.
func (s *sim) ticked(at uint32) {
	h := &s.hosts[at]
	h.heartbeats.inLine = false
	if next, ok := h.server.cores.release(); ok {
		s.granted(next, at)
	}
}
