package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
)

// loads are those of slots, some of which are empty.
func loads(seed uint64) *Load {
	rng := rand.New(rand.NewPCG(seed, 1))
	load := new(Load)
	for s := range load {
		if s%7 > 0 {
			load[s] = 1000 + rng.Uint64N(1000)
		}
	}
	return load
}

// withLoad returns options of a load.
func withLoad(load *Load) Options {
	return Options{Tolerance: 0.05, Load: func(context.Context, *placement.Map) (*Load, error) { return load, nil }}
}

// shared checks that all have their shares of a load.
func shared(t testing.TB, r *registry, load *Load) {
	t.Helper()
	m := r.now()
	var has [placement.MaxGroups]float64
	total, weights := 0.0, 0.0
	for s, g := range m.Slots {
		has[g] += float64(load[s])
		total += float64(load[s])
	}
	for _, g := range m.Groups {
		weights += float64(g.Weight)
	}
	for i, g := range m.Groups {
		if share := total * float64(g.Weight) / weights; has[i] < 0.95*share || has[i] > 1.05*share {
			t.Errorf("%s has %.0f of %.0f", g.Name, has[i], share)
		}
	}
	if len(m.Moves) > 0 {
		t.Errorf("%d moves are left", len(m.Moves))
	}
}

// A new group gets its share, some slots at a time; each moves once, and progress is reported.
func TestRebalance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, load := grown(t), loads(1)
		go carry(t.Context(), r, 1, 0)
		o := withLoad(load)
		o.Moves = 50
		_, planned, _, err := Plan(t.Context(), r, o)
		if err != nil {
			t.Fatal(err)
		}
		last := Progress{Left: -1}
		o.Progress = func(p Progress) {
			if p.Done.Moves < last.Done.Moves || p.Done.Bytes < last.Done.Bytes || p.Map == nil {
				t.Errorf("%+v after %+v", p, last)
			}
			if last.Left != 0 && p.Done.Moves+p.Left != len(planned) {
				t.Errorf("%d done, %d left, of %d", p.Done.Moves, p.Left, len(planned))
			}
			last = p
		}
		result, err := Rebalance(t.Context(), r, o)
		if err != nil {
			t.Fatal(err)
		}
		slots, most := r.transfers()
		if result.Moves != slots || most != 1 || slots != len(planned) || slots < placement.Slots/3 {
			t.Errorf("%d moves told, %d planned, %d slots moved, one %d times", result.Moves, len(planned), slots, most)
		}
		if want := bytesOf(planned, &Loaded{Slots: *load}) - uint64(len(planned)); result.Bytes != want {
			t.Errorf("%d bytes, want %d", result.Bytes, want)
		}
		if r.atOnce() != 50 || last.Left != 0 || last.LeftBytes != 0 {
			t.Errorf("%d moves at once; at the end %+v", r.atOnce(), last)
		}
		shared(t, r, load)
		o.Progress = nil
		if again, err := Rebalance(t.Context(), r, o); err != nil || again.Moves != 0 {
			t.Errorf("again: %+v, %v", again, err)
		}
	})
}

// A planner that ends, at any time, leaves a map with which the next one continues. No slot
// moves twice.
func TestKilledPlanner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, load := grown(t), loads(2)
		go carry(t.Context(), r, 2, 0)
		rng := rand.New(rand.NewPCG(2, 2))
		killed := 0
		for {
			ctx, cancel := context.WithCancel(t.Context())
			after := 1 + rng.IntN(60)
			r.mu.Lock()
			r.wrote = func(*placement.Map) {
				if after--; after == 0 {
					cancel()
				}
			}
			r.mu.Unlock()
			_, err := Rebalance(ctx, r, withLoad(load))
			cancel()
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			killed++
		}
		if _, most := r.transfers(); most != 1 || killed < 3 {
			t.Errorf("%d killed; a slot moved %d times", killed, most)
		}
		shared(t, r, load)
	})
}

