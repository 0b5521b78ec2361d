package mover

import (
	"context"
	"errors"
	"maps"

	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
)

// step changes the map as the group's primary of a term.
func (m *Mover) step(ctx context.Context, term uint64, f func(*placement.Map) (*placement.Map, error)) (compared uint64, err error) {
	if !m.leads(term) {
		return 0, cluster.ErrDeposed
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	compared, err = cluster.Step(ctx, m.o.Keeper, cluster.Primary{Group: m.o.Group, Node: m.o.Node, Term: term}, f)
	m.o.Reread()
	return compared, err
}

// leads reports whether this member still leads in a term.
func (m *Mover) leads(term uint64) bool {
	now, leads := m.o.Leading()
	return leads && now == term
}

// stepAll writes a step of parts that are at another one. errGone: none of them is.
func (m *Mover) stepAll(ctx context.Context, set parts, at placement.Step, f func(*placement.Map, placement.Part) (*placement.Map, error)) error {
	_, err := m.step(ctx, m.term, func(is *placement.Map) (*placement.Map, error) {
		return each(is, m.moves(is, set, at), f)
	})
	return err
}

// moves are those of parts from or to this group that are at a step.
func (m *Mover) moves(is *placement.Map, set parts, at placement.Step) (all []placement.Part) {
	for _, v := range is.Moves {
		if v.Step == at && set[v.Part] && (is.Groups[v.From].Name == m.o.Group || is.Groups[v.To].Name == m.o.Group) {
			all = append(all, v.Part)
		}
	}
	return all
}

// each is the map after a step of parts, which is one change. errGone: there are none.
func each(is *placement.Map, parts []placement.Part, f func(*placement.Map, placement.Part) (*placement.Map, error)) (*placement.Map, error) {
	if len(parts) == 0 {
		return nil, errGone
	}
	return is.Batch(func(n *placement.Map) error {
		for _, p := range parts {
			if _, err := f(n, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// stepStopped is stepAll once nothing of slots that are stopped is acknowledged, or read, any more.
func (m *Mover) stepStopped(ctx context.Context, set parts, closed bool, at placement.Step, f func(*placement.Map, placement.Part) (*placement.Map, error)) error {
	stop := stopped{frozen: set}
	if closed {
		stop.closed = set
	}
	if err := m.stop(func() { m.asking = stop }); err != nil {
		return errors.Join(err, m.stop(func() { m.asking = stopped{} }))
	}
	compared, err := m.step(ctx, m.term, func(is *placement.Map) (*placement.Map, error) {
		return each(is, m.moves(is, set, at), f)
	})
	return errors.Join(err, m.stop(func() {
		m.asking = stopped{}
		// Otherwise nothing was written, nor will be: but a step before may be.
		if (err == nil || errors.Is(err, coord.ErrUnknown)) && m.is.Version <= compared {
			stop.version = compared
			m.stopped = m.stopped.with(stop)
		}
	}))
}

// stop changes what is stopped.
func (m *Mover) stop(change func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.stopped.with(m.asking)
	change()
	if is := m.stopped.with(m.asking); m.is == nil || maps.Equal(is.frozen, was.frozen) && maps.Equal(is.closed, was.closed) {
		return nil
	}
	return m.apply(func() {})
}
