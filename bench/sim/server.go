package sim

import (
	"github.com/catfish-index/catfish/fastmsg"
)

// server is the host with the tree: cores, and workers that run on them.
type server struct {
	cores    cores
	workers  []worker
	turns    []turn // of the cores, when polling threads outnumber them
	waiting  int    // requests that arrived and were not begun
	polling  bool
	slowdown float64 // the factor of crowding on a request's work
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

func (v *server) init(s *sim) {
	k := &s.cl.Server
	n := k.Workers
	if n == 0 {
		n = s.cfg.Clients
	}
	v.workers = make([]worker, n)
	v.cores.free = k.Cores
	v.polling = s.sch.Poll
	v.slowdown = 1
	if v.polling && n > k.Cores {
		v.share(s, n)
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
	if t := ns(s.card.serve(s.now, s.requestBytes(&s.calls[id]))); t > s.now {
		s.schedule(t, evArrived, id, 0)
		return
	}
	s.arrived(id)
}

// arrived: a request is in the server's memory.
func (s *sim) arrived(id uint32) {
	at := s.calls[id].worker
	v := &s.server.workers[at]
	v.inbox.push(id)
	s.server.waiting++
	s.fetchAsked(id)
	if s.server.turns != nil {
		s.found(at)
		return
	}
	if v.state != asleep {
		return
	}
	k := &s.cl.Server
	if s.server.polling || float64(s.now-v.since) < k.SpinNs {
		s.line(at)
		return
	}
	v.state = waking
	s.schedule(s.now+ns(k.WakeLatencyNs), evWoken, at, 0)
}

// line queues a worker for a core.
func (s *sim) line(at uint32) {
	v := &s.server.workers[at]
	woke := v.state == waking
	v.state = inLine
	if woke {
		v.left = ns(s.cl.Server.WakeNs)
	}
	if s.server.cores.acquire(at) {
		s.granted(at)
	}
}

// granted: a worker or the ticker got a core of the server.
func (s *sim) granted(at uint32) {
	if at == ticker {
		s.tick()
		return
	}
	s.server.workers[at].state = serving
	s.serve(at)
}

// serve begins the next request of a worker that has a core.
func (s *sim) serve(at uint32) {
	v := &s.server.workers[at]
	v.serves = v.inbox.pop()
	s.server.waiting--
	takes := s.work(&s.calls[v.serves]) + float64(v.left)
	v.left = 0
	s.n.busyNs += takes
	s.heartbeats.busyNs += takes
	s.schedule(s.now+ns(takes), evServed, at, 0)
}

// work is the time of a request on the core that serves it. A worker that
// waits for the tree's writer keeps its core.
func (s *sim) work(c *call) float64 {
	k := &s.cl.Server
	takes, answer := k.RequestNs, s.answerBytes(c)
	if s.sch.TCP {
		takes += s.cl.TCP.ServerNs + s.cl.TCP.ByteNs*(s.requestBytes(c)+answer)
	} else {
		takes += k.ByteNs * answer
	}
	if s.server.polling {
		takes += k.PollNs
	}
	if c.insert >= 0 {
		return takes*s.server.slowdown + s.writer.hold(s, c.insert)
	}
	takes += k.NodeNs*float64(c.search.nodes) + k.ResultNs*float64(c.search.results)
	return takes * s.server.slowdown
}

// served: a request is done: its answer goes out, and the worker serves the
// next request, or sleeps.
func (s *sim) served(at uint32) {
	v := &s.server.workers[at]
	s.respond(v.serves)
	if v.inbox.len() > 0 {
		s.serve(at)
		return
	}
	v.state, v.since = asleep, s.now
	if next, ok := s.server.cores.release(); ok {
		s.granted(next)
	}
}

// respond sends an answer, or leaves it to be fetched.
func (s *sim) respond(id uint32) {
	if s.left(id) {
		return
	}
	bytes := s.answerBytes(&s.calls[id])
	s.n.bytes += bytes
	s.n.outBytes += bytes
	s.heartbeats.bytes += bytes
	s.heartbeats.served++
	if s.fetches {
		s.schedule(ns(s.card.post(s.now)), evPosted, id, s.calls[id].fetch.callNumber())
		return
	}
	s.schedule(ns(s.card.start(s.now, bytes))+int64(s.latency), evAnswer, id, 0)
}

// serverThreads is how many of the server's workers can run at once.
func (c *Cluster) serverThreads(clients int) int {
	n := c.Server.Workers
	if n == 0 {
		n = clients
	}
	return min(n, c.Server.Cores)
}
