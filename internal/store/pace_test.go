package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// TestPace: a search whose filter nothing passes lets others run, and
// ends on an error of Pace, or with its context.
func TestPace(t *testing.T) {
	stopped := func() time.Duration { return time.Hour } // so that the count alone decides
	c := create(t, open(t, Options{Now: stopped}), CollectionOptions{})
	ctx := context.Background()
	const n = 10 * lookedAt
	for i := range n {
		if _, _, err := c.Put(ctx, Feature{ID: fmt.Sprint(i), Geometry: orb.Point{float64(i % 100), float64(i % 80)}}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	enough := errors.New("enough")
	for name, search := range map[string]func(ctx context.Context, pace func() error) error{
		"by area": func(ctx context.Context, pace func() error) error {
			return c.Search(ctx, Query{Area: query.Box(-180, -90, 180, 90), Filter: "false", Pace: pace}, nil)
		},
		"by id": func(ctx context.Context, pace func() error) error {
			return c.Search(ctx, Query{Filter: "false", Pace: pace}, nil)
		},
		"in order": func(ctx context.Context, pace func() error) error {
			return c.Search(ctx, Query{Area: query.Box(-180, -90, 180, 90), Filter: "false", Order: query.ByID, Pace: pace}, nil)
		},
		"nearest": func(ctx context.Context, pace func() error) error {
			return c.Nearest(ctx, NearestQuery{K: 3, Filter: "false", Pace: pace}, nil)
		},
	} {
		paces := 0
		if err := search(ctx, func() error { paces++; return nil }); err != nil || paces < n/lookedAt-1 || paces > 3*n/lookedAt {
			t.Errorf("%s: %d times in %d features, %v", name, paces, n, err)
		}
		paces = 0
		if err := search(ctx, func() error { paces++; return enough }); !errors.Is(err, enough) || paces != 1 {
			t.Errorf("%s: told to end it was asked %d times, %v", name, paces, err)
		}
		gone, cancel := context.WithCancel(ctx)
		if err := search(gone, func() error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: its context has ended, %v", name, err)
		}
	}
}

// nowhereSlow is an area that has nothing, and is slow to say so.
type nowhereSlow func()

func (f nowhereSlow) MatchIn(*feature.View, *feature.Steps) (bool, error) {
	f()
	return false, nil
}

// TestPaceByTime: a search pauses each 0.1 ms whatever features take, from the first on,
// and seldom looks at the clock while they take little.
func TestPaceByTime(t *testing.T) {
	const n = 500
	for _, each := range []time.Duration{time.Microsecond, 10 * time.Microsecond, 70 * time.Microsecond, time.Millisecond} {
		now, clocks := time.Hour, 0
		c := create(t, open(t, Options{Now: func() time.Duration { clocks++; return now }}), CollectionOptions{})
		for i := range n {
			if _, _, err := c.Put(t.Context(), Feature{ID: fmt.Sprint(i), Geometry: orb.Point{float64(i % 100), float64(i % 80)}}, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		var tree filter.Tree
		slow := tree.Program("slow", tree.Place(nowhereSlow(func() { now += each })))
		matched := func(*Found) (bool, error) { now += each; return true, nil }
		for name, search := range map[string]func(pace func() error) error{
			"by area": func(pace func() error) error {
				return c.Search(t.Context(), Query{Area: query.Box(-180, -90, 180, 90), Pace: pace}, matched)
			},
			"by id": func(pace func() error) error { return c.Search(t.Context(), Query{Pace: pace}, matched) },
			"nearest": func(pace func() error) error {
				return c.Nearest(t.Context(), NearestQuery{K: 3, Where: slow, Pace: pace}, nil)
			},
		} {
			clocks = 0
			begun, longest, paces := now, time.Duration(0), 0
			if err := search(func() error {
				longest, begun = max(longest, now-begun), now
				paces++
				return nil
			}); err != nil {
				t.Errorf("%s of %v: %v", name, each, err)
			}
			// While features take little, some pass between two looks at the clock.
			if most := stepTime + clockEvery*min(each, stepTime/2) + each; longest > most || now-begun > most {
				t.Errorf("%s of %v each: %v, then %v without a pause, want at most %v", name, each, longest, now-begun, most)
			}
			// The nearest are looked for twice, as none matches.
			if most := 2*n/clockEvery + 3*paces + 10; each == time.Microsecond && clocks > most {
				t.Errorf("%s of %v each: looked at the clock %d times in %d pauses, want at most %d", name, each, clocks, paces, most)
			}
		}
	}
}

// TestBudgetByTime: a search with a budget ends soon, also if a few features take long.
func TestBudgetByTime(t *testing.T) {
	const n, budget = 300, 512
	now := time.Hour
	c := create(t, open(t, Options{Now: func() time.Duration { return now }}), CollectionOptions{})
	for i := range n {
		if _, _, err := c.Put(t.Context(), Feature{ID: fmt.Sprint(i), Geometry: orb.Point{float64(i % 100), float64(i % 80)}}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for each, most := range map[time.Duration]int{
		time.Microsecond: n, 10 * time.Microsecond: 40 + clockEvery, 100 * time.Millisecond: 2,
	} {
		p, err := c.Prepare(Query{Area: query.Box(-180, -90, 180, 90)})
		if err != nil {
			t.Fatal(err)
		}
		looked := 0
		err = c.SearchWith(t.Context(), p, &Buffer{Budget: budget}, func(*Found) (bool, error) {
			looked++
			now += each
			return true, nil
		})
		if looked > most || looked == n && err != nil || looked < n && !errors.Is(err, ErrBudget) {
			t.Errorf("of %v each it looked at %d of %d, want at most %d: %v", each, looked, n, most, err)
		}
	}
}

// TestDistanceIsOfNearest alone, whatever was searched for with the same buffer
// before.
func TestDistanceIsOfNearest(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	ctx := context.Background()
	if _, _, err := c.Put(ctx, Feature{ID: "a", Geometry: orb.Point{1, 2}}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := c.Nearest(ctx, NearestQuery{K: 1}, func(f *Found) (bool, error) {
			if f.Distance == 0 {
				t.Error("no distance")
			}
			return true, nil
		}); err != nil {
			t.Fatal(err)
		}
		if f, err := c.Get(ctx, "a"); err != nil || f.Distance != 0 {
			t.Errorf("%v, %v", f, err)
		}
	}
}
