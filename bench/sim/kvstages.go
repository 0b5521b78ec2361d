package sim

import (
	"fmt"

	"github.com/catfish-index/catfish/bench/harness"
)

// Other ways to pass messages and to divide work than a thread that polls its requests and
// handles each, as HydraDB compares them (section 6.2).
//
//	two-sided  client --send--> receive that was posted .. thread --send--> receive of the client
//	           Each side takes a completion for a message, and posts another receive, which its
//	           card takes as it takes any operation that is started.
//	pipelined  client --write--> dispatcher .. queue .. thread --write--> client
//	           A server is several instances, each with dispatchers, which find requests, and
//	           threads, which handle them under the instance's lock.

// kvHandLines is how many lines go from a dispatcher's cache to the thread's: that of the queue,
// and the request. Each takes as long as the line of a card's doorbell (NIC.PostMoveNs).
const kvHandLines = 2

func (c *KVConfig) validateStages() error {
	s := &c.Scheme
	if !s.TwoSided && s.Instances == 0 {
		return nil
	}
	if !s.Written || s.Waits || s.Events || s.ByClient || s.Secondaries > 0 || c.Servers > 1 || c.Collocated || c.Place != nil {
		return fmt.Errorf("%w: two-sided messages %v, %d pipelined instances: want one server of polling threads that write answers and do not wait, and no secondaries or placement",
			harness.ErrConfig, s.TwoSided, s.Instances)
	}
	if s.Instances > 0 && (c.Threads%s.Instances != 0 || s.Dispatchers < 1 || s.Dispatchers > c.Threads) {
		return fmt.Errorf("%w: %d instances with %d threads and %d dispatchers each, want as many threads for each, and 1 to %d dispatchers",
			harness.ErrConfig, s.Instances, c.Threads, s.Dispatchers, c.Threads)
	}
	return nil
}

func (s *kvSim) makeStages() {
	s.locks = make([]meter, max(s.cfg.Scheme.Instances, 1))
	s.dispatchers = make([]meter, s.cfg.Scheme.Instances*s.cfg.Scheme.Dispatchers)
}

// instance of a thread.
func (s *kvSim) instance(thread uint32) int { return int(thread) * len(s.locks) / len(s.threads) }

// pipelined is the thread of a client's call: one of the instance that has the key.
func (s *kvSim) pipelined(id uint32, hash uint64) uint32 {
	n := uint64(len(s.locks))
	each := uint32(len(s.threads)) / uint32(n)
	return uint32(hash%n)*each + id%each
}

// handNs is a thread's share of handing a request over.
func (s *kvSim) handNs() float64 { return float64(kvHandLines * s.cl.Server.NIC.PostMoveNs) }

// dispatch: a request is in its slot, and an instance's dispatcher looks at the slot. It comes
// back when the request is in the thread's queue.
func (s *kvSim) dispatch(id uint32) {
	c := &s.clients[id]
	n := s.cfg.Scheme.Dispatchers
	d := &s.dispatchers[s.instance(c.thread)*n+int(id)%n]
	k := &s.cl.Server
	takes := k.PollNs + float64(k.ByteNs*float64(c.requestBytes())) + s.handNs()
	s.schedule(ns(d.pass(float64(s.now), takes)), kvHanded, id, 0)
}

// receiveNs is the time of a thread to take the completion of a receive, and to post another
// one, which its card takes.
func (s *kvSim) receiveNs(c *card, thread uint32) float64 {
	c.post(s.now)
	return s.cl.Client.CompletionNs + s.cl.Client.PostNs + c.posts.move(thread)
}
