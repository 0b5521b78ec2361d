package replica

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"time"
)

// encoder writes what can make a difference.
type encoder struct {
	b    []byte
	w    *world
	base time.Duration // of the clock of the member that is encoded
	seed maphash.Seed
	set  bool
	// sessions of each follower that are somewhere in the world, rising. Only their
	// order counts.
	sessions [maxNodes][]uint64
}

// number collects the sessions.
func (e *encoder) number(w *world) {
	for id := range ID(w.size()) {
		e.sessions[id] = append(e.sessions[id][:0], 0)
	}
	for id := range ID(w.size()) {
		if m := w.nodes[id].m; m != nil {
			e.collect(id, m.session)
			for i := range m.peers {
				e.collect(m.peers[i].id, m.peers[i].session)
			}
		}
		for to := range ID(w.size()) {
			for _, msg := range w.frames[id][to] {
				e.collect(to, sessionOf(msg))
			}
			if h := w.hellos[id][to]; h != nil {
				e.collect(id, h.Session)
			}
			if a := w.acks[id][to]; a != nil {
				e.collect(id, a.Session)
			}
		}
	}
}

func sessionOf(msg Message) uint64 {
	if f, ok := msg.(*Frame); ok {
		return f.Session
	}
	return msg.(*CopyFirst).Session
}

func (e *encoder) collect(id ID, session uint64) {
	if i, ok := slices.BinarySearch(e.sessions[id], session); !ok {
		e.sessions[id] = slices.Insert(e.sessions[id], i, session)
	}
}

// session writes a session of a follower.
func (e *encoder) session(id ID, session uint64) {
	i, _ := slices.BinarySearch(e.sessions[id], session)
	e.b = append(e.b, byte(i))
}

func (e *encoder) hash(w *world) uint64 {
	if !e.set {
		e.seed, e.set = maphash.MakeSeed(), true
	}
	e.b, e.w = e.b[:0], w
	e.number(w)
	e.config(&w.cfg)
	for id := range ID(w.size()) {
		e.base = w.clock(id)
		e.u(e.nodeHash(id))
		if m := w.nodes[id].m; m != nil {
			e.session(id, m.session)
			for i := range m.peers {
				e.session(m.peers[i].id, m.peers[i].session)
			}
		}
		e.change(w.asks[id])
		e.change(w.late[id])
		for to := range ID(w.size()) {
			e.u(uint64(len(w.frames[id][to])))
			for _, msg := range w.frames[id][to] {
				e.session(to, sessionOf(msg))
				e.frame(msg)
			}
			if h := w.hellos[id][to]; e.is(h != nil) {
				e.session(id, h.Session)
				e.u(h.Term, h.End)
				e.history(h.History)
			}
			if a := w.acks[id][to]; e.is(a != nil) {
				e.base = w.clock(to)
				e.session(id, a.Session)
				e.u(a.Term, a.Received, a.Durable)
				e.time(a.Echo, w.lease)
				e.base = w.clock(id)
			}
		}
	}
	e.u(w.floor)
	e.b = append(e.b, w.seen...)
	for i := range w.writes {
		e.u(uint64(w.tried[i]), uint64(w.possible[i]), w.acked[i])
	}
	l := &w.left
	e.u(uint64(l.crashes), uint64(l.losses), uint64(l.moves), uint64(l.failures), uint64(l.reads), uint64(l.late))
	for _, l := range w.leaders {
		e.b = append(e.b, l[:]...)
	}
	if r := w.reader; e.is(r.phase != 0) {
		e.u(uint64(r.phase), uint64(r.of), r.boot, r.term, r.floor, r.value)
		e.is(r.ok)
	}
	return maphash.Bytes(e.seed, e.b)
}

func (e *encoder) u(vs ...uint64) {
	for _, v := range vs {
		e.b = binary.AppendUvarint(e.b, v)
	}
}

