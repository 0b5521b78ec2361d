package sim

import (
	"math"

	ways "github.com/catfish-index/catfish/internal/fetch"
	"github.com/catfish-index/catfish/internal/policy"
)

// Scheme fetch: requests are messages as in other schemes, to event-driven
// workers, but a worker leaves the answer in the server's memory, and the
// client fetches it by reads. The server starts no operation. Answers consist
// of lines of 64 bytes, of which 8 are the call's number: a read may take its
// lines in any order, and only lines of this call count.
//
//	request --> acknowledged --> fetch --> there? no --> fetch again
//	                                       whole? no --> fetch the rest
//
// How much is fetched, when the client asks for a written answer, and which way it
// prefers is decided by the code of Catfish's client (package internal/fetch);
// Config.FetchAll leaves out the comparison of both ways. A change takes effect for
// calls that begin after it; the cost of announcing it is not modelled.

// fetch is the fetching state of a call. It is nil for calls of other schemes:
// methods accept nil.
type fetch struct {
	client *fetcher // that of its client
	tries  ways.Tries
	number uint16 // of the call

	ready   bool // the answer is at the server
	wants   bool // the server knows that the client wants it written
	under   bool // an operation of this client is in flight
	asking  bool // this operation asks for a written answer
	sampled bool // the fetch found an answer
	here    bool // the last operation has ended and was not handled
	written bool // a written answer arrived meanwhile
	rest    bool // the in-flight fetch is of the second part
	bytes   float64
	has     int // bytes of the answer that the first part had
	made    uint64
}

func (f *fetch) begin() {
	if f == nil {
		return
	}
	f.number++
	f.tries.Found()
	f.ready, f.wants, f.made = false, !f.client.leaves, 0
	f.under, f.asking, f.sampled, f.here, f.written, f.rest = false, false, false, false, false, false
}

func (f *fetch) callNumber() uint16 {
	if f == nil {
		return 0
	}
	return f.number
}

func (f *fetch) stale(number uint16) bool { return f != nil && f.number != number }

// keeps records a written answer that came during a fetch, for later.
func (f *fetch) keeps() bool {
	if f == nil || !f.under {
		return false
	}
	f.written = true
	return true
}

func (f *fetch) trips() uint64 {
	if f == nil {
		return 0
	}
	return f.made
}

// fetchedBytes is the answer with its lines' numbers.
func (s *sim) fetchedBytes(c *call) float64 { return 64 * math.Ceil(s.answerBytes(c)/56) }

// fetchAsked: a request is in the server's memory: its acknowledgement, for
// which a fetching client waits, goes back.
func (s *sim) fetchAsked(id uint32) {
	c := &s.calls[id]
	if c.fetch == nil {
		return
	}
	if c.fetch.wants {
		return
	}
	s.schedule(ns(s.host(c).card.reply(float64(s.now), ackBytes))+int64(s.latency), evAcked, id, 0)
}

func (s *sim) fetchFirst(id uint32) {
	c := &s.calls[id]
	c.phase, c.fetch.under = fetching, true
	s.wake(id)
}

// left: the worker leaves an answer in memory; false if it must be written.
func (s *sim) left(id uint32) bool {
	c := &s.calls[id]
	f := c.fetch
	if f == nil {
		return false
	}
	f.ready = true
	if !f.wants {
		s.host(c).heartbeats.served++
	}
	return !f.wants
}

// sendWritten: the server's card has started a written answer. If its call has
// ended, since it was also fetched, it has the size of the next one.
func (s *sim) sendWritten(id uint32, number uint16) {
	c := &s.calls[id]
	bytes := s.answerBytes(c)
	s.schedule(ns(s.host(c).card.send(float64(s.now), bytes))+int64(s.latency), evAnswer, id, number)
}

// fetchWork is the work of a client for a completion, or for posting the next
// operation.
func (s *sim) fetchWork(c *call) float64 {
	takes := s.cl.Client.PostNs
	if c.fetch.here {
		takes = s.cl.Client.CompletionNs
	}
	return takes
}

// fetchRan handles the end of that work.
func (s *sim) fetchRan(id uint32) {
	c := &s.calls[id]
	f := c.fetch
	if !f.here {
		s.fetchPost(id)
		return
	}
	f.here = false
	whole := s.fetchedBytes(c)
	if !f.asking && f.sampled {
		f.client.brought(int(f.bytes), int(whole)-f.has)
	}
	switch {
	case f.asking: // A fetch follows this request.
		f.asking = false
	case f.rest || f.sampled && whole <= f.bytes:
		s.fetchTaken(id)
		return
	case f.sampled:
		f.rest = true
	case f.wants && f.written:
		s.fetchTaken(id)
		return
	case f.wants:
		f.under, c.phase = false, messaging
		s.leave(c)
		return
	default:
		if f.tries.Vain(); f.tries.Late() {
			f.asking = true
			f.client.late()
		}
	}
	s.step(id) // Post it.
}

// fetchTaken continues with an answer that has arrived.
func (s *sim) fetchTaken(id uint32) {
	c := &s.calls[id]
	c.fetch.under, c.phase, c.walk.answered = false, messaging, true
	s.step(id)
}

func (s *sim) fetchPost(id uint32) {
	c := &s.calls[id]
	f := c.fetch
	bytes := float64(readRequestBytes)
	switch {
	case f.asking:
		bytes = kvSwitchBytes
	case f.rest:
		f.has = int(f.bytes)
		f.bytes = float64(f.client.read(int(s.fetchedBytes(c)) - f.has))
		s.n.reads++
	default:
		f.has, f.bytes = 0, float64(f.client.read(0))
		s.n.reads++
	}
	f.made++
	s.schedule(ns(s.machines[c.machine].card.start(s.now, bytes))+int64(s.latency), evFetch, id, 0)
	s.leave(c)
}

// fetchAt: an operation is at the server's card.
func (s *sim) fetchAt(id uint32) {
	c := &s.calls[id]
	bytes := float64(readRequestBytes)
	if c.fetch.asking {
		bytes = kvSwitchBytes
	}
	s.schedule(ns(s.host(c).card.serve(s.now, bytes)), evFetchServed, id, 0)
}

// fetchServed: the card has taken the bytes or the request.
func (s *sim) fetchServed(id uint32) {
	c := &s.calls[id]
	f := c.fetch
	back := f.bytes
	if f.asking {
		f.wants, back = true, ackBytes
	} else {
		f.sampled = f.ready
		s.n.bytes += back
		s.n.outBytes += back
	}
	s.schedule(ns(s.host(c).card.reply(float64(s.now), back))+int64(s.latency), evFetched, id, 0)
}

func (s *sim) fetchBack(id uint32) {
	c := &s.calls[id]
	f := c.fetch
	f.here = true
	bytes := f.bytes
	if f.asking {
		bytes = ackBytes
	}
	s.schedule(ns(s.machines[c.machine].card.receive(s.now, bytes)), evFetchHere, id, 0)
}

// fetchOver: a call ends.
func (s *sim) fetchOver(c *call) {
	f := c.fetch
	if f == nil || c.way != policy.FastMessaging {
		return
	}
	if f.wants {
		s.n.written++
	}
	f.client.ended(int64(c.began), int(s.answerBytes(c)), s.cfg.InFlight)
	counts := &f.client.counts
	s.n.trials += counts.Trials.Swap(0)
	s.n.moves += counts.Moves.Swap(0)
}
