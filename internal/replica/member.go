package replica

import (
	"slices"
	"time"
)

// Member is one member of a group. It is not safe for concurrent use.
type Member struct {
	id   ID
	opts Options
	now  time.Duration // of the event
	out  []Action

	role  role
	cfg   Config // the latest that was read in this boot, Version 0: none
	asked asked

	// The log: committed <= end, and durable <= end.
	end       uint64 // the last entry
	durable   uint64 // what the disk has
	committed uint64 // published here; all in-sync members have it
	trimmed   uint64 // up to here the log has no entries any more
	terms     History
	results   Results
	forgot    time.Duration // when clients were last forgotten

	follower
	primary

	without rule // for the explorer
}

// role is what a member does in the term of its config.
type role uint8

const (
	following role = iota // of cfg.Primary; also a member without a config
	leading               // it is cfg.Primary
	again                 // it was cfg.Primary in an earlier boot, and needs a term of its own
	copying               // its state is being replaced by a copy
	failed                // it does nothing more
)

// asked is a change that the store was asked for. Until a later config was read, its
// outcome is unknown.
type asked struct {
	open bool
	cfg  Config // with the version on which it is a change
}

// never is the time of what did not happen.
const never = time.Duration(-1 << 62)

// Start is what a member is started with.
type Start struct {
	ID      ID
	Boot    uint64 // random: no two sessions of a follower are the same
	Options Options

	// What its disk has.
	End       uint64
	Committed uint64 // some revision that was committed, published already
	Trimmed   uint64
	History   History
	Results   Results
	// Clean says that the member was stopped in order when it was not in doubt
	// (Member.Doubt), so that the disk has all that it acknowledged.
	Clean bool
}

// New returns a member without a config. It does nothing before one was read after it
// started (Learned): an earlier boot may have known of a later term.
// now is its clock, one that does not stop when the machine is suspended
// (CLOCK_BOOTTIME).
func New(now time.Duration, s Start) (*Member, error) {
	if err := s.Options.Validate(); err != nil {
		return nil, err
	}
	m := &Member{id: s.ID, opts: s.Options, end: s.End, durable: s.End, committed: s.Committed,
		trimmed: s.Trimmed, terms: slices.Clone(s.History)}
	m.keep(now, s.Results)
	m.follower = follower{session: s.Boot, heard: now, doubt: !s.Clean}
	return m, nil
}

// Step handles an event, and appends what to do to out. now is the member's clock, read
// after the event had happened: after the frame was in the ring, for instance. A time
// before that would let the grace of a candidate end too early. Actions may have the
// entries of the event.
func (m *Member) Step(now time.Duration, e Event, out []Action) []Action {
	m.now, m.out = now, out
	if m.role != failed {
		m.step(e)
	}
	out, m.out = m.out, nil
	return out
}

func (m *Member) step(e Event) {
	switch e := e.(type) {
	case Tick:
		m.tick()
	case Learned:
		m.learn(e.Config)
	case Receive:
		m.receive(e.From, e.Message)
	case Synced:
		m.synced(e.Through)
	case Failed:
		m.broken(e.Revision)
	case Trimmed:
		m.trimmed = max(m.trimmed, e.Through)
	case Copied:
		m.copied(e)
	case Propose:
		m.propose(e.Entries)
	case HandOver:
		m.handOver(e.To)
	}
}

func (m *Member) do(a Action) { m.out = append(m.out, a) }

func (m *Member) tick() {
	m.forget()
	switch {
	case m.cfg.Version == 0:
		m.do(Read{})
	case m.role == leading:
		m.postAll()
		m.removeSilent()
		m.progress()
	default:
		m.hello()
		m.promote()
	}
}

