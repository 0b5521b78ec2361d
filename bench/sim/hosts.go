package sim

import "github.com/catfish-index/catfish/internal/policy"

// Several groups, each a server with its part of the data (groups.go): a caller's request goes
// to the groups that it must ask, at the same time, and ends with the last answer. So a caller
// has a call for each group, and a connection to each:
//
//	caller 0            caller 1
//	call 0 .. call N-1  call N .. call 2N-1      call i is of group i mod N
//
// Each call decides by its own policy, and gets a core of its machine by itself.

// host is one server.
type host struct {
	w          *Workload
	card       card
	server     server
	heartbeats heartbeats
}

// caller is one request under way, in its calls.
type caller struct {
	out     int    // calls that have not ended
	began   int64  // the first of them
	results uint32 // of those that have ended
}

// caller is the number of a call's caller.
func (s *sim) caller(id uint32) int { return int(id) / len(s.hosts) }

func (s *sim) host(c *call) *host { return &s.hosts[c.host] }

// node is one of the nodes of a call's search.
func (s *sim) node(c *call, at uint16) *node {
	return &s.hosts[c.host].w.nodes[c.search.first+uint32(at)]
}

// worker is one of those of all hosts, numbered host by host, as their cores are.
func (s *sim) worker(at uint32) (*host, *worker) {
	h := &s.hosts[int(at)/s.workers]
	return h, &h.server.workers[int(at)%s.workers]
}

// begin makes the calls of a caller's next request want cores, in all groups that it asks.
func (s *sim) begin(first uint32) {
	k := &s.callers[s.caller(first)]
	asked := 0
	for i := range s.hosts {
		id := first + uint32(i)
		c := &s.calls[id]
		if s.hosts[i].w.searches[c.next].nodes == 0 {
			c.advance(len(s.w.searches)) // Another group's.
			continue
		}
		asked++
		c.phase = starting
		s.wake(id)
	}
	k.begin(asked)
}

// begin notes that a request has begun: none of its calls has ended.
func (k *caller) begin(asked int) { k.out, k.began, k.results = asked, 1<<63-1, 0 }

// advance goes to the next search.
func (c *call) advance(searches int) {
	if c.next++; int(c.next) == searches {
		c.next = 0
	}
}

// ended notes the end of a call. It reports whether the whole request has ended. What ends in a
// caller's pause is none: a written answer that came after it was fetched.
func (k *caller) ended(c *call) bool {
	k.out--
	k.began = min(k.began, c.began)
	k.results += c.search.results
	return k.out == 0
}

// sent is what all servers' cards have sent.
func (s *sim) sent() (bytes float64) {
	for i := range s.hosts {
		bytes += s.hosts[i].card.sent
	}
	return bytes
}

// newGroups are the policies' groups of one machine: its clients form one process, with one
// engine for each server.
func newGroups(n int) []*policy.Group {
	all := make([]*policy.Group, n)
	for i := range all {
		all[i] = policy.NewGroup()
	}
	return all
}
