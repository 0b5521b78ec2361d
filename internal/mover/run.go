package mover

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
)

const (
	// turnPause is between looks at moves under way, beside changes of the map.
	turnPause = 10 * time.Millisecond
	// lagEntries is how many entries of its log the destination may lack when the source freezes
	// slots: it copies them while they are frozen.
	lagEntries = 1024
	// fresh is how old the destination's last question may be.
	fresh = time.Second
	// dropAfter is when no lease of a secondary holds any more that has not heard of the move.
	dropAfter = mapLease + 100*time.Millisecond
	// frozenMost is how long slots take no writes for a destination that does not answer.
	frozenMost = 5 * time.Second
)

// Run carries out moves until ctx is done.
func (m *Mover) Run(ctx context.Context) {
	defer m.rest()
	t := time.NewTimer(0)
	defer t.Stop()
	said := ""
	for ctx.Err() == nil {
		busy, err := m.turn(ctx)
		if err != nil && !again(err) && !errors.Is(err, errGone) && !errors.Is(err, cluster.ErrDeposed) && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			m.log.Warn("a move cannot go on", "error", err)
		}
		if busy || err != nil {
			t.Reset(turnPause)
		}
		select {
		case <-m.wake:
		case <-t.C:
		case <-ctx.Done():
		}
	}
}

// rest ends what only a primary does.
func (m *Mover) rest() {
	for _, s := range m.sessions {
		s.cancel()
	}
	for _, s := range m.sessions {
		<-s.done
	}
	m.sessions = nil
	m.endJob()
	clear(m.decided)
	clear(m.frozen)
	m.ready = 0
}

// turn does what can be done now. busy: there is more to do, or a move is under way.
func (m *Mover) turn(ctx context.Context) (busy bool, err error) {
	is, me := m.now()
	if is == nil {
		return false, nil
	}
	term, leads := m.o.Leading()
	if term != m.term {
		m.rest()
		// The group's key has changed: no step of the term before can be made any more.
		if err := m.stop(func() { m.stopped = stopped{} }); err != nil {
			return true, err
		}
		m.term = term
	}
	if !leads {
		if m.led {
			m.rest()
		}
		m.led = false
		return m.tidy(is, me, false), nil
	}
	m.led = true
	m.sessions = slices.DeleteFunc(m.sessions, func(s *session) bool {
		select {
		case <-s.done:
			return true
		default:
			return false
		}
	})
	err = errors.Join(m.give(ctx, is, me), m.take(ctx, is, me))
	return m.tidy(is, me, true), err
}

// give does the source's part.
func (m *Mover) give(ctx context.Context, is *placement.Map, me placement.Index) error {
	var by [placement.Drop + 1][]placement.Part
	for _, v := range is.Moves {
		if isSlot(v.Part) && v.From == me {
			by[v.Step] = append(by[v.Step], v.Part)
		}
	}
	if len(by[placement.CatchUp]) == 0 {
		m.ready = 0
	} else if m.ready == 0 {
		m.ready = m.Leases.sent() // They are short by now.
	}
	var errs []error
	now := m.Leases.Now()
	if ends := m.caughtUp(by[placement.CatchUp]); len(ends) > 0 && now >= m.ready {
		errs = append(errs, m.freeze(ctx, setOf(ends)))
	}
	if parts := by[placement.Wait]; len(parts) > 0 && now >= m.Leases.sent() { // None is sent meanwhile.
		errs = append(errs, m.stepStopped(ctx, setOf(parts), true, placement.Wait, (*placement.Map).Decide))
	}
	errs = append(errs, m.thaw(ctx, now, by[placement.CatchUp], by[placement.Freeze]))
	m.drop(now, by[placement.Drop])
	return errors.Join(errs...)
}

