package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
)

// machine is where a planner runs. It can be stopped before it changes the map, and be lost.
type machine struct {
	*registry
	mu    sync.Mutex
	stop  chan struct{} // changes of the map wait for it; nil: they do not
	lost  bool
	begun []time.Time // changes of the map
}

func (m *machine) SwapIf(ctx context.Context, key string, version int64, value []byte, others ...coord.Value) (int64, error) {
	m.mu.Lock()
	lost, stop := m.lost, m.stop
	m.mu.Unlock()
	if lost {
		return 0, coord.ErrUnknown
	}
	if key == Key && stop != nil {
		<-stop // Whatever happens to ctx: the process stands still.
		ctx = context.WithoutCancel(ctx)
	}
	n, err := m.registry.SwapIf(ctx, key, version, value, others...)
	if key == Key && err == nil {
		m.mu.Lock()
		m.begun = append(m.begun, time.Now())
		m.mu.Unlock()
	}
	return n, err
}

func (m *machine) set(stop chan struct{}, lost bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stop, m.lost = stop, lost
}

// times are those of the changes.
func (m *machine) times() []time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.begun)
}

func (m *machine) changes() int { return len(m.times()) }

// little is the map of two groups, and of a small one, which has nothing yet: few slots move.
func little(t *testing.T) *registry {
	t.Helper()
	r := newRegistry(t)
	if _, err := Init(t.Context(), r, []placement.Group{{Name: "g1", Weight: 5}, {Name: "g2", Weight: 5}}); err != nil {
		t.Fatal(err)
	}
	if _, err := Add(t.Context(), r, placement.Group{Name: "g3", Weight: 1}); err != nil {
		t.Fatal(err)
	}
	return r
}

const every = 10 * time.Minute

// start runs a planner, and returns what it logs, and what ends it.
func (m *machine) start(t *testing.T, name string, o Options) (log *catfishtest.LogLines, end func()) {
	log = new(catfishtest.LogLines)
	ctx, cancel := context.WithCancel(t.Context())
	a := &Automatic{Name: name, Every: every, Plan: o, Logger: log.Logger()}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.Run(ctx, m)
	}()
	return log, func() {
		cancel()
		<-ended
	}
}

func leader(t *testing.T, r *registry) Planner {
	t.Helper()
	p, err := ReadPlanner(context.Background(), r)
	if err != nil || p == nil {
		t.Fatal(p, err)
	}
	return *p
}

// A planner moves a batch, and no other before the interval has ended, until groups have their shares.
func TestAutomatic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, load := little(t), loads(20)
		go carry(t.Context(), r, 20, 0)
		o := withLoad(load)
		o.Slots = 50
		a := &machine{registry: r}
		_, end := a.start(t, "a", o)
		time.Sleep(time.Second)
		if slots, _ := r.transfers(); slots != 50 {
			t.Errorf("the first plan has moved %d slots, want 50", slots)
		}
		time.Sleep(every * 20)
		at := a.times()
		for i := range at[1:] {
			if d := at[i+1].Sub(at[i]); d < every {
				t.Errorf("%v between two plans", d)
			}
		}
		slots, most := r.transfers()
		if most != 1 || slots < 150 || len(at) < 5 {
			t.Errorf("%d slots have moved, one %d times, in %d plans", slots, most, len(at))
		}
		shared(t, r, load)
		// The map is all that it continues by: the group that is drained next gives all that it has.
		if _, err := Weigh(t.Context(), r, "g3", 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(every * 20)
		if n := has(r.now(), "g3"); n > 0 {
			t.Errorf("g3 has %d slots", n)
		}
		end()
		if p := leader(t, r); p.ID != "" || p.Term != 1 {
			t.Errorf("after the end: %+v", p)
		}
	})
}

// A planner that stood still before a change of the map changes nothing when it continues after another one
// has taken the term, though the map is the one that it has read. Then it waits for its next term.
func TestDeposedPlanner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, load := little(t), loads(21)
		a, b := &machine{registry: r}, &machine{registry: r}
		stop := make(chan struct{})
		a.set(stop, false)
		log, end := a.start(t, "a", withLoad(load))
		time.Sleep(time.Second)
		before := r.now().Version
		o := withLoad(load)
		o.Tolerance = 1000 // No group is outside of it.
		_, endB := b.start(t, "b", o)
		time.Sleep(lostAfter + 2*beatEvery)
		if p := leader(t, r); p.Name != "b" || p.Term != 2 {
			t.Fatalf("%+v", p)
		}
		close(stop)
		time.Sleep(every)
		if v := r.now().Version; v != before || a.changes() != 0 {
			t.Errorf("the map has version %d after %d, by %d changes of a deposed planner", v, before, a.changes())
		}
		if !strings.Contains(log.String(), `another planner has taken the term: \"b\" has term 2`) {
			t.Errorf("logged:\n%s", log)
		}
		go carry(t.Context(), r, 21, 0)
		endB()
		time.Sleep(2 * every)
		if p := leader(t, r); p.Name != "a" || p.Term != 3 || a.changes() == 0 {
			t.Errorf("%+v, %d changes", p, a.changes())
		}
		shared(t, r, load)
		end()
	})
}

