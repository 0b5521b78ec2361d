package sim

import (
	"time"

	"github.com/catfish-index/catfish/internal/policy"
)

// machine is a host of clients.
type machine struct {
	cores    cores
	card     card
	cachedAt [][]int64 // by host and chunk: see cache.go

	groups []*policy.Group // of policies, by host
}

// phase is a call's next work on a core.
type phase uint8

const (
	starting  phase = iota // choose a path and send
	messaging              // take the answer
	reading                // look at blocks
	fetching               // fetch the answer, of scheme fetch
	yielding               // let other calls run, then offload
	yielded
)

// place is where a call is on its machine's cores.
type place uint8

const (
	away    place = iota // waits for something
	queued               // wants a core
	running              // evRan will come
	holding              // waits, but keeps its core
)

// call is a caller's request to one host: it makes one after another.
type call struct {
	client, machine, worker uint32 // client: the connection
	host                    uint32
	next                    uint32 // search to make next, in circles
	search                  search
	insert                  int32     // number of the in-flight insert, or -1
	began                   int64     // of the request, for its latency
	asked                   time.Time // when its policy was asked, if it was
	phase                   phase
	place                   place
	way                     policy.Path
	walk                    walk
	fetch                   *fetch // of scheme fetch
}

// wake acquires a core for a call with work, unless it has one.
func (s *sim) wake(id uint32) {
	c := &s.calls[id]
	switch c.place {
	case holding:
		s.step(id)
	case away:
		if s.machines[c.machine].cores.acquire(id) {
			s.step(id)
		} else {
			c.place = queued
		}
	}
}

// leave gives the call's core to the next in line.
func (s *sim) leave(c *call) {
	c.place = away
	if next, ok := s.machines[c.machine].cores.release(); ok {
		s.step(next)
	}
}

// step starts the call's next work; evRan comes when it is done.
func (s *sim) step(id uint32) {
	c := &s.calls[id]
	takes := 0.0
	switch c.phase {
	case starting:
		takes = s.start(c)
	case messaging:
		takes = s.cl.Client.AnswerNs
		if c.insert < 0 {
			takes += s.cl.Client.ResultNs * float64(c.search.results)
		}
		if s.sch.TCP {
			takes += s.cl.TCP.ByteNs * s.answerBytes(c)
		}
	case reading:
		takes = s.look(c)
	case fetching:
		takes = s.fetchWork(c)
	case yielded:
		takes = s.startWalk(c)
	}
	c.place = running
	s.n.clientNs += takes
	s.schedule(s.now+ns(takes), evRan, id, 0)
}

// start draws the next request and chooses its path, at its first moment on a
// core.
func (s *sim) start(c *call) float64 {
	c.began = s.now
	if share := s.cfg.Mix[1]; share > 0 && s.rng.IntN(100) < share {
		c.insert = int32(s.inserts % len(s.w.inserts))
		s.inserts++
		return s.send(c)
	}
	c.insert = -1
	w := s.host(c).w
	c.search = w.searches[c.next]
	c.advance(len(w.searches))
	cl := &s.clients[c.client]
	s.shown = shown{s: s, c: c}
	c.way, c.asked = cl.engine.Choose(cl, &s.shown)
	looked := s.shown.work
	if c.way == policy.Offload {
		// As in Client.letOthersRun of package catfish.
		if s.cl.Client.Spins && cl.reads >= policy.YieldReads {
			cl.reads = 0
			c.phase = yielding
			return looked
		}
		return looked + s.startWalk(c)
	}
	return looked + s.send(c)
}

// shown is a policy's view of a search, if nodes are cached.
type shown struct {
	s    *sim
	c    *call
	work float64 // ns, of the estimate
}

// Estimate descends through the cached nodes.
func (l *shown) Estimate(e *policy.Estimate) bool {
	if l.s.sch.Cached {
		*e, l.work = l.s.estimate(l.c)
	}
	return l.s.sch.Cached
}

// startWalk is the work of beginning to offload.
func (s *sim) startWalk(c *call) float64 {
	if s.sch.Cached {
		_, descent := s.estimate(c) // Again, if the policy estimated.
		return s.cl.Client.SearchNs + descent + s.cachedWalk(c)
	}
	return s.cl.Client.SearchNs + s.walkFrom(c, false)
}

// send is the work of sending a request.
func (s *sim) send(c *call) float64 {
	c.way, c.phase = policy.FastMessaging, messaging
	c.fetch.begin()
	if s.sch.TCP {
		return s.cl.Client.MessageNs + s.cl.TCP.ClientNs + s.cl.TCP.ByteNs*s.requestBytes(c)
	}
	return s.cl.Client.MessageNs
}

