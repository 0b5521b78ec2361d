package sim

// kvThread is a thread of the server with a core of its own.
type kvThread struct {
	inbox   fifo
	serves  uint32 // client
	call    uint16 // of the client
	answer  int    // bytes
	idle    bool
	since   int64 // idle since
	stalled int64 // the kernel has its core until then
	owed    int64 // that the kernel took from the current work
	calls   uint64
	acked   fifo // clients whose PUTs all secondaries have, and that have no answer yet
}

// arrive: a request is in its slot.
func (s *kvSim) arrive(id uint32) {
	at := s.clients[id].thread
	t := &s.threads[at]
	t.inbox.push(id)
	if !t.idle {
		return
	}
	t.idle = false
	k := &s.cl.Server
	if s.cfg.Scheme.Events && float64(s.now-t.since) >= k.SpinNs {
		s.n.busyNs += k.WakeNs
		s.schedule(s.now+ns(k.WakeLatencyNs+k.WakeNs), kvWoken, at, 0)
		return
	}
	s.look(at)
}

// look begins the next request; the thread was idle.
func (s *kvSim) look(at uint32) {
	t := &s.threads[at]
	s.work(at, max(t.stalled-s.now, 0))
}

// work begins the next request, after a delay.
func (s *kvSim) work(at uint32, delay int64) {
	t := &s.threads[at]
	t.serves = t.inbox.pop()
	c := &s.clients[t.serves]
	t.call, t.answer = c.call, c.answerBytes()
	if len(s.replicas) > 0 && !c.get {
		s.log(at, delay)
		return
	}
	k, costs := &s.cl.Server, &s.cfg.Costs
	takes := k.PollNs + float64(k.ByteNs*float64(c.requestBytes()+t.answer))
	switch {
	case len(s.dispatchers) > 0:
		takes = s.handNs() + float64(k.ByteNs*float64(t.answer))
	case s.cfg.Scheme.TwoSided:
		takes += s.receiveNs(s.host(at), s.poster(at))
	}
	hold := costs.GetLockNs
	if c.get {
		takes += costs.GetNs
	} else {
		takes, hold = takes+costs.PutNs, costs.PutLockNs
	}
	if s.cfg.Scheme.Locks {
		from := float64(s.now+delay) + takes
		takes += s.locks[s.instance(at)].pass(from, hold) - from
	}
	s.n.busyNs += takes
	s.schedule(s.now+delay+ns(takes), kvDone, at, 0)
}

// late reports whether the kernel took time from the work that should end now;
// if so, e comes again.
func (s *kvSim) late(at uint32, e kind) bool {
	t := &s.threads[at]
	if t.owed == 0 {
		return false
	}
	s.schedule(s.now+t.owed, e, at, 0)
	t.owed = 0
	return true
}

// done: a request is answered: the answer is in its slot, or goes out.
func (s *kvSim) done(at uint32) {
	if s.late(at, kvDone) {
		return
	}
	t := &s.threads[at]
	c := &s.clients[t.serves]
	c.ready = true
	s.keep(c)
	if !c.wants {
		s.freeNow(at)
		return
	}
	switch {
	case len(s.replicas) == 0 || c.get:
		s.send(at, 0)
	case s.replicated(at):
		s.send(at, s.collectNs())
	}
}

// send posts an answer, after other work.
func (s *kvSim) send(at uint32, after float64) {
	takes := after + s.cl.Client.PostNs
	if s.doorbellLocked(at) {
		takes += s.host(at).posts.move(s.poster(at))
	}
	s.n.busyNs += takes
	s.schedule(s.now+ns(takes), kvReply, at, 0)
}

// doorbellLocked reports whether the thread's answer is posted under the doorbell's lock.
func (s *kvSim) doorbellLocked(at uint32) bool {
	return s.cfg.Scheme.Inlines == 0 || s.threads[at].answer <= s.cfg.Scheme.Inlines
}

// reply: a written answer is at the server's card.
func (s *kvSim) reply(at uint32) {
	if s.late(at, kvReply) {
		return
	}
	t := &s.threads[at]
	s.n.written++
	s.n.posts++
	card := s.host(at)
	start := card.start
	if !s.doorbellLocked(at) {
		start = card.startAlone
	}
	out := ns(start(s.now, float64(t.answer))) + s.far
	s.schedule(out, kvReplied, t.serves, t.call)
	if !s.cfg.Scheme.Waits {
		// The thread holds the doorbell's lock until the card has taken the
		// operation.
		s.schedule(ns(card.out.free), kvFree, at, 0)
		return
	}
	// The acknowledgement leaves when the other card has the answer, which has
	// no queue: few operations reach a client.
	s.schedule(out+ns(card.inNs)+s.far, kvReplyBack, at, 0)
}

// replyBack: the acknowledgement of an answer has come.
func (s *kvSim) replyBack(at uint32) {
	s.schedule(ns(s.host(at).receive(s.now, ackBytes)+s.cl.Client.CompletionNs), kvFree, at, 0)
}

func (s *kvSim) free(at uint32) {
	if !s.late(at, kvFree) {
		s.freeNow(at)
	}
}

// freeNow: a thread looks for the next request.
func (s *kvSim) freeNow(at uint32) {
	t := &s.threads[at]
	if t.acked.len() > 0 {
		s.answerAcked(at, 0)
		return
	}
	if t.inbox.len() > 0 {
		s.work(at, 0)
		return
	}
	t.idle, t.since = true, s.now
}

// tick: the kernel takes a thread's core for a while.
func (s *kvSim) tick(at uint32) {
	t := &s.threads[at]
	takes := int64(s.cfg.Costs.TickNs)
	if t.idle {
		t.stalled = s.now + takes
	} else {
		t.owed += takes
	}
	s.schedule(s.now+int64(1e9/s.cfg.Costs.TicksPerS), kvTick, at, 0)
}
