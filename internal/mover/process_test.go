package mover

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
)

// process is a primary's, from its promotion until it ends or is deposed.
type process struct {
	w      *world
	of     *group
	m      *Mover
	term   uint64
	dead   atomic.Bool              // it reaches nothing
	past   atomic.Bool              // it was deposed: its group takes nothing of it
	mute   atomic.Bool              // it has no lease
	deaf   atomic.Bool              // it reaches no other group
	stream atomic.Pointer[net.Conn] // the latest
	epoch  atomic.Uint64
	reread chan struct{}
	l      *pipes
	cancel context.CancelFunc
	under  sync.WaitGroup
}

var lookTime = map[bool]time.Duration{true: 15 * time.Millisecond, false: 2 * time.Millisecond}

// answerLag is how long a piece of an answer is under way.
const answerLag = 8 * time.Millisecond

type slow struct{ net.Conn }

func (c slow) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	time.Sleep(answerLag)
	return n, err
}

// follow reads the map when it changes.
func (p *process) follow(ctx context.Context) {
	p.w.keeper.watch(p.reread, true)
	defer p.w.keeper.watch(p.reread, false)
	for {
		select {
		case <-p.reread:
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
		// As long as a look at etcd takes, so that other things happen between: one side is slow.
		time.Sleep(lookTime[p.of.name == "a"])
		if err := p.read(); err != nil && !p.dead.Load() {
			p.w.t.Errorf("%s: %v", p.of.name, err)
		}
	}
}

func (p *process) read() error {
	began := p.w.now()
	m, err := cluster.Read(context.Background(), readOnly{p})
	if err != nil {
		return err
	}
	return p.m.Learn(m, began, func() { p.epoch.Store(m.Epoch) })
}

// readOnly is the keeper for reads.
type readOnly struct{ *process }

func (readOnly) Swap(context.Context, string, int64, []byte) (int64, error) { panic("not used") }
func (readOnly) Watch(context.Context, string, func())                      { panic("not used") }

var errDead = errors.New("the process has ended")

func (p *process) Get(ctx context.Context, key string) (coord.Value, error) {
	if p.dead.Load() {
		return coord.Value{}, errors.Join(coord.ErrAway, errDead)
	}
	return p.w.keeper.Get(ctx, key)
}

func (p *process) SwapIf(ctx context.Context, key string, version int64, value []byte, others ...coord.Value) (int64, error) {
	if p.dead.Load() {
		return 0, errors.Join(coord.ErrUnknown, errDead)
	}
	if m, err := placement.Decode(value); p.w.plant == early && key == cluster.Key && err == nil {
		for i := range m.Moves {
			m.Moves[i].Until -= min(m.Moves[i].Until, 8)
		}
		value, _ = m.Encode()
	}
	at, err := p.w.keeper.SwapIf(ctx, key, version, value, others...)
	if p.w.plant == thawAtOnce && errors.Is(err, coord.ErrUnknown) {
		err = coord.ErrAway
	}
	return at, err
}

// own is the store as a process has it: that of a deposed one is not its group's.
type own struct {
	*store.Store
	p *process
}

func (o own) SetSlots(s store.Slots) error {
	if o.p.past.Load() {
		return nil
	}
	if o.p.w.plant == writes {
		s.Frozen = s.Closed
	}
	return o.Store.SetSlots(s)
}

func (o own) CopyIn(ctx context.Context, states []store.MovedState, may func() error) error {
	if o.p.past.Load() {
		return fault.ErrNotPrimary
	}
	return o.Store.CopyIn(ctx, states, may)
}

func (o own) DropSlots(ctx context.Context, set *store.Parts, may func() error) (int, error) {
	if o.p.past.Load() {
		return 0, fault.ErrNotPrimary
	}
	if o.p.w.plant == leftovers {
		return 0, nil
	}
	return o.Store.DropSlots(ctx, set, may)
}

// die ends a process as a machine ends: what it does from now on reaches nothing.
func (p *process) die() {
	p.dead.Store(true)
	_ = p.l.Close()
}

// end waits until all of a process has ended.
func (p *process) end() {
	p.die()
	p.cancel()
	p.under.Wait()
}

// pipes accepts streams in memory.
type pipes struct {
	in     chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{in: make(chan net.Conn), closed: make(chan struct{})} }

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.in:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (p *process) dial(ctx context.Context, addr string) (net.Conn, error) {
	i := slices.IndexFunc(p.w.groups[:], func(g *group) bool { return g.name == addr })
	if p.dead.Load() || p.deaf.Load() || i < 0 {
		return nil, errDead
	}
	here, there := net.Pipe()
	select {
	case p.w.groups[i].is.Load().l.in <- there:
		p.stream.Store(&here)
		return slow{here}, nil
	case <-p.w.groups[i].is.Load().l.closed:
		return nil, errDead
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
