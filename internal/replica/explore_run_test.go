package replica

import (
	"slices"
	"time"
)

// boot starts a member from its disk.
func (w *world) boot(id ID, clean bool) {
	n := w.change(id)
	n.old, n.memory = n.memory, memory{published: n.committed}
	n.boots++
	n.clean = false
	n.log = slices.Clone(n.disk)
	h, rs := describe(n.log)
	m, err := New(w.clock(id), Start{
		ID: id, Boot: n.boots << 32, Options: w.options(), End: uint64(len(n.log)), Committed: n.committed,
		History: h, Results: rs, Clean: clean,
	})
	if err != nil {
		panic(err)
	}
	m.without = w.without
	n.m = m
	if w.world != fencedBoots {
		w.asks[id] = nil
	}
	w.late[id] = nil
}

func (w *world) options() Options {
	return Options{Lease: time.Duration(w.lease), Grace: time.Duration(w.grace), Lag: 1}
}

// describe makes of a log what a member needs to know of it.
func describe(log []byte) (History, Results) {
	var h History
	rs := Results{}
	for i, id := range log {
		e := entryOf(id)
		if e.Term != 0 {
			h = append(h, Span{e.Term, uint64(i + 1)})
		}
		rs.add(e, uint64(i+1), 0)
	}
	return h, rs
}

// step lets a member make a step, and carries out its actions.
func (w *world) step(id ID, e Event) {
	n := w.change(id)
	switch e.(type) {
	case Tick, Learned, Synced:
	default:
		n.m.results = n.m.results.clone()
	}
	for _, a := range n.m.Step(w.clock(id), e, nil) {
		w.carryOut(id, n, a)
	}
	if !w.slow.Has(id) && n.m != nil && int(n.m.durable) < len(n.log) {
		w.sync(id)
	}
	w.hurry()
}

// hurry delivers the messages that take no time.
func (w *world) hurry() {
	n := ID(w.size())
	for a := range n {
		for b := range n {
			if !w.prompt.Has(a) && !w.prompt.Has(b) {
				continue
			}
			for _, k := range []kind{deliverHello, deliverFrame, deliverAck} {
				if mv := (move{k, a, b}); w.enabled(mv) {
					w.apply(mv) // which hurries with the rest
					return
				}
			}
		}
	}
}

// prune forgets what will make no difference, as long as the rules are kept that say so.
func (w *world) prune() {
	for id := range w.asks {
		if c := w.asks[id]; c != nil && c.Version < w.cfg.Version {
			w.asks[id] = nil // refused
		}
	}
	if w.without == ackOfSession || w.without == frameOfTerm {
		return
	}
	for a := range w.size() {
		for b := range w.size() {
			to := w.nodes[b].m
			if ack := w.acks[a][b]; ack != nil {
				if to == nil || !to.Leading() || ack.Term != to.cfg.Term || ack.Session != to.peer(ID(a)).session {
					w.acks[a][b] = nil
				}
			}
			if h := w.hellos[a][b]; h != nil {
				if to == nil || h.Term < to.cfg.Term || h.Term == to.cfg.Term && !to.Leading() {
					w.hellos[a][b] = nil
				}
			}
			q := w.frames[a][b]
			for len(q) > 0 {
				if f, ok := q[0].(*Frame); ok && to != nil && f.Term == to.cfg.Term && f.Session == to.session {
					break
				}
				q = q[1:]
			}
			w.frames[a][b] = q
		}
	}
}

func (w *world) sync(id ID) {
	n := w.change(id)
	n.disk, n.committed = n.log, n.published
	w.step(id, Synced{uint64(len(n.disk))})
}

func (w *world) carryOut(id ID, n *node, a Action) {
	switch a := a.(type) {
	case Append:
		if int(a.First) != len(n.log)+1 {
			w.fail("member %d appends entry %d to a log of %d", id, a.First, len(n.log))
			return
		}
		n.log = slices.Clip(n.log)
		for _, e := range a.Entries {
			if e.Term == 0 {
				n.log = append(n.log, byte(e.Number))
				continue
			}
			n.log = append(n.log, termEntryOf(e.Term))
			w.leads(id, n, e.Term)
		}
	case Truncate:
		if a.After < n.published {
			w.fail("member %d takes back %d, and has published %d", id, a.After+1, n.published)
			return
		}
		n.log = n.log[:a.After]
	case Publish:
		n.published = a.Through
		w.publishes(id, n)
	case Grant:
		n.lease = a.Lease
	case Send:
		w.send(id, n, a)
	case Reply:
		w.reply(id, a)
	case Change:
		c := a.Config
		w.asks[id] = &c
	}
}

