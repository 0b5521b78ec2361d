package mover

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/boottime"
	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
)

// Store is the store of a member; *store.Store is one.
type Store interface {
	SetSlots(s store.Slots) error
	Revision() uint64
	Defined() []store.Definition
	Define(all []store.Definition) error
	SlotScan(ctx context.Context, set *store.Parts, at store.SlotCursor, most int) ([]store.MovedState, store.SlotCursor, error)
	SlotLog(ctx context.Context, set *store.Parts, from uint64, most int) ([]store.MovedState, uint64, error)
	CopyIn(ctx context.Context, states []store.MovedState, may func() error) error
	DropSlots(ctx context.Context, set *store.Parts, may func() error) (int, error)
	Settle(ctx context.Context) (clean bool, err error)
	HideBoxes() error
	HidesBoxes() bool
	MovesBoxes(collection string) error
}

// Options of a Mover.
type Options struct {
	Group, Node string
	Store       Store
	Keeper      cluster.Keeper
	// Leading is the term in which this member leads its group; false: it does not.
	Leading func() (term uint64, leads bool)
	// Dial opens a stream to the Serve of a member of another group.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Key is what this member shows, nil: nothing. Admit checks the key of a member of a group,
	// nil: none is needed; lost is called when it ends.
	Key   func() (string, error)
	Admit func(key, group string, lost func()) (stop func() bool, err error)
	// Reread asks for another look at the map, and for Learn after it.
	Reread func()
	Logger *slog.Logger
}

// Mover is a member's part in moves. Its methods are safe for concurrent use.
type Mover struct {
	o      Options
	log    *slog.Logger
	Leases Leases
	wake   chan struct{}
	copied atomic.Uint64 // states

	mu       sync.Mutex
	is       *placement.Map // nil: none was read
	me       placement.Index
	asking   stopped // for the step that is being written
	stopped  stopped // for steps before it, whose outcome the map does not have yet
	progress map[placement.Part]progress

	// Used by Run.
	term     uint64 // of what follows
	led      bool   // at the last turn
	sessions []*session
	job      *job          // drops slots, or looks whether there are some; nil: none runs
	tidied   uint64        // the version for which that has ended
	ready    time.Duration // when leases that were sent before they became short have ended; 0: they are not short
	decided  since
	frozen   since
}

// stopped is what this primary has stopped for steps. It stays so until a later version of the
// map was read than the last of them has compared.
type stopped struct {
	frozen, closed parts
	version        uint64
}

// with is what is stopped for either.
func (s stopped) with(o stopped) stopped {
	return stopped{s.frozen.with(o.frozen), s.closed.with(o.closed), max(s.version, o.version)}
}

// New returns a Mover. Call Learn before the store takes a write.
func New(o Options) *Mover {
	m := &Mover{o: o, log: o.Logger, wake: make(chan struct{}, 1), decided: since{}, frozen: since{}, progress: map[placement.Part]progress{}}
	m.Leases.Now, m.Leases.hides = boottime.Now, func() bool { return o.Store.HidesBoxes() }
	return m
}

// Learn gives the store the slots of a map that was read; began is when that read began. seen
// is called before leases by the map are sent: it gives the map to clients. An older map
// than the latest one changes nothing.
func (m *Mover) Learn(is *placement.Map, began time.Duration, seen func()) error {
	me, err := is.Find(m.o.Group)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.is != nil && is.Version < m.is.Version {
		return nil
	}
	if m.is == nil || is.Version > m.is.Version {
		was, wasMe, before := m.is, m.me, m.stopped
		m.is, m.me = is, me
		if is.Version > m.stopped.version {
			m.stopped = stopped{}
		}
		if err := m.apply(seen); err != nil {
			m.is, m.me, m.stopped = was, wasMe, before
			return err
		}
	} else {
		seen()
	}
	m.Leases.Read(began)
	m.nudge()
	return nil
}

// Gains reports whether a map, which was read from began on, may give this group a slot that it did not have
// all the time since the latest one: a secondary may lack what is in it. A slot that goes away and comes back
// is dropped between, which takes longer than mapLease.
func (m *Mover) Gains(is *placement.Map, began time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.is == nil || m.is.Epoch == is.Epoch {
		return false
	}
	me, err := is.Find(m.o.Group) // Its place may be another than in the map before.
	if err != nil {
		return false
	}
	for slot, of := range is.Slots {
		if of == me && m.is.Slots[slot] != m.me {
			return true
		}
	}
	return began > m.Leases.lastRead()+mapLease
}

// apply gives the store its slots, and bounds leases. The caller holds mu.
func (m *Mover) apply(seen func()) error {
	stop := m.stopped.with(m.asking)
	s := store.Slots{Epoch: m.is.Epoch, Places: m.is, Group: m.me}
	for slot, of := range m.is.Slots {
		if of == m.me {
			s.Owned.Add(uint16(slot))
		}
	}
	short := false
	for _, v := range m.is.Moves {
		s.Moving = s.Moving || v.From == m.me || v.To == m.me
		if v.From != m.me {
			continue
		}
		if v.Step.Frozen() {
			stop.frozen[v.Part] = true
		}
		short = short || v.Step == placement.CatchUp
	}
	held := false
	for part := range stop.frozen.with(stop.closed) {
		owner, err := m.is.Owner(part)
		if err != nil || owner != m.me { // What was given away needs no stop.
			delete(stop.frozen, part)
			delete(stop.closed, part)
			continue
		}
		held = true
	}
	s.Frozen, s.Closed = stop.frozen.slots(), stop.closed.slots()
	s.FrozenRanges, s.ClosedRanges = stop.frozen.ranges(), stop.closed.ranges()
	if err := m.o.Store.SetSlots(s); err != nil {
		return err
	}
	seen()
	m.Leases.bound(short, held)
	return nil
}

func (m *Mover) nudge() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// now is the latest map, nil: none.
func (m *Mover) now() (is *placement.Map, me placement.Index) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.is, m.me
}

// again reports whether a step is to be tried again by the next map.
func again(err error) bool {
	return errors.Is(err, coord.ErrConflict) || errors.Is(err, coord.ErrUnknown) || errors.Is(err, coord.ErrAway)
}
