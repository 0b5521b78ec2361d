package replica

import (
	"errors"
	"fmt"
	"time"
)

// primary is the state of a primary.
//
//	Propose -> Append and Send a Frame to all --+--> Synced here ------+
//	                                            |                      +-> commit: Publish, Reply
//	                                            '--> Ack of all in sync +
//
//	Tick    -> Send a Frame (beacon) to all -------> Ack of all in sync --> Grant: a later lease
//	                                         '-----> none for Lease: Change, without it
type primary struct {
	start   uint64 // its first entry
	peers   []peer // all other members
	lease   Lease
	waiting []waiter // by revision
	moving  bool     // the group is handed over, to
	to      ID
	giveUp  time.Duration // or not, if it takes longer
}

// peer is what the primary knows of another member.
type peer struct {
	id      ID
	session uint64 // 0: it has sent no Hello in this term
	joined  bool   // it has acknowledged in this session
	sent    uint64 // the last entry that was sent
	// Acknowledged in this session.
	received uint64
	durable  uint64
	echo     time.Duration // the latest beacon that it has heard in this term
	since    time.Duration // from when on it is expected to hear one
	joining  bool          // commits and leases wait for it, so that it can be added
}

// waiter is a write that is answered when it is committed.
type waiter struct{ client, number, revision uint64 }

// Errors of writes that are refused: they are not in the log.
var (
	ErrNotPrimary  = errors.New("replica: not the primary")
	ErrNotReady    = errors.New("replica: the primary is starting")
	ErrHandingOver = errors.New("replica: the primary is handing over")
	ErrTooFew      = errors.New("replica: too few members in sync")
)

// ErrUnknownOutcome: the write may be in the log, or not, now or later.
var ErrUnknownOutcome = errors.New("replica: outcome unknown")

// lead begins this member's term as the primary.
func (m *Member) lead() {
	m.role = leading
	m.primary = primary{start: m.end + 1}
	m.regroup()
	if m.keeps(termEntry) {
		m.append([]Entry{{Term: m.cfg.Term}})
	} else {
		m.start = m.end
	}
	m.progress()
}

// regroup makes peers those of the config.
func (m *Member) regroup() {
	var peers []peer
	for id := ID(0); id < MaxMembers; id++ {
		if !(m.cfg.Members | m.cfg.InSync).Has(id) || id == m.id {
			continue
		}
		if p := m.peer(id); p != nil {
			peers = append(peers, *p)
		} else {
			peers = append(peers, peer{id: id, echo: never, since: m.now})
		}
	}
	m.peers = peers
}

func (m *Member) peer(id ID) *peer {
	for i := range m.peers {
		if m.peers[i].id == id {
			return &m.peers[i]
		}
	}
	return nil
}

// resign ends being the primary, if this member is one.
func (m *Member) resign() {
	if m.role != leading {
		return
	}
	err := ErrUnknownOutcome
	if !m.keeps(unknownOutcome) {
		err = ErrNotPrimary
	}
	for _, w := range m.waiting {
		m.do(Reply{Client: w.client, Number: w.number, Err: err})
	}
	m.primary = primary{}
	m.do(Grant{})
}

// propose numbers writes.
func (m *Member) propose(entries []Entry) {
	if err := m.refusal(); err != nil {
		for _, e := range entries {
			m.do(Reply{Client: e.Client, Number: e.Number, Err: err})
		}
		return
	}
	batch := make([]Entry, 0, len(entries))
	for _, e := range entries {
		next := m.end + uint64(len(batch)) + 1
		revision, known := m.results.find(e.Client, e.Number)
		switch {
		case e.Client == 0 || !m.keeps(resultsLooked):
			batch, revision = append(batch, e), next
		case !known:
			m.do(Reply{Client: e.Client, Number: e.Number, Err: ErrUnknownOutcome})
			continue
		case revision == 0:
			batch, revision = append(batch, e), next
		case revision <= m.committed || !m.keeps(resultsCommitted):
			m.do(Reply{Client: e.Client, Number: e.Number, Revision: revision})
			continue
		}
		m.waiting = append(m.waiting, waiter{e.Client, e.Number, revision})
	}
	m.append(batch)
	m.postAll()
	if !m.keeps(publishAfterAcks) {
		m.publish(m.end)
	}
	m.progress()
}

// refusal says why this member takes no writes now, nil if it does.
func (m *Member) refusal() error {
	if m.role != leading {
		return fmt.Errorf("%w: member %d is, in term %d", ErrNotPrimary, m.cfg.Primary, m.cfg.Term)
	}
	if m.committed < m.start {
		return ErrNotReady
	}
	if m.moving && (m.asked.open || m.now >= m.lease.Until) && m.keeps(handOverStops) {
		return fmt.Errorf("%w: to member %d", ErrHandingOver, m.to)
	}
	if n := m.inSync().Len(); n < m.cfg.MinInSync && m.keeps(minInSync) {
		return fmt.Errorf("%w: %d, want %d", ErrTooFew, n, m.cfg.MinInSync)
	}
	return nil
}

func (m *Member) inSync() Set {
	if !m.keeps(minOfInSync) {
		return m.cfg.Members
	}
	return m.cfg.InSync
}

// postAll sends each follower a frame.
func (m *Member) postAll() {
	for i := range m.peers {
		if p := &m.peers[i]; p.session != 0 {
			m.post(p, false)
		}
	}
}

// post sends a follower the entries that it was not sent, or a beacon alone.
func (m *Member) post(p *peer, start bool) {
	m.do(Send{p.id, &Frame{Term: m.cfg.Term, Session: p.session, Start: start,
		Prev: p.sent, Last: m.end, Committed: m.committed, Sent: m.now}})
	p.sent = m.end
}

// welcome begins a session with a follower.
func (m *Member) welcome(from ID, h *Hello) {
	p := m.peer(from)
	if m.role != leading || h.Term != m.cfg.Term || p == nil || h.Session == p.session && p.joined {
		return
	}
	agreed := m.terms.agree(m.end, h.History, h.End)
	if !m.keeps(undoByTerms) {
		agreed = min(m.end, h.End)
	}
	p.session, p.joined = h.Session, false
	if m.keeps(sessionForgets) {
		p.received, p.durable = 0, 0
	}
	if agreed < m.trimmed {
		p.session = 0
		m.do(Send{from, &CopyFirst{h.Term, h.Session}})
		return
	}
	p.sent = agreed
	m.post(p, true)
}

// acked is an acknowledgement.
func (m *Member) acked(from ID, a *Ack) {
	p := m.peer(from)
	if m.role != leading || p == nil {
		return
	}
	if (a.Term != m.cfg.Term || a.Session != p.session) && m.keeps(ackOfSession) {
		return
	}
	p.joined = true
	p.received, p.durable = max(p.received, a.Received), max(p.durable, a.Durable)
	p.echo = max(p.echo, a.Echo)
	if !m.keeps(leaseFromSent) {
		p.echo = m.now
	}
	m.progress()
}

// progress does what has become possible.
func (m *Member) progress() {
	m.commit()
	m.extend()
	m.handOn()
	m.admit()
}