func (e *encoder) is(b bool) bool {
	if b {
		e.b = append(e.b, 1)
	} else {
		e.b = append(e.b, 0)
	}
	return b
}

// time writes how far a time is from now. What is past for longer than a lease or a
// grace, past, makes no difference any more.
func (e *encoder) time(t time.Duration, past int) {
	e.b = append(e.b, byte(max(t-e.base, -time.Duration(past))+64))
}

func (e *encoder) config(c *Config) {
	e.u(c.Version, c.Term, uint64(c.Primary), uint64(c.InSync), uint64(c.Members))
}

func (e *encoder) change(c *Config) {
	if e.is(c != nil) {
		e.config(c)
	}
}

func (e *encoder) history(h History) {
	e.u(uint64(len(h)))
	for _, s := range h {
		e.u(s.Term, s.First)
	}
}

func (e *encoder) results(rs Results) {
	c := rs[client]
	if e.is(c != nil) {
		e.u(uint64(len(c.Writes)))
		for _, r := range c.Writes {
			e.u(r.Number, r.Revision)
		}
	}
}

func (e *encoder) frame(msg Message) {
	f, ok := msg.(*Frame)
	if !e.is(ok) {
		c := msg.(*CopyFirst)
		e.u(c.Term)
		return
	}
	e.u(f.Term, f.Prev, f.Last, f.Committed)
	e.is(f.Start)
	e.time(f.Sent, e.w.lease)
	for _, entry := range f.Entries {
		e.u(entry.Term, entry.Number)
	}
}

// memory of a process that has ended counts until its lease ends.
func (e *encoder) memory(m memory, alive bool) {
	if e.is(alive || m.lease.Until > e.base || e.w.reader.phase != 0) {
		e.u(m.published, m.lease.Term)
		e.time(m.lease.Until, 0)
	}
}

// nodeHash returns the hash of a node. It is kept with nodes that do not change any more.
func (e *encoder) nodeHash(id ID) uint64 {
	w := e.w
	n := w.nodes[id]
	if !w.mine.Has(id) && n.hashed == w.now+1 && w.reader.phase == 0 {
		return n.hash
	}
	before := len(e.b)
	e.node(n)
	h := maphash.Bytes(e.seed, e.b[before:])
	e.b = e.b[:before]
	if w.mine.Has(id) && w.reader.phase == 0 {
		n.hash, n.hashed = h, w.now+1
	}
	return h
}

func (e *encoder) node(n *node) {
	e.u(n.boots, uint64(len(n.log)), uint64(len(n.disk)), n.committed)
	e.b = append(append(e.b, n.log...), n.disk...)
	e.is(n.clean)
	m := n.m
	e.memory(n.old, false)
	e.memory(n.memory, m != nil)
	if !e.is(m != nil) {
		return
	}
	e.u(uint64(m.role), m.end, m.durable, m.committed, m.trimmed)
	e.config(&m.cfg)
	if e.is(m.asked.open) {
		e.config(&m.asked.cfg)
	}
	e.history(m.terms)
	e.results(m.results)
	e.is(m.doubt)
	if m.role == following {
		if e.is(m.joined) {
			e.base = e.w.clock(m.cfg.Primary) // whose time the echo is
			e.time(m.echo, e.w.lease)
			e.base = e.w.clock(m.id)
		} else {
			e.time(m.asking, e.w.lease)
		}
	}
	if m.role != leading {
		e.time(m.heard, e.w.grace)
		return
	}
	e.u(m.start, uint64(len(m.waiting)))
	for _, w := range m.waiting {
		e.u(w.number, w.revision)
	}
	if e.is(m.moving) {
		e.u(uint64(m.to))
		e.time(m.giveUp, 0)
	}
	for i := range m.peers {
		p := &m.peers[i]
		e.u(uint64(p.id), p.sent, p.received, p.durable)
		e.is(p.joined)
		e.is(p.joining)
		e.time(p.echo, e.w.lease)
		e.time(max(p.since, p.echo), e.w.lease)
	}
}
