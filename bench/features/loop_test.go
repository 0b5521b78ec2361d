package features

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/longer"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// A loop counts the results of its steps, and ends with the first error.
func TestLoop(t *testing.T) {
	job := LoadJob{Work: SearchOne, Way: Ring, Duration: 20 * time.Millisecond}
	wrong := func(context.Context, *rand.Rand) (done, error) {
		return done{ops: 2, features: 3, wanted: 4, wrong: "one is missing"}, nil
	}
	s, err := loop(t.Context(), job, &steps{all: []step{wrong, wrong}}, time.Now())
	if err != nil || s.Ops == 0 || s.Features*2 != s.Ops*3 || s.Found != s.Features || s.Wanted != 2*s.Ops ||
		s.Wrong == 0 || s.First != "one is missing" || s.Latency.Count() != s.Ops || s.Elapsed < job.Duration {
		t.Errorf("%+v, %v", s, err)
	}
	broken := errors.New("broken")
	fails := func(context.Context, *rand.Rand) (done, error) { return done{}, broken }
	if _, err := loop(t.Context(), LoadJob{Duration: time.Hour}, &steps{all: []step{wrong, fails}}, time.Now()); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

// Wrong answers are detected.
func TestJudge(t *testing.T) {
	q := &Query{Want: 2}
	if d := q.judge(2); d.wrong != "" || d.features != 2 {
		t.Errorf("%+v", d)
	}
	for _, n := range []int{0, 1, 3} {
		if d := q.judge(n); d.wrong == "" {
			t.Errorf("%d features: %+v", n, d)
		}
	}
	for distances, ok := range map[[2]float64]bool{{1, 2}: true, {1, 1}: true, {2, 1}: false} {
		var a ascending
		a.next(distances[0])
		a.next(distances[1])
		if d := a.judge(q); (d.wrong == "") != ok {
			t.Errorf("distances %v: %+v", distances, d)
		}
	}
}

// The events of moving objects follow from the moves, and a lost, changed or
// exchanged one is detected.
func TestFences(t *testing.T) {
	var v *city
	check := func() *Sample {
		s := new(Sample)
		if err := v.check(s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	longer.Measure(t, 20*time.Millisecond, func(d time.Duration) error {
		v = movingCity(t)
		if err := v.run(t.Context(), d, &Sample{Latency: latency.New()}); err != nil {
			t.Fatal(err)
		}
		s := check()
		if s.Wrong != 0 || s.Found != s.Wanted {
			t.Fatalf("%+v", s)
		}
		if s.Found < 50 {
			return fmt.Errorf("%d events", s.Found)
		}
		return nil
	})
	at := len(v.events) / 2
	events := v.events
	v.events = append(append([]fenceEvent{}, events[:at]...), events[at+1:]...)
	if s := check(); s.Wrong == 0 {
		t.Error("a lost event was not noticed")
	}
	v.events = append([]fenceEvent{}, events...)
	v.events[at].kind = query.Progress
	if s := check(); s.Wrong == 0 {
		t.Error("a wrong kind was not noticed")
	}
	v.events = append([]fenceEvent{}, events...)
	for next := at; ; next++ {
		if events[next].revision != events[at].revision {
			v.events[at], v.events[next] = events[next], events[at]
			break
		}
	}
	if s := check(); s.Wrong == 0 {
		t.Error("events out of order were not noticed")
	}
}

// movingCity has 50 objects and 20 areas.
func movingCity(t *testing.T) *city {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	c, err := st.CreateFeatures(collection, store.CollectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	v := &city{c: c, rng: rand.New(rand.NewPCG(1, 2)), places: make([]orb.Point, 50)}
	for i := range v.places {
		v.places[i] = orb.Point{cityWest + .01*v.rng.Float64(), citySouth + .01*v.rng.Float64()}
		if _, err := v.put(i); err != nil {
			t.Fatal(err)
		}
	}
	if v.watcher, err = c.Watch(t.Context(), store.WatchOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.watcher.Close)
	for i := range 20 {
		if err := v.watch(i, orb.Point{cityWest + .01*v.rng.Float64(), citySouth + .01*v.rng.Float64()}); err != nil {
			t.Fatal(err)
		}
	}
	return v
}