// Of two planners one is stopped in the middle, and continues later: no slot moves twice, and no more is begun
// at a time than by one.
func TestPlannerIsStoppedInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, load := little(t), loads(22)
		go carry(t.Context(), r, 22, 0)
		other := *load
		for s := range other {
			other[s] += uint64(s % 11)
		}
		a, b := &machine{registry: r}, &machine{registry: r}
		for m, l := range map[*machine]*Load{a: load, b: &other} {
			o := withLoad(l)
			o.Slots = 50
			_, end := m.start(t, map[*machine]string{a: "a", b: "b"}[m], o)
			defer end()
		}
		for range 4 {
			time.Sleep(every / 2)
			stopped := a
			if leader(t, r).Name == "b" {
				stopped = b
			}
			stop := make(chan struct{})
			stopped.set(stop, false)
			time.Sleep(every + 2*lostAfter)
			stopped.set(nil, false)
			close(stop)
		}
		time.Sleep(20 * every)
		slots, most := r.transfers()
		if most != 1 || r.atOnce() > 50 || a.changes() == 0 || b.changes() == 0 {
			t.Errorf("%d slots moved, one %d times; %d at once; %d and %d changes", slots, most, r.atOnce(), a.changes(), b.changes())
		}
		if p := leader(t, r); p.Term < 4 {
			t.Errorf("%+v", p)
		}
		shared(t, r, load)
	})
}

// A planner whose machine is lost is followed by the next one, which continues with the moves that it finds, and
// keeps to the interval.
func TestLostPlanner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, load := little(t), loads(23)
		o := withLoad(load)
		o.Slots = 50
		a, b := &machine{registry: r}, &machine{registry: r}
		_, endA := a.start(t, "a", o)
		time.Sleep(time.Second)
		_, endB := b.start(t, "b", o)
		a.set(nil, true)
		time.Sleep(every / 2)
		endA()
		if p := leader(t, r); p.Name != "b" || p.Term != 2 || b.changes() != 0 {
			t.Fatalf("%+v, %d changes", p, b.changes())
		}
		if n := len(r.now().Moves); n != 50 {
			t.Fatalf("%d moves are left", n)
		}
		go carry(t.Context(), r, 23, 0)
		time.Sleep(every/2 - 10*time.Second)
		if n := len(r.now().Moves); n > 0 || b.changes() > 0 {
			t.Errorf("%d moves are left; %d changes within the interval of the lost planner", n, b.changes())
		}
		time.Sleep(20 * every)
		if _, most := r.transfers(); most != 1 || r.atOnce() != 50 {
			t.Errorf("a slot moved %d times, %d at once", most, r.atOnce())
		}
		shared(t, r, load)
		endB()
	})
}

// Outcomes that are unknown end no term, and begin nothing twice.
func TestPlannerUnknownOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, load := little(t), loads(24)
		n := 0
		r.fails = func() (bool, error) {
			if n++; n%3 > 0 {
				return true, nil
			}
			return n%2 == 0, coord.ErrUnknown
		}
		go carry(t.Context(), r, 24, 0)
		a := &machine{registry: r}
		_, end := a.start(t, "a", withLoad(load))
		time.Sleep(20 * every)
		if p := leader(t, r); p.Term != 1 {
			t.Errorf("%+v", p)
		}
		if _, most := r.transfers(); most != 1 {
			t.Errorf("a slot moved %d times", most)
		}
		shared(t, r, load)
		end()
	})
}

// A planner that cannot plan says so once, and continues when it can.
func TestPlannerSaysWhyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, load := little(t), loads(25)
		go carry(t.Context(), r, 25, 0)
		o := withLoad(load)
		var away atomic.Bool
		away.Store(true)
		ask := o.Load
		o.Load = func(ctx context.Context, m *placement.Map) (*Load, error) {
			if away.Load() {
				return nil, errors.Join(ErrLoad, errors.New("g2 is away"))
			}
			return ask(ctx, m)
		}
		a := &machine{registry: r}
		log, end := a.start(t, "a", o)
		time.Sleep(3*every + time.Second)
		if n := strings.Count(log.String(), "g2 is away"); n != 1 {
			t.Errorf("said %d times:\n%s", n, log)
		}
		away.Store(false)
		time.Sleep(every)
		shared(t, r, load)
		end()
	})
}
