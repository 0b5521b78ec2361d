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
	m.ready = 0
}

// turn does what can be done now. busy: there is more to do, or a move is under way.
func (m *Mover) turn(ctx context.Context) (busy bool, err error) {
	is, me := m.now()
	if is == nil {
		return false, nil
	}
	if _, leads := m.o.Leading(); !leads {
		m.rest()
		if err := m.stop(stopped{}); err != nil {
			return true, err
		}
		return m.tidy(is, me, false), nil
	}
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
	if ends := m.caughtUp(by[placement.CatchUp]); len(ends) > 0 && m.Leases.Now() >= m.ready {
		errs = append(errs, m.freeze(ctx, ends))
	}
	if len(by[placement.Wait]) > 0 {
		errs = append(errs, m.decide(ctx, by[placement.Wait]))
	}
	m.drop(by[placement.Drop])
	return errors.Join(errs...)
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

// freeze takes no more writes of parts.
func (m *Mover) freeze(ctx context.Context, parts []placement.Part) error {
	var until uint64
	return m.stepStopped(ctx, stopped{frozen: setOf(parts)},
		func() error { until = m.o.Store.Revision(); return nil }, // of all that was taken
		func(is *placement.Map) (*placement.Map, error) {
			return each(is, parts, func(is *placement.Map, p placement.Part) (*placement.Map, error) { return is.Freeze(p, until) })
		})
}

// decide gives parts away.
func (m *Mover) decide(ctx context.Context, parts []placement.Part) error {
	set := setOf(parts)
	return m.stepStopped(ctx, stopped{closed: set, frozen: set}, func() error {
		if left := m.Leases.sent() - m.Leases.Now(); left > 0 && !wait(ctx, left) {
			return ctx.Err()
		}
		return nil
	}, func(is *placement.Map) (*placement.Map, error) {
		return each(is, parts, (*placement.Map).Decide)
	})
}

// drop removes the data of parts that have another owner, once no lease leads to it.
func (m *Mover) drop(parts []placement.Part) {
	if len(parts) == 0 {
		clear(m.decided)
		return
	}
	var due []placement.Part
	for _, p := range parts {
		at, seen := m.decided[p.Slot]
		if !seen {
			at = m.Leases.Now()
			m.decided[p.Slot] = at
		}
		if m.Leases.Now() >= at+dropAfter {
			due = append(due, p)
		}
	}
	if len(due) == 0 || m.job != nil {
		return
	}
	m.start(0, func(ctx context.Context) error {
		set := setOf(due)
		n, err := m.o.Store.DropSlots(ctx, &set, nil)
		if err != nil {
			return err
		}
		for {
			err := m.step(ctx, func(is *placement.Map) (*placement.Map, error) { return each(is, due, (*placement.Map).Dropped) })
			if err == nil {
				m.log.Info("slots were given away, and dropped", "slots", len(due), "ids", n)
			}
			if err == nil || !again(err) || !wait(ctx, turnPause) {
				return err
			}
		}
	})
}

// take does the destination's part.
func (m *Mover) take(ctx context.Context, is *placement.Map, me placement.Index) error {
	has := store.SlotSet{}
	copying := map[string]bool{}
	for _, s := range m.sessions {
		for slot := range uint16(placement.Slots) {
			if s.set.Has(slot) {
				has.Add(slot)
			}
		}
	}
	fresh := map[string]*store.SlotSet{}
	var again, undo []placement.Part
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
			again = append(again, v.Part)
		case v.Step == placement.Freeze:
			undo = append(undo, v.Part)
		}
	}
	for from, set := range fresh {
		if copying[from] {
			continue // One scan at a time of a source: each goes through all of its ids.
		}
		m.endJob() // It may drop what comes.
		ctx, cancel := context.WithCancel(ctx)
		s := &session{m: m, from: from, set: *set, cancel: cancel, done: make(chan struct{})}
		m.sessions = append(m.sessions, s)
		go s.run(ctx)
	}
	var errs []error
	for parts, f := range map[*[]placement.Part]func(*placement.Map, placement.Part) (*placement.Map, error){
		&again: (*placement.Map).Recopy, &undo: (*placement.Map).Undo,
	} {
		if len(*parts) > 0 {
			m.log.Warn("this primary does not know how far slots were copied: they are copied again", "slots", len(*parts))
			errs = append(errs, m.step(ctx, func(is *placement.Map) (*placement.Map, error) { return each(is, *parts, f) }))
		}
	}
	return errors.Join(errs...)
}
