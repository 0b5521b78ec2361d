package mover

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/placement"
)

// job is work that takes long, one at a time.
type job struct {
	cancel context.CancelFunc
	done   chan struct{}
	// tidies is the version of the map for which the store is tidy if err is nil; 0: none.
	tidies uint64
	err    error
}

// tidyPause is before another look for ids of other groups' slots, which the primary drops.
const tidyPause = time.Second

var errUntidy = errors.New("mover: the store has ids or boxes of other groups")

// inTerm is for writes of a term: an error when this member does not lead in it any more.
func (m *Mover) inTerm(term uint64) func() error {
	return func() error {
		if !m.leads(term) {
			return cluster.ErrDeposed
		}
		return nil
	}
}

// start begins a job; may is inTerm.
func (m *Mover) start(tidies uint64, work func(ctx context.Context, may func() error) error) {
	may := m.inTerm(m.term)
	ctx, cancel := context.WithCancel(context.Background())
	j := &job{cancel: cancel, done: make(chan struct{}), tidies: tidies}
	m.job = j
	go func() {
		defer m.nudge()
		defer close(j.done)
		switch j.err = work(ctx, may); {
		case j.err == nil || ctx.Err() != nil || errors.Is(j.err, errGone) || errors.Is(j.err, cluster.ErrDeposed):
		case errors.Is(j.err, errUntidy):
			wait(ctx, tidyPause)
		default:
			m.log.Warn("what moves have left cannot be dropped yet", "error", j.err)
			wait(ctx, failPause)
		}
	}()
}

// endJob ends the job, and waits for it.
func (m *Mover) endJob() {
	if m.job != nil {
		m.job.cancel()
		<-m.job.done
		m.job = nil
	}
}

// tidy looks, when moves of this group have ended, whether the store has ids of other
// groups' slots, and drops them, as the primary. Secondaries get that by their log. It
// reports whether something is under way.
func (m *Mover) tidy(is *placement.Map, me placement.Index, leads bool) (busy bool) {
	if j := m.job; j != nil {
		select {
		case <-j.done:
			if j.err == nil && j.tidies > 0 {
				m.tidied = j.tidies
			}
			m.job = nil
		default:
			return true
		}
	}
	moving := slices.ContainsFunc(is.Moves, func(v placement.Move) bool { return v.From == me || v.To == me })
	if moving || m.tidied == is.Version || len(m.sessions) > 0 {
		return leads && (moving || len(m.sessions) > 0)
	}
	others, err := othersOf(is, me)
	if err != nil {
		m.log.Warn("what moves have left cannot be dropped", "error", err)
		return false
	}
	m.start(is.Version, func(ctx context.Context, may func() error) error {
		clean, err := m.o.Store.Settle(ctx)
		if err == nil && !clean && leads {
			if _, err = m.o.Store.DropSlots(ctx, &others, may); err == nil {
				clean, err = m.o.Store.Settle(ctx)
			}
		}
		if err == nil && !clean {
			err = errUntidy
		}
		return err
	})
	return true
}