// Planners at the same time, whose loads differ a little, move no slot twice.
func TestTwoPlanners(t *testing.T) {
	for seed := range uint64(2) {
		synctest.Test(t, func(t *testing.T) {
			r, load := grown(t), loads(seed)
			go carry(t.Context(), r, seed, 0)
			other := *load
			for s := range other {
				other[s] += uint64(s % 11)
			}
			var all sync.WaitGroup
			sum := 0
			var mu sync.Mutex
			for i, l := range []*Load{load, &other} {
				o := withLoad(l)
				o.Moves = 40 + 30*i
				all.Go(func() {
					result, err := Rebalance(t.Context(), r, o)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					sum += result.Moves
					mu.Unlock()
				})
			}
			all.Wait()
			slots, most := r.transfers()
			if most != 1 || r.atOnce() > 70 || sum < slots {
				t.Errorf("%d slots moved, one %d times; %d at once; %d told", slots, most, r.atOnce(), sum)
			}
			shared(t, r, load)
		})
	}
}

// A group that is drained ends with nothing, beside another planner, and can be removed then.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, load := grown(t), loads(3)
		if _, err := Remove(t.Context(), r, "g1"); !errors.Is(err, placement.ErrBusy) {
			t.Errorf("removed with all it has: %v", err)
		}
		go carry(t.Context(), r, 3, 0)
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := Rebalance(t.Context(), r, withLoad(load)); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if _, err := Drain(t.Context(), r, "g1", withLoad(load)); err != nil {
				t.Error(err)
			}
			if m := r.now(); has(m, "g1") > 0 || m.Groups[0].Weight != 0 {
				t.Errorf("g1 has %d slots, and weight %d", has(m, "g1"), m.Groups[0].Weight)
			}
		})
		all.Wait()
		m, err := Remove(t.Context(), r, "g1")
		if err != nil || len(m.Groups) != 2 {
			t.Fatal(err)
		}
		if _, err := Drain(t.Context(), r, "g1", withLoad(load)); !errors.Is(err, placement.ErrUnknown) {
			t.Errorf("drained, and not in the map: %v", err)
		}
		if _, err := Rebalance(t.Context(), r, withLoad(load)); err != nil {
			t.Fatal(err)
		}
		shared(t, r, load)
	})
}

// A drain moves nothing between other groups, however their shares are.
func TestDrainMovesNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := grown(t)
		go carry(t.Context(), r, 10, 0)
		if _, err := Move(t.Context(), r, partsOf(0, 1, 2, 3000), "", "g3", Options{}); err != nil {
			t.Fatal(err)
		}
		if _, err := Weigh(t.Context(), r, "g1", 9); err != nil {
			t.Fatal(err)
		}
		if result, err := Drain(t.Context(), r, "g3", Options{}); err != nil || result.Moves != 4 {
			t.Errorf("%+v, %v", result, err)
		}
	})
}

// A drain ends if the group gets a weight again.
func TestDrainIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := grown(t)
		go carry(t.Context(), r, 4, 0)
		r.wrote = func(m *placement.Map) {
			if has(m, "g1") < 1900 && m.Groups[0].Weight == 0 {
				r.wrote = nil
				go func() {
					if _, err := Weigh(t.Context(), r, "g1", 3); err != nil {
						t.Error(err)
					}
				}()
			}
		}
		if _, err := Drain(t.Context(), r, "g1", Options{}); !errors.Is(err, ErrRefused) {
			t.Error(err)
		}
		if n := has(r.now(), "g1"); n == 0 {
			t.Error("g1 has nothing")
		}
	})
}