// send puts a message on its way. A beacon is not sent after a frame that is on its
// way; acknowledgements and hellos replace the one before.
func (w *world) send(id ID, n *node, s Send) {
	q := w.frames[id][s.To]
	switch msg := s.Message.(type) {
	case *Hello:
		w.hellos[id][s.To] = msg
	case *Ack:
		w.acks[id][s.To] = msg
	case *Frame:
		if msg.Prev > msg.Last || int(msg.Last) > len(n.log) {
			w.fail("member %d sends entries %d to %d of %d", id, msg.Prev+1, msg.Last, len(n.log))
			return
		}
		if msg.Start && slices.ContainsFunc(q, func(sent Message) bool {
			f, ok := sent.(*Frame)
			return ok && f.Start && f.Term == msg.Term && f.Session == msg.Session
		}) {
			return // that one, and what comes after it, have the same
		}
		if w.split && msg.Last > msg.Prev+1 {
			for msg.Prev < msg.Last {
				one := *msg
				one.Last = msg.Prev + 1
				w.send(id, n, Send{s.To, &one})
				msg.Start, msg.Prev = false, one.Last
			}
			return
		}
		for _, e := range n.log[msg.Prev:msg.Last] {
			msg.Entries = append(msg.Entries, entryOf(e))
		}
		q = w.frames[id][s.To]
		if len(q) == 0 || len(msg.Entries) > 0 || msg.Start {
			w.frames[id][s.To] = append(slices.Clip(q), msg)
		}
	case *CopyFirst:
		if len(q) == 0 {
			w.frames[id][s.To] = append(slices.Clip(q), msg)
		}
	}
}

// begin makes a world in which member 0 is the primary of term 2 and all that are in
// sync follow it.
func begin(l *limits) *world {
	w := &world{limits: l}
	members := SetOf()
	for id := range ID(l.nodes) {
		members = members.With(id)
	}
	w.cfg = Config{Version: 1, Term: 1, Primary: 0, InSync: l.inSync, Members: members, MinInSync: l.min, Level: l.level}
	for id := range ID(l.nodes) {
		w.nodes[id] = &node{}
		if l.inSync.Has(id) {
			w.boot(id, false)
		}
	}
	asGiven := *l
	l.terms, l.versions, l.still = 2, 2, 0
	w.setTimes(stable, stable)
	w.settle(func() bool {
		for id := range ID(l.nodes) {
			if m := w.nodes[id].m; m != nil && (m.committed != m.end || m.doubt || m.asked.open) {
				return false
			}
		}
		return w.nodes[0].m.Leading()
	})
	*l = asGiven
	w.setTimes(l.lease, l.grace)
	n := w.change(0)
	n.lease.Until = w.clock(0) + n.m.opts.Lease
	n.m.lease = n.lease
	w.left.crashes, w.left.losses, w.left.moves = int8(l.crashes), int8(l.losses), int8(l.moves)
	w.left.failures, w.left.reads, w.left.late = int8(l.failures), int8(l.reads), int8(l.late)
	w.floor = n.published
	for id := range ID(l.nodes) {
		if !w.alive(id) {
			w.boot(id, false)
		}
	}
	w.mine = 0
	return w
}

// stable is a lease, and a grace, in which nothing is removed or promoted if all
// messages come in the unit of time in which they are sent.
const stable = 4

// setTimes changes the options of all members.
func (w *world) setTimes(lease, grace int) {
	w.lease, w.grace = lease, grace
	for id := range ID(w.size()) {
		if w.nodes[id].m != nil {
			w.change(id).m.opts = w.options()
		}
	}
}

// settle lets everything happen soon and in order, until done says so. It reports
// whether it did.
func (w *world) settle(done func() bool) bool {
	for range 12 * (w.lease + w.grace) {
		for range 4 {
			for id := range ID(w.size()) {
				for _, k := range []kind{serve, learn, deliverHello, deliverFrame, deliverAck, syncDisk, takeCopy} {
					for to := range ID(w.size()) {
						for mv := (move{k, id, to}); w.enabled(mv); {
							w.apply(mv)
							if w.wrong != nil {
								return false
							}
						}
					}
				}
			}
		}
		if done() {
			return true
		}
		w.apply(move{kind: advance})
		for id := range ID(w.size()) {
			w.apply(move{tick, id, 0})
		}
	}
	return false
}

func (w *world) size() int { return w.limits.nodes }
