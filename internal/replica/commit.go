package replica

// has returns how much of the log counts as a peer's.
func (m *Member) has(p *peer) uint64 {
	if m.cfg.Level == Durable && m.keeps(ackOfLevel) {
		return p.durable
	}
	return p.received
}

// counted returns the members that commits and leases wait for: those in sync in any
// config that the store may have, and those that are about to be.
func (m *Member) counted() Set {
	s := m.cfg.InSync
	if !m.keeps(askedCounted) {
		return s
	}
	if m.asked.open {
		s |= m.asked.cfg.InSync
	}
	for i := range m.peers {
		if m.peers[i].joining {
			s = s.With(m.peers[i].id)
		}
	}
	if m.asked.open && !m.keeps(removedFirst) {
		s = m.asked.cfg.InSync
	}
	return s
}

// commit publishes and answers what all in-sync members have.
func (m *Member) commit() {
	r := m.durable
	if !m.keeps(ownSync) {
		r = m.end
	}
	counted, most := m.counted(), uint64(0)
	for i := range m.peers {
		p := &m.peers[i]
		if !counted.Has(p.id) {
			continue
		}
		most = max(most, m.has(p))
		if m.keeps(acksOfAll) {
			r = min(r, m.has(p))
		}
	}
	if !m.keeps(acksOfAll) && counted.Len() > 1 {
		r = min(r, most)
	}
	few := m.inSync().Len() < m.cfg.MinInSync && m.keeps(minInSync)
	if few {
		r = min(r, m.start) // earlier primaries' entries are published, no more
	}
	m.publish(r)
	n := 0
	for ; n < len(m.waiting) && m.waiting[n].revision <= m.committed && !few; n++ {
		w := m.waiting[n]
		m.do(Reply{Client: w.client, Number: w.number, Revision: w.revision})
	}
	m.waiting = m.waiting[n:]
}

// extend makes the lease as late as it may be. Before the first entry of the term is
// committed there is none: what the primary before answered may be unpublished here.
func (m *Member) extend() {
	if m.committed < m.start && m.keeps(leaseAfterStart) || m.moving && m.keeps(leaseEnds) {
		return
	}
	until, latest, others := m.now+m.opts.Lease, never, 0
	counted := m.counted()
	for i := range m.peers {
		if p := &m.peers[i]; counted.Has(p.id) {
			others++
			latest = max(latest, p.echo)
			if m.keeps(leaseOfAll) {
				until = min(until, p.echo+m.opts.Lease)
			}
		}
	}
	if !m.keeps(leaseOfAll) && others > 0 {
		until = latest + m.opts.Lease
	}
	if others == 0 && !m.keeps(leaseAlone) {
		until = -never
	}
	if until > m.lease.Until {
		m.lease = Lease{m.cfg.Term, until}
		m.do(Grant{m.lease})
	}
}
