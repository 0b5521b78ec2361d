package replica

// Changes of the config. A member asks for one at a time, and holds its outcome for
// unknown until it has read a config of a later version: then the change was made, or
// never will be. Which of the two does not matter: the config says what holds.

// ask asks the store to change the config.
func (m *Member) ask(c Config) {
	m.asked = asked{true, c}
	m.do(Change{c})
	if !m.keeps(outcomeAwaited) {
		c.Version++
		m.learn(c)
	}
}

// learn takes over a config that was read.
func (m *Member) learn(c Config) {
	if c.Version <= m.cfg.Version && m.keeps(configRises) || c.Version == m.cfg.Version {
		return
	}
	old := m.cfg
	m.cfg, m.asked = c, asked{}
	if c.Term == old.Term {
		if m.role == leading {
			m.regroup()
			m.progress()
		}
		return
	}
	m.resign()
	first := old.Version == 0
	if first && (c.Level == Durable || c.Primary == m.id) {
		// A primary's disk has all that was committed, and that it acknowledged
		// before it was one (promote, handOn).
		m.doubt = false
	}
	switch {
	case m.role == copying:
	case c.Primary == m.id && !first:
		m.lead()
	case c.Primary == m.id && !m.keeps(bootOfTerm):
		m.lead()
	case c.Primary == m.id:
		m.role, m.heard = again, m.now
	default:
		m.role = following
		m.follow()
	}
}

// promote asks to be the primary, if there seems to be none.
func (m *Member) promote() {
	c := m.cfg
	grace := m.opts.Grace
	switch {
	case !m.keeps(graceOfLease):
		grace = m.opts.Lease - 1
	case m.role == again && !m.keeps(graceOfBoot):
		grace = 0
	}
	if m.role != following && m.role != again || m.asked.open || m.now-m.heard < grace ||
		!c.InSync.Has(m.id) && m.keeps(promoteInSync) || m.doubt && m.keeps(promoteSure) {
		return
	}
	if m.durable < m.end && m.keeps(promoteSynced) {
		m.do(Sync{}) // and then again
		return
	}
	if c.Primary != m.id {
		c.InSync = c.InSync.Without(c.Primary).With(m.id)
	}
	c.Term, c.Primary = c.Term+1, m.id
	m.ask(c)
}

// removeSilent asks to remove secondaries that have heard no beacon for a lease.
// What waits for them is committed when that was done, not before.
func (m *Member) removeSilent() {
	c := m.cfg
	for i := range m.peers {
		p := &m.peers[i]
		if m.now-max(p.echo, p.since) < m.opts.Lease {
			continue
		}
		p.joining = false
		c.InSync = c.InSync.Without(p.id)
	}
	if !m.asked.open && c.InSync != m.cfg.InSync {
		m.ask(c)
	}
}

// admit adds learners that have caught up, when this member knows itself what is
// committed: after its first entry. Before it asks, commits and leases wait for
// the learner: for commits, because it may be promoted as soon as the store has the
// change; for leases, because it counts its grace from the last beacon that it heard,
// and a longer lease may have been granted before.
func (m *Member) admit() {
	if m.moving || m.committed < m.start && m.keeps(learnerAfterStart) {
		return
	}
	for i := range m.peers {
		p := &m.peers[i]
		if m.cfg.InSync.Has(p.id) || !p.joined || m.asked.open && m.asked.cfg.InSync.Has(p.id) {
			p.joining = false // it counts without that
			continue
		}
		alive := m.now-p.echo < m.opts.Lease
		p.joining = alive && (p.joining || m.has(p)+m.opts.Lag >= m.committed)
		caughtUp := m.has(p) >= m.committed || !m.keeps(learnerCaughtUp)
		covered := p.echo+m.opts.Lease >= m.lease.Until || !m.keeps(learnerCovered)
		if p.joining && caughtUp && covered && !m.asked.open {
			c := m.cfg
			c.InSync = c.InSync.With(p.id)
			m.ask(c)
			p.joining = false
		}
	}
}

// handOver begins to make another member the primary. It may be a learner, which has
// everything by then.
//
//	HandOver -> the lease is not extended, writes are taken
//	         -> the lease has ended: no more writes; all have all, the new one on its disk
//	         -> Change -> Learned: this member follows
//
// The wait for the lease matters if this member crashes when the other one leads, and
// acknowledges as a secondary, while its old memory is still believed.
func (m *Member) handOver(to ID) {
	if m.role != leading || m.moving || m.peer(to) == nil {
		return
	}
	m.moving, m.to, m.giveUp = true, to, max(m.now, m.lease.Until)+m.opts.Lease
	m.progress()
}

// handOn takes the next step of handOver, or gives it up.
func (m *Member) handOn() {
	if !m.moving || m.asked.open {
		return
	}
	p := m.peer(m.to)
	if p == nil || m.now >= m.giveUp {
		m.moving = false
		m.extend()
		return
	}
	if m.now < m.lease.Until && m.keeps(handOverWaits) {
		return
	}
	if m.keeps(handOverSynced) && (m.committed < m.end || p.durable < m.end) {
		return
	}
	c := m.cfg
	c.Term, c.Primary, c.InSync = c.Term+1, m.to, c.InSync.With(m.to)
	m.ask(c)
}
