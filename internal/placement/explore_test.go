package placement

import (
	"fmt"
	"slices"
	"testing"
)

// All interleavings of a move in a small case: a slot moves from group 0 to group 1 while
// clients write and read it, the source gets another primary and the old one does not
// notice, transactions arrive late or not at all, and the move is undone and begun again.
// Each rule of this package, left out once, loses a write or returns a stale read.

var moved = Part{Slot: 3}

// rules that are left out.
type rules struct {
	key, stop, until, lease, read, later, clean, undo bool
}

// seen is a map, of the slot alone.
type seen struct {
	version, until uint8
	moves          bool
	step           Step
	owner          Index
}

func (s seen) at(step Step) bool { return s.moves && s.step == step }

// real returns the Map that says this.
func (s seen) real(base *Map) *Map {
	m := *base
	m.Version, m.Slots[moved.Slot] = uint64(s.version), s.owner
	if s.moves {
		m.Moves = []Move{{Part: moved, To: 1, Step: s.step, Until: uint64(s.until)}}
	}
	return &m
}

func seenOf(m *Map) seen {
	s := seen{version: uint8(m.Version), owner: m.Slots[moved.Slot]}
	if len(m.Moves) > 0 {
		s.moves, s.step, s.until = true, m.Moves[0].Step, uint8(m.Moves[0].Until)
	}
	return s
}

// change is a transaction that was sent.
type change struct {
	name            name
	version, number uint8 // compared, of Freeze
}

// name of a transaction's function.
type name uint8

const (
	none name = iota
	copied
	freeze
	received
	decide
	dropped
	undo
)

// primary of a group.
type primary struct {
	ready   bool // has read a map
	map_    seen
	sent    change
	waits   uint8 // for a later version than that of a transaction that says so
	leased  bool  // its memory may be read
	written uint8 // that it knows of
}

// state of all.
type state struct {
	m      seen
	boot   uint8      // of the source's present primary
	source [2]primary // by boot
	dest   primary
	copies uint8 // of how many writes the destination has
	place  uint8 // in the source's log, up to which it believes to have all
	copied uint8 // version at which it copied
	later  bool  // the destination has acknowledged a write
	again  bool  // the move was undone
}

// moveWorld explores.
type moveWorld struct {
	base   *Map
	out    rules
	states map[state]bool
	todo   []state
	wrong  string
	ended  bool
}

func (w *moveWorld) reach(s state) {
	if !w.states[s] {
		w.states[s] = true
		w.todo = append(w.todo, s)
	}
}

// writes that the source has acknowledged: the latest primary knows all.
func (s *state) writes() uint8 { return s.source[s.boot].written }

func explore(t *testing.T, out rules) *moveWorld {
	m, err := New(groupsOf(1, 1))
	m = must(t, m, err)
	m.Slots[moved.Slot] = 0
	m, err = m.Begin(Move{Part: moved, From: 0, To: 1})
	m = must(t, m, err)
	w := &moveWorld{base: must(t, m, m.Validate()), out: out, states: map[state]bool{}}
	w.base.Moves = nil
	start := state{m: seen{version: 1, moves: true}}
	start.source[0] = primary{ready: true, map_: start.m, leased: true}
	start.dest = primary{ready: true, map_: start.m}
	w.reach(start)
	for len(w.todo) > 0 && w.wrong == "" {
		s := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		w.ended = w.ended || (s.m.owner == 1 && !s.m.moves && s.later)
		w.steps(s)
	}
	return w
}

func (w *moveWorld) steps(s state) {
	if s.boot == 0 { // Another primary takes over when the old one's lease has ended.
		n := s
		n.boot = 1
		n.source[0].leased = false
		n.source[1] = primary{written: s.writes(), ready: w.out.read, map_: seen{moves: true, step: CatchUp}}
		w.reach(n)
	}
	for i := range s.boot + 1 {
		w.source(s, i)
	}
	w.destination(s)
	for _, of := range []func(*state) *primary{
		func(s *state) *primary { return &s.source[0] }, func(s *state) *primary { return &s.source[1] }, func(s *state) *primary { return &s.dest },
	} {
		w.deliver(s, of)
	}
}

// source is what a primary of the source may do, also one that is no primary any more.
func (w *moveWorld) source(s state, i uint8) {
	p := s.source[i]
	do := func(change func(n *state, p *primary)) {
		n := s
		change(&n, &n.source[i])
		w.reach(n)
	}
	send := func(name name) {
		if p.sent.name == none {
			do(func(_ *state, p *primary) {
				p.sent = change{name, p.map_.version, p.written}
				p.waits = p.map_.version
			})
		}
	}
	if p.map_ != s.m || !p.ready || (w.out.later && p.waits > 0) {
		do(func(n *state, p *primary) {
			p.ready, p.map_ = true, n.m
			if n.m.version > p.waits || w.out.later {
				p.waits = 0
				p.leased = i == n.boot && n.m.owner == 0 && (!n.m.at(Wait) || w.out.lease)
			}
		})
	}
	if !p.ready {
		return
	}
	// A deposed primary commits nothing: it lacks its followers.
	stopped := p.waits > 0 && !w.out.stop
	if i == s.boot && p.map_.owner == 0 && !(p.map_.moves && p.map_.step.Frozen()) && !stopped && p.written < 2 {
		if s.m.owner == 1 {
			w.wrong = "the source takes a write of what the destination has"
		}
		do(func(_ *state, p *primary) { p.written++ })
	}
	switch {
	case p.map_.at(CatchUp):
		send(freeze)
	case p.map_.at(Wait) && p.leased && !w.out.lease:
		do(func(_ *state, p *primary) { p.leased = false })
	case p.map_.at(Wait):
		send(decide)
	case p.map_.at(Drop):
		send(dropped)
		if w.out.undo {
			send(undo)
		}
	}
	if p.map_.moves && p.map_.step.Undoable() && !s.again {
		send(undo)
	}
}

