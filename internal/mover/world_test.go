package mover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/cluster"
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
	is    atomic.Pointer[process]
}

// inWorld runs a test on a fake clock.
func inWorld(t *testing.T, test func(w *world)) { withPlant(t, noPlant, test) }

func withPlant(t *testing.T, plant plant, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, start: time.Now(), keeper: newKeeper(), plant: plant, log: &catfishtest.LogLines{}}
		w.keeper.blind = plant == blind
		m, err := placement.New([]placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}})
		if err == nil {
			m, err = m.AddBoxes("roads", boxWorld, nil, nil)
		}
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
				if g.is.Load() != nil {
					g.is.Load().end()
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
	if g.is.Load() != nil {
		g.is.Load().mute.Store(true)
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
	if g.is.Load() != nil {
		g.is.Load().past.Store(true)
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
	if g.is.Load() != nil {
		w.t.Cleanup(g.is.Load().end)
	}
	g.is.Store(p)
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
		for _, p := range rangesOf(m, from) {
			if m.Idle(p) {
				moves = append(moves, placement.Move{Part: p, From: from, To: 1 - from})
			}
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
