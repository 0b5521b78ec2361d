package sim

import (
	"github.com/catfish-index/catfish/fastmsg"
)

// server is the host with the tree: cores, and workers that run on them.
type server struct {
	cores   cores
	workers []worker
	turns   []turn // of the cores, when polling threads outnumber them
	waiting int    // requests that arrived and were not begun
	polling bool
}

// worker serves the requests of its connections, in order of arrival.
type worker struct {
	inbox  fifo
	serves uint32 // call
	state  workerState
	since  int64 // asleep since

	// Of a polling thread that shares a core:
	gen   uint16 // of its evPolled; another one is obsolete
	doing bool   // it has begun a request
	ends  int64  // end of the request, while it has the core
	left  int64  // its remaining work, while it has no core
}

type workerState uint8

const (
	asleep workerState = iota
	waking             // evWoken will come
	inLine             // wants a core
	serving
)

// ticker is the id that queues for a core to do a heartbeat's work.
const ticker = ^uint32(0)

func (v *server) init(s *sim, host int) {
	k := &s.cl.Server
	n := k.Workers
	if n == 0 {
		n = s.cfg.Clients
	}
	v.workers = make([]worker, n)
	v.cores.free = k.Cores
	v.polling = s.sch.Poll
	if v.polling && n > k.Cores {
		v.share(s, host)
	}
	for i := range v.workers {
		v.workers[i].since = -1 << 62
	}
}

// Bytes of the messages, as in package catfish: a header of package fastmsg,
// then for requests collection and limit (8) and a rectangle (32), for inserts
// an id more (8); answers have 40 for each object.
const (
	searchBytes  = fastmsg.HeaderBytes + 8 + 32
	insertBytes  = searchBytes + 8
	objectBytes  = 40
	nothingBytes = fastmsg.HeaderBytes
)

func (s *sim) requestBytes(c *call) float64 {
	if c.insert >= 0 {
		return insertBytes
	}
	return searchBytes
}

func (s *sim) answerBytes(c *call) float64 {
	if c.insert >= 0 {
		return nothingBytes
	}
	return fastmsg.HeaderBytes + objectBytes*float64(c.search.results)
}

// atServer: a request is at the server's card.
func (s *sim) atServer(id uint32) {
	c := &s.calls[id]
	if t := ns(s.host(c).card.serve(s.now, s.requestBytes(c))); t > s.now {
		s.schedule(t, evArrived, id, 0)
		return
	}
	s.arrived(id)
}

// arrived: a request is in the server's memory.
func (s *sim) arrived(id uint32) {
	at := s.calls[id].worker
	h, v := s.worker(at)
	v.inbox.push(id)
	h.server.waiting++
	s.fetchAsked(id)
	if h.server.turns != nil {
		s.found(at)
		return
	}
	if v.state != asleep {
		return
	}
	k := &s.cl.Server
	if h.server.polling || float64(s.now-v.since) < k.SpinNs {
		s.line(at)
		return
	}
	v.state = waking
	s.schedule(s.now+ns(k.WakeLatencyNs), evWoken, at, 0)
}

// line queues a worker for a core.
func (s *sim) line(at uint32) {
	h, v := s.worker(at)
	woke := v.state == waking
	v.state = inLine
	if woke {
		v.left = ns(s.cl.Server.WakeNs)
	}
	if h.server.cores.acquire(at) {
		s.granted(at, at/uint32(s.workers))
	}
}

// granted: a worker or the ticker got a core of a host.
func (s *sim) granted(at, host uint32) {
	if at == ticker {
		s.tick(host)
		return
	}
	_, v := s.worker(at)
	v.state = serving
	s.serve(at)
}

// serve begins the next request of a worker that has a core.
func (s *sim) serve(at uint32) {
	h, v := s.worker(at)
	v.serves = v.inbox.pop()
	h.server.waiting--
	takes := s.work(&s.calls[v.serves]) + float64(v.left)
	v.left = 0
	s.n.busyNs += takes
	h.heartbeats.busyNs += takes
	s.schedule(s.now+ns(takes), evServed, at, 0)
}

// work is the time of a request on the core that serves it. A worker that
// waits for the tree's writer keeps its core.
func (s *sim) work(c *call) float64 {
	k, v := &s.cl.Server, &s.host(c).server
	takes, answer := k.RequestNs, s.answerBytes(c)
	if s.sch.TCP {
		takes += s.cl.TCP.ServerNs + s.cl.TCP.ByteNs*(s.requestBytes(c)+answer)
	} else {
		takes += k.ByteNs * answer
	}
	if v.polling {
		takes += k.PollNs
	}
	if c.insert >= 0 {
		return takes + s.writer.hold(s, c.insert)
	}
	return takes + k.NodeNs*float64(c.search.nodes) + k.ResultNs*float64(c.search.results)
}

// served: a request is done: its answer goes out, and the worker serves the
// next request, or sleeps.
func (s *sim) served(at uint32) {
	h, v := s.worker(at)
	s.respond(v.serves)
	if v.inbox.len() > 0 {
		s.serve(at)
		return
	}
	v.state, v.since = asleep, s.now
	if next, ok := h.server.cores.release(); ok {
		s.granted(next, at/uint32(s.workers))
	}
}

// respond sends an answer, or leaves it to be fetched.
func (s *sim) respond(id uint32) {
	if s.left(id) {
		return
	}
	c := &s.calls[id]
	h, bytes := s.host(c), s.answerBytes(c)
	s.n.bytes += bytes
	s.n.outBytes += bytes
	h.heartbeats.bytes += bytes
	h.heartbeats.served++
	if s.fetches {
		s.schedule(ns(h.card.post(s.now)), evPosted, id, c.fetch.callNumber())
		return
	}
	s.schedule(ns(h.card.start(s.now, bytes))+int64(s.latency), evAnswer, id, 0)
}

// serverThreads is how many of the server's workers can run at once.
func (c *Cluster) serverThreads(clients int) int {
	n := c.Server.Workers
	if n == 0 {
		n = clients
	}
	return min(n, c.Server.Cores)
}
