package catfish_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"

	"github.com/paulmach/orb"
)

// TestLocalSearchOutlivesRecords: a loop over an answer may take longer than the answer's records
// stay.
func TestLocalSearchOutlivesRecords(t *testing.T) {
	var now atomic.Int64
	now.Store(int64(time.Hour))
	l, err := catfish.Open(t.Context(), "", catfish.LocalOptions{Now: func() time.Duration { return time.Duration(now.Load()) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := l.CreateFeatures(t.Context(), "c", catfish.FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}
	places, err := l.Features("c")
	if err != nil {
		t.Fatal(err)
	}
	const n = 40
	write := func() {
		for i := range n {
			f := catfish.Feature{ID: fmt.Sprint(i), Geometry: orb.Point{float64(i) / 100, 0}}
			if _, _, err := places.Put(t.Context(), f, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	write()
	area := query.Box(-1, -1, 1, 1)
	for name, answer := range map[string]func(yield func(catfish.Feature, error) bool){
		"search":  places.Search(t.Context(), catfish.FeatureQuery{Area: area}),
		"ordered": places.Search(t.Context(), catfish.FeatureQuery{Area: area, Order: query.ByID}),
		"nearest": places.Nearest(t.Context(), catfish.NearestQuery{K: n}),
	} {
		got := map[string]bool{}
		for f, err := range answer {
			if err != nil {
				t.Fatalf("%s: after %d features: %v", name, len(got), err)
			}
			if got[f.ID] = true; len(got) == 1 {
				for range 4 { // The old records die, and others take their place.
					now.Add(int64(10 * time.Second))
					write()
				}
			}
		}
		if len(got) != n {
			t.Errorf("%s: %d features, want %d", name, len(got), n)
		}
	}
}