// ran handles the end of step's work, which takes effect now.
func (s *sim) ran(id uint32) {
	c := &s.calls[id]
	switch {
	case c.phase == yielding:
		c.phase = yielded
		s.leave(c)
		s.wake(id)
	case c.phase == reading:
		s.post(id)
		switch {
		case c.walk.restart && c.walk.out == 0:
			s.again(id)
		case c.walk.over():
			s.finish(id)
		case c.walk.ready():
			s.step(id) // More arrived meanwhile.
		case s.cl.Client.Spins:
			c.place = holding
		default:
			s.leave(c)
		}
	case c.phase == fetching:
		s.fetchRan(id)
	case c.walk.answered:
		c.walk.answered = false
		s.finish(id)
	default:
		m := &s.machines[c.machine]
		bytes := s.requestBytes(c)
		s.n.bytes += bytes
		out := m.card.start(s.now, bytes)
		s.schedule(ns(out)+int64(s.latency), evAtServer, id, 0)
		s.leave(c)
	}
}

// answer: an answer is at the client's card. One of an earlier call was also
// fetched.
func (s *sim) answer(id uint32, number uint16) {
	c := &s.calls[id]
	if c.fetch.stale(number) {
		return
	}
	at := ns(s.machines[c.machine].card.serve(s.now, s.answerBytes(c)))
	if at > s.now {
		s.schedule(at, evTaken, id, number)
		return
	}
	s.taken(id, number)
}

// taken: the answer is in memory; the caller notices later.
func (s *sim) taken(id uint32, number uint16) {
	c := &s.calls[id]
	if c.fetch.stale(number) || c.fetch.keeps() {
		return
	}
	c.walk.answered = true
	late := ns(s.cl.Client.WakeLatencyNs)
	if t, at, ok := s.turnsOf(c, s.caller(id)); ok {
		from, _ := t.next(at, s.now)
		late += from - s.now
	}
	if late > 0 {
		s.schedule(s.now+late, evNoticed, id, 0)
		return
	}
	s.wake(id)
}

// finish ends a request and begins the next: at once on the same core, or
// after a pause.
func (s *sim) finish(id uint32) {
	c, k := &s.calls[id], &s.callers[s.caller(id)]
	over := k.ended(c)
	took := time.Duration(s.now - k.began)
	if over {
		s.all.Record(took)
	}
	s.fetchOver(c)
	think := s.cl.Client.ThinkNs
	if c.insert >= 0 {
		s.n.inserts++
		s.byOp[1].Record(took)
	} else {
		think += s.cl.Client.ThinkResultNs * float64(k.results)
		s.n.ways[c.way]++
		s.n.results += uint64(c.search.results)
		if c.way == policy.FastMessaging {
			s.n.trips += 1 + c.fetch.trips()
		} else {
			s.n.trips += s.tripsOf(c)
		}
		if over {
			s.n.searches++
			s.byOp[0].Record(took)
			s.series.note(c.way, took)
		}
		cl := &s.clients[c.client]
		if c.way == policy.Offload {
			cl.reads += c.walk.reads
		}
		o := policy.Outcome{
			Path: c.way, Searches: 1, Results: int(c.search.results), Trips: 1,
			Bytes: int(s.requestBytes(c) + s.answerBytes(c)),
		}
		if c.way == policy.Offload {
			o.Reads, o.Trips, o.Bytes = c.walk.reads, int(s.tripsOf(c)), int(c.walk.bytes)
		}
		cl.engine.Done(c.asked, o, c.way)
	}
	c.phase = starting
	switch {
	case !over:
		s.leave(c)
	case think > 0 || len(s.hosts) > 1:
		thought := s.now + ns(think)
		if t, at, ok := s.turnsOf(c, s.caller(id)); ok {
			thought = t.after(at, s.now, ns(think))
		}
		s.schedule(thought, evThought, id-c.host, 0)
		s.leave(c)
	default:
		k.begin(1)
		s.step(id)
	}
}

// heartbeatArrived puts a heartbeat into a client's mailbox, in place of an
// older one.
func (s *sim) heartbeatArrived(id uint32, slot uint16) {
	h := &s.hosts[int(id)%len(s.hosts)].heartbeats
	c, b := &s.clients[id], &h.slots[slot]
	if b.Seq <= c.sent {
		return
	}
	c.sent, c.load, c.pending = b.Seq, *b, true
	c.answer = float64(h.answer[slot])
	s.n.heartbeats++
}

// Pending and Take are the mailbox that the decision engine reads.
func (c *client) Pending() bool { return c.pending }

func (c *client) Take() (l policy.Load, ok bool) {
	ok, c.pending = c.pending, false
	return c.load, ok
}