func (m *Member) receive(from ID, msg Message) {
	switch msg := msg.(type) {
	case *Hello:
		m.newer(msg.Term)
		m.welcome(from, msg)
	case *Ack:
		m.newer(msg.Term)
		m.acked(from, msg)
	case *Frame:
		m.newer(msg.Term)
		m.frame(from, msg)
	case *CopyFirst:
		m.newer(msg.Term)
		m.copyFirst(from, msg)
	}
}

// newer reads the config if there is a later term than this member's.
func (m *Member) newer(term uint64) {
	if term > m.cfg.Term {
		m.do(Read{})
	}
}

// append adds entries to the end of the log.
func (m *Member) append(entries []Entry) {
	if len(entries) == 0 {
		return
	}
	m.do(Append{First: m.end + 1, Entries: entries})
	for _, e := range entries {
		m.end++
		if e.Term != 0 {
			m.terms = append(slices.Clip(m.terms), Span{e.Term, m.end})
		}
		if m.role == leading || m.keeps(resultsAtAll) {
			m.results.add(e, m.end, m.now)
		}
	}
}

// publish commits up to a revision.
func (m *Member) publish(through uint64) {
	if through > m.committed {
		m.committed = through
		m.do(Publish{Through: through})
	}
}

func (m *Member) synced(through uint64) {
	m.durable = max(m.durable, min(through, m.end))
	if m.role == leading {
		m.progress()
		return
	}
	m.acknowledge()
	m.promote()
}

// broken ends this boot's part. The member may have lost what it acknowledged, so that it
// must not be promoted while it gets the entry again: it is silent, and is removed.
func (m *Member) broken(revision uint64) {
	if !m.keeps(failureEnds) {
		m.truncate(revision - 1)
		m.rejoin()
		return
	}
	m.resign()
	m.role = failed
}

// keep makes results those of a log that was read.
func (m *Member) keep(now time.Duration, rs Results) {
	if m.results = rs; rs == nil {
		m.results = Results{}
	}
	for _, c := range m.results {
		c.last = now
	}
}

// forget forgets clients without a write in Options.Forget. By then they do not repeat
// one.
func (m *Member) forget() {
	after := m.opts.Forget
	if after == 0 || m.now-m.forgot < after/8 {
		return
	}
	m.forgot = m.now
	for id, c := range m.results {
		if m.now-c.last >= after {
			delete(m.results, id)
		}
	}
}

// Lookup returns the revision of a write that the log has, 0 if it has none. known is
// false if it may have been forgotten: the outcome is unknown. Only the primary's
// answer counts, and only the result of Propose that it is committed.
func (m *Member) Lookup(client, number uint64) (revision uint64, known bool) {
	return m.results.find(client, number)
}

// Lease returns the latest lease, of term 0 if the member is not the primary.
// Lease.Covers says how to read with it.
func (m *Member) Lease() Lease { return m.lease }

// Config returns the latest config that was read. Version is 0 before the first.
func (m *Member) Config() Config { return m.cfg }

// Doubt reports whether an earlier boot may have acknowledged more than the log has. If so,
// the member may not be promoted, and is not Clean when it is stopped.
func (m *Member) Doubt() bool { return m.doubt }

// Leading reports whether the member is the primary of its config's term.
func (m *Member) Leading() bool { return m.role == leading }

// Status is where a member's log is.
type Status struct{ End, Durable, Committed uint64 }

// Status returns where the log is.
func (m *Member) Status() Status { return Status{m.end, m.durable, m.committed} }

// Peer is what the primary knows of another member.
type Peer struct {
	ID                ID
	Received, Durable uint64        // the last entries that it has acknowledged, 0: none in this term
	Heard             time.Duration // when the latest beacon was sent that it has answered; negative: none
}

// Peers appends the other members, if this one is the primary.
func (m *Member) Peers(to []Peer) []Peer {
	for i := range m.peers {
		p := &m.peers[i]
		to = append(to, Peer{p.id, p.received, p.durable, p.echo})
	}
	return to
}

// Moving reports whether the member is handing over.
func (m *Member) Moving() bool { return m.moving }
