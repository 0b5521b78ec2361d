package sim

import (
	"time"

	ways "github.com/catfish-index/catfish/internal/fetch"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// kvPhase is a client's last operation, or what it waits for.
type kvPhase uint8

const (
	kvRequesting kvPhase = iota // the request
	kvFetching                  // a first fetch
	kvRest                      // a fetch of the rest of the answer
	kvSwitching                 // the request for a written answer
	kvWaiting                   // none: the answer will be written
	kvReading                   // a read of an item by a kept pointer
)

// kvClient is a thread of a client: it makes calls sequentially.
type kvClient struct {
	ops     *ycsb.Ops
	machine uint32
	phase   kvPhase
	call    uint16 // number of the call: an answer that was fetched may also be written
	began   int64
	trips   int
	asks    int      // bytes of the in-flight read
	has     int      // bytes of the answer that earlier reads have brought
	fetcher *fetcher // nil: answers are written
	tries   ways.Tries

	thread  uint32 // of the server
	get     bool
	value   int // bytes
	ready   bool
	sampled bool // the in-flight read found an answer
	wants   bool // the server knows that it must write the answer
	arrived bool // the written answer has arrived

	acks int  // of secondaries, that have not come
	owed bool // the thread has done its part of the PUT

	key          uint32 // with KVScheme.Pointers
	pointer      uint32 // in use, or taken with the answer
	pointerBytes int
}

// requestBytes and answerBytes are those of the current call.
func (c *kvClient) requestBytes() int {
	n := kvHeaderBytes + ycsb.KeyBytes + kvTailBytes
	if !c.get {
		n += kvLengthBytes + c.value
	}
	return n
}

func (c *kvClient) answerBytes() int {
	if c.get {
		return kvHeaderBytes + kvLengthBytes + c.value + c.pointerBytes
	}
	return kvHeaderBytes
}

// begin draws a call and posts its request.
func (s *kvSim) begin(id uint32) {
	c := &s.clients[id]
	op := c.ops.Next()
	hash := hashOf(&op.Key)
	c.began, c.trips, c.get = s.now, 0, op.Kind == ycsb.Read
	c.ready, c.sampled, c.arrived, c.wants = false, false, false, c.fetcher == nil || !c.fetcher.leaves
	c.tries.Found()
	c.call++
	c.value = s.cfg.Sizes.of(hash * 0xbf58476d1ce4e5b9)
	switch {
	case s.cfg.Scheme.ByClient && s.cfg.Place != nil:
		c.thread = uint32(s.cfg.Place.Of(op.Key[:]))*uint32(s.cfg.Threads) + id%uint32(s.cfg.Threads)
	case s.cfg.Scheme.ByClient:
		c.thread = id % uint32(len(s.threads))
	case len(s.dispatchers) > 0:
		c.thread = s.pipelined(id, hash)
	case s.cfg.Place != nil:
		c.thread = uint32(s.cfg.Place.Of(op.Key[:]))
	default:
		c.thread = uint32(hash % uint64(len(s.threads)))
	}
	if s.points(c, op.Number) {
		s.post(id, kvReading)
		return
	}
	s.post(id, kvRequesting)
}

// post schedules a thread's work of posting an operation.
func (s *kvSim) post(id uint32, p kvPhase) {
	c := &s.clients[id]
	c.phase = p
	c.trips++
	at := s.cl.Client.PostNs + s.machines[c.machine].posts.move(id)
	if s.cfg.Scheme.TwoSided && p == kvRequesting { // The receive of the answer.
		at += s.receiveNs(&s.machines[c.machine], id)
	}
	s.schedule(s.now+ns(at), kvPost, id, 0)
}

// posted: the operation is at the client's card.
func (s *kvSim) posted(id uint32) {
	c := &s.clients[id]
	bytes := 0
	switch c.phase {
	case kvRequesting:
		bytes = c.requestBytes()
	case kvSwitching:
		bytes = kvSwitchBytes
	case kvFetching:
		c.asks, c.has = c.fetcher.read(0), 0
		s.n.fetches++
		s.n.fetched += uint64(c.asks)
		bytes = readRequestBytes
	case kvReading:
		c.asks, bytes = c.itemBytes(), readRequestBytes
	case kvRest:
		c.has = c.asks
		c.asks, bytes = c.fetcher.read(c.answerBytes()-c.has), readRequestBytes
	}
	out := s.machines[c.machine].start(s.now, float64(bytes))
	s.schedule(ns(out)+s.far, kvThere, id, 0)
}

// there: the operation is at the server's card.
func (s *kvSim) there(id uint32) {
	c := &s.clients[id]
	bytes := readRequestBytes
	switch c.phase {
	case kvRequesting:
		bytes = c.requestBytes()
	case kvSwitching:
		bytes = kvSwitchBytes
	}
	s.n.served++
	s.schedule(ns(s.host(c.thread).serve(s.now, float64(bytes))), kvServed, id, 0)
}

// servedBy: the server's card has served the operation: a request is in its
// slot, or a read has taken the slot's bytes.
func (s *kvSim) servedBy(id uint32) {
	c := &s.clients[id]
	back := float64(ackBytes)
	switch c.phase {
	case kvRequesting:
		if len(s.dispatchers) > 0 {
			s.dispatch(id)
		} else {
			s.arrive(id)
		}
	case kvSwitching:
		c.wants = true
	case kvReading:
		c.sampled = s.alive(c)
		back = float64(c.asks)
	default:
		c.sampled = c.ready
		back = float64(c.asks)
	}
	s.schedule(ns(s.host(c.thread).reply(float64(s.now), back))+s.far, kvBack, id, 0)
}

// back: the bytes or the acknowledgement are at the client's card.
func (s *kvSim) back(id uint32) {
	c := &s.clients[id]
	bytes := float64(ackBytes)
	if c.phase == kvFetching || c.phase == kvRest || c.phase == kvReading {
		bytes = float64(c.asks)
	}
	at := s.machines[c.machine].receive(s.now, bytes) + s.cl.Client.CompletionNs
	s.schedule(ns(at), kvComplete, id, 0)
}

// complete: the thread sees the completion.
func (s *kvSim) complete(id uint32) {
	c := &s.clients[id]
	switch c.phase {
	case kvRequesting:
		if c.wants {
			s.wait(id)
		} else {
			s.post(id, kvFetching)
		}
	case kvSwitching:
		// One more fetch, after the switch: either it finds the answer, or the
		// server will find the switch.
		s.post(id, kvFetching)
	case kvFetching:
		s.fetchedOnce(id)
	case kvRest:
		c.fetcher.brought(c.asks, c.answerBytes()-c.has)
		s.finish(id)
	case kvReading:
		s.itemRead(id)
	}
}

// fetchedOnce handles the result of a first fetch.
func (s *kvSim) fetchedOnce(id uint32) {
	c := &s.clients[id]
	if c.sampled {
		c.fetcher.brought(c.asks, c.answerBytes())
		if c.answerBytes() <= c.asks {
			s.finish(id)
		} else {
			s.post(id, kvRest)
		}
		return
	}
	s.n.inVain++
	c.tries.Vain()
	switch {
	case c.wants:
		s.wait(id)
	case c.tries.Late():
		c.fetcher.late()
		s.post(id, kvSwitching)
	default:
		s.post(id, kvFetching)
	}
}

// wait waits for a written answer, which may have arrived.
func (s *kvSim) wait(id uint32) {
	c := &s.clients[id]
	c.phase = kvWaiting
	if c.arrived {
		s.finish(id)
	}
}

// replied: a written answer is at the client's card.
func (s *kvSim) replied(id uint32, call uint16) {
	c := &s.clients[id]
	at := s.machines[c.machine].serve(s.now, float64(c.answerBytes()))
	s.schedule(ns(at+s.cl.Client.CompletionNs), kvAnswer, id, call)
}

// answer: the thread has found a written answer. A thread that waits for a
// completion takes it then.
func (s *kvSim) answer(id uint32, call uint16) {
	c := &s.clients[id]
	if c.call != call {
		return // It was fetched before, and the next call has begun.
	}
	c.arrived = true
	if c.phase == kvWaiting {
		s.finish(id)
	}
}

// finish ends a call; the next one follows after a pause.
func (s *kvSim) finish(id uint32) {
	c := &s.clients[id]
	took := time.Duration(s.now - c.began)
	s.kept(c)
	s.latency.Record(took)
	s.n.calls++
	s.threads[c.thread].calls++
	s.n.trips += uint64(c.trips)
	if took < 7*time.Microsecond {
		s.n.below7++
	}
	if c.trips > 2 {
		s.n.longer = append(s.n.longer, longerCall{c.trips, took})
	}
	if c.tries.Limit > 0 {
		c.fetcher.ended(c.began, c.answerBytes(), 0)
	}
	s.schedule(s.now+ns(s.cl.Client.ThinkNs), kvThought, id, 0)
}