// Named slots move to a group, those that it has stay.
func TestMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := grown(t)
		go carry(t.Context(), r, 5, 0)
		var slots []uint16
		for s := range uint16(200) {
			slots = append(slots, 1948+s) // of g1 up to 2047, then of g2
		}
		for _, c := range []struct {
			from, to string
			want     error
		}{{"g1", "g3", ErrRefused}, {"", "g9", placement.ErrUnknown}} {
			if result, err := Move(t.Context(), r, partsOf(slots...), c.from, c.to, Options{}); !errors.Is(err, c.want) || result.Moves > 0 {
				t.Errorf("%+v: %+v, %v", c, result, err)
			}
		}
		result, err := Move(t.Context(), r, partsOf(slots[:100]...), "g1", "g3", Options{})
		if err != nil || result.Moves != 100 {
			t.Fatal(result, err)
		}
		if result, err = Move(t.Context(), r, partsOf(slots...), "", "g3", Options{Moves: 7}); err != nil || result.Moves != 100 {
			t.Fatal(result, err)
		}
		if n := has(r.now(), "g3"); n != 200 {
			t.Errorf("%d slots", n)
		}
	})
}

// Moves that are undone are begun again, unless all of them are again and again.
func TestUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, load := grown(t), loads(6)
		ctx, stop := context.WithCancel(t.Context())
		go carry(ctx, r, 6, 100)
		begun := 0
		r.wrote = func(m *placement.Map) {
			if len(m.Moves) == DefaultMoves {
				begun++
			}
		}
		if _, err := Rebalance(t.Context(), r, withLoad(load)); !errors.Is(err, ErrUndone) || begun != maxUndone {
			t.Errorf("%v, %d times", err, begun)
		}
		stop()
		synctest.Wait()
		go carry(t.Context(), r, 7, 5)
		if _, err := Rebalance(t.Context(), r, withLoad(load)); err != nil {
			t.Fatal(err)
		}
		if _, most := r.transfers(); most != 1 {
			t.Errorf("a slot moved %d times", most)
		}
		shared(t, r, load)
	})
}

// No more bytes are moved than the budget has.
func TestBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, load := grown(t), new(Load)
		for s := range load {
			load[s] = 1500
		}
		go carry(t.Context(), r, 8, 0)
		o := withLoad(load)
		o.Moves, o.Bytes = 10, 100_000
		_, planned, _, err := Plan(t.Context(), r, o)
		if err != nil {
			t.Fatal(err)
		}
		result, err := Rebalance(t.Context(), r, o)
		if err != nil || result.Bytes > o.Bytes || result.Bytes < o.Bytes/2 || result.Moves != len(planned) {
			t.Errorf("%+v, %d planned, %v", result, len(planned), err)
		}
	})
}

// While no group does anything the planner waits, and reports since when.
func TestStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := grown(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		still, began := time.Duration(0), time.Now()
		o := Options{Progress: func(p Progress) {
			still = p.Still
			switch {
			case time.Since(began) == 2*LookEvery:
				if _, err := Weigh(t.Context(), r, "g1", 9); err != nil {
					t.Error(err)
				}
			case still >= 3*LookEvery:
				cancel()
			}
		}}
		if _, err := Rebalance(ctx, r, o); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if n := len(r.now().Moves); n != DefaultMoves || still != 3*LookEvery || time.Since(began) != 5*LookEvery {
			t.Errorf("%d moves, still for %v, at %v", n, still, time.Since(began))
		}
	})
}

// Changes whose outcome is unknown were made, or not; the map says which moves have begun.
func TestUnknownOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, load := grown(t), loads(9)
		rng := rand.New(rand.NewPCG(9, 9))
		r.fails = func() (bool, error) {
			if rng.IntN(4) > 0 {
				return true, nil
			}
			return rng.IntN(2) == 0, coord.ErrUnknown
		}
		go carry(t.Context(), r, 9, 0)
		if _, err := Rebalance(t.Context(), r, withLoad(load)); err != nil {
			t.Fatal(err)
		}
		if _, most := r.transfers(); most != 1 {
			t.Errorf("a slot moved %d times", most)
		}
		shared(t, r, load)
	})
}
