package mover

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/placement"
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
		if v.From == me {
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
	errs = append(errs, m.drop(is, now, by[placement.Drop]), m.refuse(ctx, slices.Concat(by[placement.Copy], by[placement.CatchUp])))
	return errors.Join(errs...)
}

// refuse undoes moves of boxes that are in memory alone.
func (m *Mover) refuse(ctx context.Context, parts []placement.Part) (err error) {
	for _, p := range parts {
		if p.Collection == "" {
			continue
		}
		why := m.o.Store.MovesBoxes(p.Collection)
		if why == nil {
			continue
		}
		m.log.Warn("a move is undone", "part", p.String(), "error", why)
		for _, at := range []placement.Step{placement.Copy, placement.CatchUp} {
			if failed := m.stepAll(ctx, setOf([]placement.Part{p}), at, (*placement.Map).Undo); !errors.Is(failed, errGone) {
				err = errors.Join(err, failed)
			}
		}
	}
	return err
}

// thaw undoes moves whose destination does not end them.
func (m *Mover) thaw(ctx context.Context, now time.Duration, catchUp, freeze []placement.Part) error {
	m.mu.Lock()
	stopped := m.stopped.frozen
	m.mu.Unlock()
	parts := slices.DeleteFunc(slices.Clone(catchUp), func(p placement.Part) bool { return !stopped[p] })
	late := m.frozen.due(now, frozenMost, append(parts, freeze...))
	if len(late) == 0 {
		return nil
	}
	set := setOf(late)
	m.log.Warn("moves are undone: their parts take no writes, and their destination does not answer", "parts", len(late))
	var errs []error
	for _, at := range []placement.Step{placement.CatchUp, placement.Freeze} {
		if err := m.stepAll(ctx, set, at, (*placement.Map).Undo); !errors.Is(err, errGone) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// since is when slots came to a step.
type since map[placement.Part]time.Duration

// due returns the parts at a step that have been there for some time. It forgets all others.
func (s since) due(now, long time.Duration, parts []placement.Part) (due []placement.Part) {
	is := setOf(parts)
	for p := range s {
		if !is[p] {
			delete(s, p)
		}
	}
	for _, p := range parts {
		if _, known := s[p]; !known {
			s[p] = now
		}
		if now >= s[p]+long {
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
		if g := m.progress[p]; g.through+lagEntries >= end && time.Since(g.at) < fresh {
			ends = append(ends, p)
		}
	}
	return ends
}

// freeze takes no more writes of slots.
func (m *Mover) freeze(ctx context.Context, set parts) error {
	return m.stepStopped(ctx, set, false, placement.CatchUp, func(is *placement.Map, p placement.Part) (*placement.Map, error) {
		return is.Freeze(p, m.o.Store.Revision()) // of all that was taken
	})
}

// drop removes the data of parts that have another owner, once no lease leads to it.
func (m *Mover) drop(is *placement.Map, now time.Duration, parts []placement.Part) error {
	due := m.decided.due(now, dropAfter, parts)
	if len(due) == 0 || m.job != nil {
		return nil
	}
	set := setOf(due)
	of, err := set.of(is)
	if err != nil {
		return err
	}
	m.start(0, func(ctx context.Context, may func() error) error {
		n, err := m.o.Store.DropSlots(ctx, &of, may)
		for err == nil {
			err = m.stepAll(ctx, set, placement.Drop, (*placement.Map).Dropped)
			if err == nil {
				m.log.Info("parts were given away, and dropped", "parts", len(due), "ids", n)
				return nil
			}
			if again(err) && wait(ctx, turnPause) {
				err = nil
			}
		}
		return err
	})
	return nil
}

// take does the destination's part.
func (m *Mover) take(ctx context.Context, is *placement.Map, me placement.Index) error {
	copying := map[string]bool{}
	var has parts
	m.mu.Lock()
	for _, s := range m.sessions {
		has = has.with(s.set)
	}
	m.mu.Unlock()
	fresh := map[string]parts{}
	again, undo := parts{}, parts{}
	for _, v := range is.Moves {
		if v.To != me {
			continue
		}
		from := is.Groups[v.From].Name
		switch {
		case has[v.Part]:
			copying[from] = copying[from] || v.Step == placement.Copy
		case v.Step == placement.Copy:
			if fresh[from] == nil {
				fresh[from] = parts{}
			}
			fresh[from][v.Part] = true
		case v.Step == placement.CatchUp:
			again[v.Part] = true
		case v.Step == placement.Freeze:
			undo[v.Part] = true
		}
	}
	for from, set := range fresh {
		if copying[from] {
			continue // One scan at a time of a source: each goes through all of its ids.
		}
		m.endJob() // It may drop what comes.
		ctx, cancel := context.WithCancel(ctx)
		s := &session{m: m, term: m.term, from: from, set: set, cancel: cancel, done: make(chan struct{})}
		m.sessions = append(m.sessions, s)
		go s.run(ctx)
	}
	return errors.Join(
		m.redo(ctx, again, "they are copied again", placement.CatchUp, (*placement.Map).Recopy),
		m.redo(ctx, undo, "their moves are undone", placement.Freeze, (*placement.Map).Undo))
}

// redo ends what a primary before has done of moves. The map may be further than the one that was
// read: what is not at the step is left as it is.
func (m *Mover) redo(ctx context.Context, set parts, what string, at placement.Step, f func(*placement.Map, placement.Part) (*placement.Map, error)) error {
	if len(set) == 0 {
		return nil
	}
	err := m.stepAll(ctx, set, at, f)
	switch {
	case errors.Is(err, errGone):
		return nil
	case err == nil:
		m.log.Warn("this primary does not know how far parts were copied: "+what, "parts", len(set))
	}
	return err
}
