package sim

import (
	"fmt"

	"github.com/catfish-index/catfish/bench/harness"
)

// Several servers of a key-value service: each has a card and Threads threads, and a key is of
// one thread of all. Collocated servers share the cards of the clients' machines, the first
// that of the first machine; calls of a machine to its own server pass its card, too.

// maxKVServers of one service: threads are groups of a placement.Placer, which has 64.
const maxKVServers = 64

func (c *KVConfig) validateHosts() error {
	if p := c.Scheme.Pointers; p != nil {
		if err := p.fits(c); err != nil {
			return err
		}
		if !c.Scheme.Written {
			return fmt.Errorf("%w: pointers come with written answers", harness.ErrConfig)
		}
	}
	if c.Servers <= 1 && !c.Collocated {
		return nil
	}
	if c.Scheme.Secondaries > 0 || c.Scheme.Locks || c.Scheme.Waits {
		return fmt.Errorf("%w: %d servers, collocated %v, with secondaries, locks or waiting threads, want one server on a machine of its own",
			harness.ErrConfig, c.Servers, c.Collocated)
	}
	return nil
}

// makeHosts makes the cards of the servers. The threads of a card are all that start
// operations on it.
func (s *kvSim) makeHosts() {
	for i := range max(s.cfg.Servers, 1) {
		if s.cfg.Collocated && i < len(s.machines) {
			s.machines[i].posts.most += s.cfg.Threads
			s.hosts = append(s.hosts, &s.machines[i])
			continue
		}
		c := newCard(s.cl.Server.NIC, s.cfg.Threads)
		s.hosts = append(s.hosts, &c)
	}
}

// host is the card of a thread's server.
func (s *kvSim) host(thread uint32) *card { return s.hosts[int(thread)/s.cfg.Threads] }

// poster numbers a thread among all that may post on a card, after the clients.
func (s *kvSim) poster(thread uint32) uint32 { return uint32(len(s.clients)) + thread }

// sent is what all servers' cards have sent.
func (s *kvSim) sent() (bytes float64) {
	for _, c := range s.hosts {
		bytes += c.sent
	}
	return bytes
}
