package mover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// world is two groups with a store each, on a fake clock, and clients.
type world struct {
	t      *testing.T
	keeper *keeper
	log    *catfishtest.LogLines
	start  time.Time
	plant  plant
	refuse atomic.Bool            // keys of members
	wrong  atomic.Pointer[string] // the first thing that a client saw
	groups [2]*group
}

// plant is a fault that the tests must notice.
type plant int

const (
	noPlant    plant = iota
	blind            // the group's key is not compared
	thawAtOnce       // an unknown outcome is taken for none
	writes           // frozen slots take writes
	early            // Freeze names a revision that is too low
	leftovers        // a copy begins with what an earlier one has left
	unbounded        // clients get leases as long as the group's
)

// group has one member at a time: a process.
type group struct {
	name  string
	store *store.Store
	term  uint64
	is    *process
}

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

// inWorld runs a test on a fake clock.
func inWorld(t *testing.T, test func(w *world)) { withPlant(t, noPlant, test) }

func withPlant(t *testing.T, plant plant, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, start: time.Now(), keeper: newKeeper(), plant: plant, log: &catfishtest.LogLines{}}
		w.keeper.blind = plant == blind
		m, err := placement.New([]placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}})
		if err == nil {
			b, failed := m.Encode()
			_, failed2 := w.keeper.swap(cluster.Key, 0, b, nil)
			err = errors.Join(failed, failed2)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(w.log)
			}
		})
		for i := range w.groups {
			st, err := store.Open(t.Context(), store.Options{Dir: t.TempDir(), Sync: disk.SyncOff, SlabBytes: 16 << 20, LogBytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			g := &group{name: string(rune('a' + i)), store: st}
			w.groups[i] = g
			t.Cleanup(func() {
				if g.is != nil {
					g.is.end()
				}
				if err := st.Close(); err != nil {
					t.Error(err)
				}
			})
			w.promote(i)
		}
		test(w)
	})
}

// now is the fake clock of leases.
func (w *world) now() time.Duration { return time.Since(w.start) }

// promote has the next process of a group be its primary, when the lease of the one before has ended.
// That is deposed, and does not notice unless it was ended.
func (w *world) promote(i int) {
	w.t.Helper()
	g := w.groups[i]
	if g.is != nil {
		g.is.mute.Store(true)
		time.Sleep(groupLease)
	}
	g.term++
	value, err := json.Marshal(&node.Group{Name: g.name, Term: g.term, Primary: "n", Members: []node.Member{{Name: "n", Addr: g.name}}})
	if err != nil {
		w.t.Fatal(err)
	}
	v, _ := w.keeper.Get(w.t.Context(), node.Key(g.name))
	if _, err := w.keeper.swap(node.Key(g.name), v.Version, value, nil); err != nil {
		w.t.Fatal(err)
	}
	if g.is != nil {
		g.is.past.Store(true)
	}
	p := &process{w: w, of: g, term: g.term, reread: make(chan struct{}, 1), l: newPipes()}
	p.m = New(Options{Group: g.name, Node: "n", Store: own{g.store, p}, Keeper: p, Logger: w.log.Logger().With("of", g.name, "term", p.term),
		Leading: func() (uint64, bool) { return p.term, !p.dead.Load() },
		Dial:    p.dial,
		Reread:  func() { wakeUp(p.reread) },
		Key:     func() (string, error) { return "the key of " + g.name, nil },
		Admit: func(key, group string, _ func()) (func() bool, error) {
			return func() bool { return true }, w.admits(key, group)
		},
	})
	p.m.Leases.Now = w.now
	if g.is != nil {
		w.t.Cleanup(g.is.end)
	}
	g.is = p
	if err := p.read(); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.under.Go(func() { p.m.Run(ctx) })
	p.under.Go(func() { _ = p.m.Serve(p.l) })
	p.under.Go(func() { p.follow(ctx) })
}

var errKey = errors.New("the key is not known")

func (w *world) admits(key, group string) error {
	if w.refuse.Load() || key != "the key of "+group {
		return errKey
	}
	return nil
}

// cut ends the stream of a process, and lets it open no other until it is mended.
func (p *process) cut() {
	p.deaf.Store(true)
	if c := p.stream.Load(); c != nil {
		_ = (*c).Close()
	}
}

func wakeUp(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
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
			m.Moves[i].Until -= min(m.Moves[i].Until, 5)
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

func (o own) CopyIn(ctx context.Context, states []store.MovedState) error {
	if o.p.past.Load() {
		return fault.ErrNotPrimary
	}
	return o.Store.CopyIn(ctx, states)
}

func (o own) DropSlots(ctx context.Context, set *store.SlotSet, progress func(int) error) (int, error) {
	if o.p.past.Load() {
		return 0, fault.ErrNotPrimary
	}
	if o.p.w.plant == leftovers {
		return 0, nil
	}
	return o.Store.DropSlots(ctx, set, progress)
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
	case p.w.groups[i].is.l.in <- there:
		p.stream.Store(&here)
		return slow{here}, nil
	case <-p.w.groups[i].is.l.closed:
		return nil, errDead
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin begins moves of the slots of some ids to the other group.
func (w *world) begin(from placement.Index, ids ...string) {
	w.t.Helper()
	err := w.keeper.change(func(m *placement.Map) (*placement.Map, error) {
		var moves []placement.Move
		done := map[uint16]bool{}
		for _, id := range ids {
			s := placement.SlotOf([]byte(id))
			if m.Slots[s] == from && !done[s] {
				done[s] = true
				moves = append(moves, placement.Move{Part: placement.Part{Slot: s}, From: from, To: 1 - from})
			}
		}
		if len(moves) == 0 {
			return nil, errors.New("no slot moves")
		}
		return m.Begin(moves...)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// eventually waits on the fake clock, and returns "" or what did not come.
func (w *world) eventually(what string, ok func() bool) string {
	for range 3_000 {
		if ok() {
			return ""
		}
		if wrong := w.wrong.Load(); wrong != nil {
			return *wrong
		}
		time.Sleep(20 * time.Millisecond)
	}
	m := w.keeper.now()
	return fmt.Sprintf("not within a minute: %s: %d moves, %+v", what, len(m.Moves), append(m.Moves, placement.Move{})[0].Step)
}

// all returns the first thing that is wrong.
func all(wrong ...string) string {
	for _, s := range wrong {
		if s != "" {
			return s
		}
	}
	return ""
}