// destination is what the primary of the destination may do.
func (w *moveWorld) destination(s state) {
	p := s.dest
	do := func(change func(n *state, p *primary)) {
		n := s
		change(&n, &n.dest)
		w.reach(n)
	}
	send := func(name name) {
		if p.sent.name == none {
			do(func(_ *state, p *primary) { p.sent = change{name: name, version: p.map_.version} })
		}
	}
	if p.map_ != s.m {
		do(func(n *state, p *primary) { p.map_ = n.m })
	}
	if p.map_.at(Copy) {
		if s.copied != p.map_.version {
			do(func(n *state, p *primary) {
				n.copied = p.map_.version
				if !w.out.clean || s.copied == 0 {
					n.copies = n.writes()
				}
				n.place = n.writes()
			})
		} else {
			send(copied)
		}
	}
	follows := p.map_.at(CatchUp) || p.map_.at(Freeze)
	if follows && s.place < s.writes() && s.m.owner == 0 {
		do(func(n *state, _ *primary) {
			n.copies++
			n.place++
		})
	}
	if p.map_.at(Freeze) && (s.place >= p.map_.until || w.out.until) {
		send(received)
	}
	if p.map_.owner == 1 && !s.later {
		do(func(n *state, _ *primary) { n.later = true })
	}
}

// deliver makes a transaction, or loses it.
func (w *moveWorld) deliver(s state, of func(*state) *primary) {
	sent := of(&s).sent
	if sent.name == none {
		return
	}
	of(&s).sent = change{}
	w.reach(s)
	deposed := s.boot == 1 && of(&s) == &s.source[0]
	if sent.version != s.m.version || (deposed && !w.out.key) {
		return // which is the same as lost
	}
	m := s.m.real(w.base)
	n, err := [...]func() (*Map, error){
		copied:   func() (*Map, error) { return m.Copied(moved) },
		freeze:   func() (*Map, error) { return m.Freeze(moved, uint64(sent.number)) },
		received: func() (*Map, error) { return m.Received(moved) },
		decide:   func() (*Map, error) { return m.Decide(moved) },
		dropped:  func() (*Map, error) { return m.Dropped(moved) },
		undo: func() (*Map, error) {
			if w.out.undo && m.Moves[0].Step == Drop {
				back := seenOf(m.next())
				back.moves, back.owner = false, 0
				return back.real(w.base), nil
			}
			n, err := m.Undo(moved)
			if err != nil {
				return nil, err
			}
			n, err = n.Begin(Move{Part: moved, From: 0, To: 1})
			return n, err
		},
	}[sent.name]()
	if err != nil {
		w.wrong = fmt.Sprintf("%d at %+v: %v", sent.name, s.m, err)
		return
	}
	s.m = seenOf(n)
	s.again = s.again || sent.name == undo
	switch {
	case sent.name == decide && s.copies < s.writes():
		w.wrong = fmt.Sprintf("%d of %d writes are at the destination", s.copies, s.writes())
	case sent.name == undo && s.later:
		w.wrong = "the destination's write is lost"
	}
	w.reach(s)
}

// stale reports a state in which the source's memory is read after a write of the
// destination.
func (w *moveWorld) stale() string {
	for s := range w.states {
		if s.later && slices.ContainsFunc(s.source[:], func(p primary) bool { return p.leased }) {
			return fmt.Sprintf("stale: %+v", s)
		}
	}
	return ""
}

func TestExplore(t *testing.T) {
	w := explore(t, rules{})
	if w.wrong != "" || w.stale() != "" || !w.ended {
		t.Fatalf("%s, %s, ended: %v", w.wrong, w.stale(), w.ended)
	}
	t.Logf("%d states", len(w.states))
	for name, out := range map[string]rules{
		"transactions do not compare the group's key":        {key: true},
		"the source takes writes after it asks for Freeze":   {stop: true},
		"the destination does not wait for the rest":         {until: true},
		"the source does not wait for its lease":             {lease: true},
		"a new primary takes writes before it reads the map": {read: true},
		"the source continues without a later version":       {later: true},
		"a copy begins with what an undone move has left":    {clean: true},
		"a decided move is undone":                           {undo: true},
	} {
		w := explore(t, out)
		if w.wrong == "" {
			w.wrong = w.stale()
		}
		if w.wrong == "" {
			t.Errorf("%s: not caught in %d states", name, len(w.states))
			continue
		}
		t.Logf("%s: %s", name, w.wrong)
	}
}