// thaw undoes moves whose destination does not end them.
func (m *Mover) thaw(ctx context.Context, now time.Duration, catchUp, freeze []placement.Part) error {
	m.mu.Lock()
	stopped := m.stopped.frozen
	m.mu.Unlock()
	parts := slices.DeleteFunc(slices.Clone(catchUp), func(p placement.Part) bool { return !stopped.Has(p.Slot) })
	late := m.frozen.due(now, frozenMost, append(parts, freeze...))
	if len(late) == 0 {
		return nil
	}
	set := setOf(late)
	m.log.Warn("moves are undone: their slots take no writes, and their destination does not answer", "slots", len(late))
	var errs []error
	for _, at := range []placement.Step{placement.CatchUp, placement.Freeze} {
		if err := m.stepAll(ctx, set, at, (*placement.Map).Undo); !errors.Is(err, errGone) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// since is when slots came to a step.
type since map[uint16]time.Duration

// due returns the parts at a step that have been there for some time. It forgets all others.
func (s since) due(now, long time.Duration, parts []placement.Part) (due []placement.Part) {
	is := setOf(parts)
	for slot := range s {
		if !is.Has(slot) {
			delete(s, slot)
		}
	}
	for _, p := range parts {
		if _, known := s[p.Slot]; !known {
			s[p.Slot] = now
		}
		if now >= s[p.Slot]+long {
			due = append(due, p)
		}
	}
	return due
}

// caughtUp returns the parts of whose entries the destination lacks few.
func (m *Mover) caughtUp(parts []placement.Part) (ends []placement.Part) {
	end := m.o.Store.Revision()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range parts {
		if g := m.progress[p.Slot]; g.through+lagEntries >= end && time.Since(g.at) < fresh {
			ends = append(ends, p)
		}
	}
	return ends
}

func setOf(parts []placement.Part) (s store.SlotSet) {
	for _, p := range parts {
		s.Add(p.Slot)
	}
	return s
}

// freeze takes no more writes of slots.
func (m *Mover) freeze(ctx context.Context, set store.SlotSet) error {
	return m.stepStopped(ctx, set, false, placement.CatchUp, func(is *placement.Map, p placement.Part) (*placement.Map, error) {
		return is.Freeze(p, m.o.Store.Revision()) // of all that was taken
	})
}

// drop removes the data of parts that have another owner, once no lease leads to it.
func (m *Mover) drop(now time.Duration, parts []placement.Part) {
	due := m.decided.due(now, dropAfter, parts)
	if len(due) == 0 || m.job != nil {
		return
	}
	set := setOf(due)
	m.start(0, func(ctx context.Context, may func() error) error {
		n, err := m.o.Store.DropSlots(ctx, &set, may)
		for err == nil {
			err = m.stepAll(ctx, set, placement.Drop, (*placement.Map).Dropped)
			if err == nil {
				m.log.Info("slots were given away, and dropped", "slots", len(due), "ids", n)
				return nil
			}
			if again(err) && wait(ctx, turnPause) {
				err = nil
			}
		}
		return err
	})
}

// take does the destination's part.
func (m *Mover) take(ctx context.Context, is *placement.Map, me placement.Index) error {
	copying := map[string]bool{}
	var has store.SlotSet
	m.mu.Lock()
	for _, s := range m.sessions {
		for i, of := range s.set {
			has[i] |= of
		}
	}
	m.mu.Unlock()
	fresh := map[string]*store.SlotSet{}
	var again, undo store.SlotSet
	for _, v := range is.Moves {
		if !isSlot(v.Part) || v.To != me {
			continue
		}
		from := is.Groups[v.From].Name
		switch {
		case has.Has(v.Slot):
			copying[from] = copying[from] || v.Step == placement.Copy
		case v.Step == placement.Copy:
			if fresh[from] == nil {
				fresh[from] = new(store.SlotSet)
			}
			fresh[from].Add(v.Slot)
		case v.Step == placement.CatchUp:
			again.Add(v.Slot)
		case v.Step == placement.Freeze:
			undo.Add(v.Slot)
		}
	}
	for from, set := range fresh {
		if copying[from] {
			continue // One scan at a time of a source: each goes through all of its ids.
		}
		m.endJob() // It may drop what comes.
		ctx, cancel := context.WithCancel(ctx)
		s := &session{m: m, term: m.term, from: from, set: *set, cancel: cancel, done: make(chan struct{})}
		m.sessions = append(m.sessions, s)
		go s.run(ctx)
	}
	return errors.Join(
		m.redo(ctx, again, "they are copied again", placement.CatchUp, (*placement.Map).Recopy),
		m.redo(ctx, undo, "their moves are undone", placement.Freeze, (*placement.Map).Undo))
}

// redo ends what a primary before has done of moves. The map may be further than the one that was
// read: what is not at the step is left as it is.
func (m *Mover) redo(ctx context.Context, set store.SlotSet, what string, at placement.Step, f func(*placement.Map, placement.Part) (*placement.Map, error)) error {
	if set == (store.SlotSet{}) {
		return nil
	}
	err := m.stepAll(ctx, set, at, f)
	switch {
	case errors.Is(err, errGone):
		return nil
	case err == nil:
		m.log.Warn("this primary does not know how far slots were copied: "+what, "slots", set.Len())
	}
	return err
}
