package replica

import "time"

// follower is the state of a secondary or a learner.
//
//	              Learned: another primary, or a new term
//	                     |
//	                     v         Frame with Start: cut off what the primary lacks
//	  +-----------> Hello sent ---------------> joined: append, publish, acknowledge
//	  |                  ^                        |        |
//	  | CopyFirst,       '------------------------'        | no beacon for Grace, in sync,
//	  | out of the set        a frame is missing           | no doubt, log durable
//	  v                                                    v
//	copying                                         Change asked: refuses frames,
//	                                                until a later config was read
type follower struct {
	session uint64
	joined  bool          // the session's first frame has come
	asking  time.Duration // when the last Hello was sent
	heard   time.Duration // when the last frame came, or the time to wait for one began
	echo    time.Duration // Sent of the latest frame
	// doubt says that an earlier boot may have acknowledged more than the log has.
	// Then this member may not be promoted.
	doubt bool
}

// follow begins to follow the primary of a new term.
func (m *Member) follow() {
	m.heard = m.now
	m.rejoin()
}

// rejoin begins a session.
func (m *Member) rejoin() {
	m.session++
	m.joined, m.echo, m.asking = false, never, never
	m.hello()
}

// hello is repeated until the first frame has come. A session in which no frame comes for
// a grace ends, and another begins.
func (m *Member) hello() {
	if m.role == following && m.joined && m.now-m.heard >= m.opts.Grace && !m.refuses() {
		m.rejoin()
		return
	}
	if m.role == following && !m.joined && !m.refuses() && m.now-m.asking >= m.opts.Lease {
		m.asking = m.now
		m.do(Send{m.cfg.Primary, &Hello{m.cfg.Term, m.session, m.end, m.terms}})
	}
}

// refuses reports whether this member may be the primary already. It hears no beacon
// then, and acknowledges nothing: otherwise the old primary would extend its lease, and
// commit entries that this member's disk does not have.
func (m *Member) refuses() bool {
	return m.asked.open && m.keeps(candidateRefuses)
}

// frame is a frame of the primary.
func (m *Member) frame(from ID, f *Frame) {
	if f.Term < m.cfg.Term && m.keeps(frameOfTerm) {
		m.do(Send{from, &Ack{Term: m.cfg.Term}}) // it reads the config
		return
	}
	mine := f.Term == m.cfg.Term && f.Session == m.session && from == m.cfg.Primary
	if m.role != following || m.refuses() || !mine && m.keeps(frameOfTerm) {
		return
	}
	switch {
	case f.Prev > m.end && m.keeps(noGap):
		m.rejoin()
		return
	case !m.joined && !f.Start && m.keeps(startFirst):
		return // the first frame was lost, and Hello is repeated
	case !m.joined && f.Prev < m.committed:
		m.copyAnew() // a member was promoted that lacked what was committed
		return
	case !m.joined:
		m.undo(f.Prev)
		m.joined = true
	}
	m.heard, m.echo = m.now, max(m.echo, f.Sent)
	if has := m.end - min(f.Prev, m.end); has < uint64(len(f.Entries)) {
		m.append(f.Entries[has:])
	}
	caughtUp := m.end >= f.Committed || !m.keeps(doubtUntilCaughtUp)
	if known := m.terms.term(f.Committed) == f.Term || !m.keeps(doubtUntilKnown); caughtUp && known {
		// The primary knows what was committed, as its first entry is. It counts
		// this session's acknowledgements only, so that what is committed from now on
		// is here, too.
		m.doubt = false
	}
	if m.keeps(publishCommitted) {
		m.publish(min(f.Committed, m.end))
	} else {
		m.publish(m.end)
	}
	m.acknowledge()
}

// undo takes back what the primary does not have.
func (m *Member) undo(after uint64) {
	if !m.keeps(undoTail) {
		return
	}
	m.truncate(after)
}

func (m *Member) truncate(after uint64) {
	if after >= m.end {
		return
	}
	m.do(Truncate{after})
	m.end = after
	if m.keeps(undoDurable) {
		m.durable = min(m.durable, after)
	}
	m.terms = m.terms.cut(after)
	if m.keeps(undoResults) {
		m.results.cut(after)
	}
}

// acknowledge says what this member has.
func (m *Member) acknowledge() {
	if m.role != following || !m.joined || m.refuses() {
		return
	}
	a := &Ack{m.cfg.Term, m.session, m.end, m.durable, m.committed, m.echo}
	if !m.keeps(durableIsSynced) {
		a.Durable = m.end
	}
	m.do(Send{m.cfg.Primary, a})
}

// copyFirst is the primary's answer that it does not have the entries that this member
// needs.
func (m *Member) copyFirst(from ID, c *CopyFirst) {
	if m.role == following && c.Term == m.cfg.Term && c.Session == m.session && from == m.cfg.Primary {
		m.copyAnew()
	}
}

// copyAnew replaces the state by the primary's. A member that is in sync does not: it
// would not have what it acknowledged. The primary removes it, since it hears nothing.
func (m *Member) copyAnew() {
	if m.cfg.InSync.Has(m.id) {
		m.do(Read{})
		return
	}
	m.role = copying
	m.do(Copy{m.cfg.Primary})
}

func (m *Member) copied(c Copied) {
	if m.role != copying {
		return
	}
	m.role = following
	m.end, m.durable, m.committed, m.trimmed = c.End, c.End, c.End, c.End
	m.terms = c.History
	m.keep(m.now, c.Results)
	m.rejoin()
}

// Heard returns the latest beacon of a secondary's present session: when the primary sent
// it, by its own clock, and when the last one came. ok is false if this member is no in-sync
// secondary, or has no session.
func (m *Member) Heard() (sent, came time.Duration, ok bool) {
	return m.echo, m.heard, m.role == following && m.joined && !m.refuses() && m.cfg.InSync.Has(m.id)
}
