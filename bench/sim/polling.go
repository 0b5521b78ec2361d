package sim

// Polling threads that outnumber the cores: each core's threads run for a
// slice in rotation, and spin through it with or without a request. So a
// request waits for its thread's slice. That is the collapse of the paper's
// figure 7: the server is fully busy, mostly with empty polls.
//
//	core   | thread 0 | thread 28 | thread 56 | thread 0 | ...
//	         a slice    a slice     a slice
//
// Threads stay on their cores: number i on core i modulo the cores, as evenly
// as a scheduler would distribute them.

// turn is the state of one core.
type turn struct {
	has uint32 // the running thread
}

// share divides the cores' time among the threads.
func (v *server) share(s *sim, host int) {
	k := &s.cl.Server
	v.turns = make([]turn, k.Cores)
	for c := range v.turns {
		v.turns[c].has = uint32(c)
		// Slices of different cores are not in step.
		s.schedule(s.rng.Int64N(ns(k.SliceNs)), evSlice, uint32(host*k.Cores+c), 0)
	}
}

// found: a request arrived at a thread, which sees it if it has the core and
// is idle.
func (s *sim) found(at uint32) {
	h, v := s.worker(at)
	own := int(at) % s.workers
	if !v.doing && h.server.turns[own%s.cl.Server.Cores].has == uint32(own) {
		s.take(at, 0)
	}
}

// take begins the next request, if there is one, after a delay.
func (s *sim) take(at uint32, delay int64) {
	h, v := s.worker(at)
	if v.inbox.len() == 0 {
		return
	}
	v.serves = v.inbox.pop()
	h.server.waiting--
	v.doing = true
	v.left = ns(s.work(&s.calls[v.serves]))
	s.n.busyNs += float64(v.left)
	h.heartbeats.busyNs += float64(v.left)
	s.resume(at, delay)
}

// resume continues the request that a thread has begun.
func (s *sim) resume(at uint32, delay int64) {
	_, v := s.worker(at)
	v.ends = s.now + delay + v.left
	v.gen++
	s.schedule(v.ends, evPolled, at, v.gen)
}

// polled: a request is done, unless its thread lost the core before.
func (s *sim) polled(at uint32, gen uint16) {
	_, v := s.worker(at)
	if !v.doing || v.gen != gen {
		return
	}
	v.doing = false
	s.respond(v.serves)
	s.take(at, 0)
}

// slice gives the core to the next of its threads.
func (s *sim) slice(core uint32) {
	k := &s.cl.Server
	h, own := int(core)/k.Cores, core%uint32(k.Cores)
	first := uint32(h * s.workers) // of the host's threads
	t := &s.hosts[h].server.turns[own]
	_, v := s.worker(first + t.has)
	if v.doing {
		v.left = max(v.ends-s.now, 0)
		v.gen++ // Its evPolled is obsolete.
	}
	if t.has += uint32(k.Cores); int(t.has) >= s.workers {
		t.has = own
	}
	delay := ns(k.SwitchNs)
	if _, v = s.worker(first + t.has); v.doing {
		s.resume(first+t.has, delay)
	} else {
		s.take(first+t.has, delay)
	}
	s.schedule(s.now+delay+ns(k.SliceNs), evSlice, core, 0)
}
