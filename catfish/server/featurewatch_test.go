package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

// watchPaths are all ways to watch a server's features: by message, and in process.
var watchPaths = append([]string{"local"}, allTransports...)

func watchedBy(t testing.TB, s *Server, how string) *model.Features {
	t.Helper()
	if how == "local" {
		c, err := s.Features(testFeatures)
		if err != nil {
			t.Fatal(err)
		}
		return FeaturesOf(c)
	}
	return dialFeatures(t, s, messagesOnly(how))
}

// Events of two areas, one with a filter, come by each path, with the features before if
// they are wanted; and again, from each revision on.
func TestWatch(t *testing.T) {
	q := model.WatchQuery{Areas: []model.WatchArea{
		{Name: "east", Query: model.FeatureQuery{Area: query.Box(0, -10, 10, 10), Filter: "properties.n < 5"}},
		{Name: "west", Query: model.FeatureQuery{Area: query.Polygon(orb.Polygon{{{-10, -10}, {0, -10}, {0, 10}, {-10, 10}, {-10, -10}}})}},
	}, Old: true}
	want := []string{
		"enter  east a [1 1]",
		"inside  east a [2 2] was [1 1]{\"n\":1}",
		"changed  east a [2 2] was [2 2]{\"n\":1}",
		"exit moved east a [-2 2] was [2 2]{\"n\":2}",
		"enter  west a [-2 2] was [2 2]{\"n\":2}",
		"exit deleted west a was [-2 2]{\"n\":2}",
		"enter  east b [3 3]",
		"exit filtered east b [3 3] was [3 3]{\"n\":3}",
	}
	for _, how := range watchPaths {
		t.Run(how, func(t *testing.T) {
			s := startFeatures(t, Options{Workers: 1})
			f, ctx := watchedBy(t, s, how), t.Context()
			var got []model.FeatureEvent
			stands, ended := follow(ctx, f, q, func(e model.FeatureEvent) bool {
				got = append(got, e)
				return len(got) < len(want)
			})
			<-stands
			put := func(id string, x, y float64, n int) {
				t.Helper()
				p := model.Feature{ID: id, Geometry: orb.Point{x, y}, Properties: fmt.Appendf(nil, `{"n":%d}`, n)}
				if _, _, err := f.Put(ctx, p, kv.Condition{}); err != nil {
					t.Fatal(err)
				}
			}
			put("a", 1, 1, 1)
			put("a", 2, 2, 1)
			put("a", 2, 2, 2)
			put("a", -2, 2, 2)
			put("elsewhere", 50, 50, 2)
			if _, err := f.Delete(ctx, "a", kv.Condition{}); err != nil {
				t.Fatal(err)
			}
			put("b", 3, 3, 3)
			put("b", 3, 3, 7)
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			check := func(got []model.FeatureEvent, want []string) {
				t.Helper()
				var texts []string
				for _, e := range got {
					texts = append(texts, text(e))
					if e.Kind != query.Exit && (e.Feature.Revision != e.Revision || e.Feature.ID != e.ID) {
						t.Errorf("%+v has another feature", e)
					}
				}
				if !slices.Equal(texts, want) {
					t.Errorf("%q\nwant %q", texts, want)
				}
			}
			check(got, want)
			for i, e := range got[:len(got)-1] {
				var again []model.FeatureEvent
				q := q
				rest := i + 1
				q.History = e.History
				if q.From = e.Resume; e.Resume < e.Revision {
					rest = i // The first of two events of a write comes again.
				}
				_, ended := follow(ctx, f, q, func(e model.FeatureEvent) bool {
					again = append(again, e)
					return len(again) < len(want)-rest
				})
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				check(again, want[rest:])
			}
			eventually(t, "nothing is held", func() bool { return s.watchBudget.Use().Used == 0 })
		})
	}
}

// watchOne takes one event, or the error.
func watchOne(ctx context.Context, f *model.Features, q model.WatchQuery) (model.FeatureEvent, error) {
	for e, err := range f.Watch(ctx, q) {
		return e, err
	}
	return model.FeatureEvent{}, errors.New("nothing")
}

// The error that ends a watch names the remedy.
func TestWatchEnds(t *testing.T) {
	for _, how := range watchPaths {
		t.Run(how, func(t *testing.T) {
			s := startFeatures(t, Options{Workers: 1, Watch: store.WatchLimits{Changes: 4, WatcherAreas: 2}})
			f, ctx := watchedBy(t, s, how), t.Context()
			var last uint64
			put := func(id string) {
				var err error
				if _, last, err = f.Put(ctx, model.Feature{ID: id, Geometry: orb.Point{1, 1}, Properties: []byte(`{"n":"x"}`)}, kv.Condition{}); err != nil {
					t.Fatal(err)
				}
			}
			e, err := watchOne(ctx, f, model.WatchQuery{Progress: true})
			if err != nil || e.Kind != query.Progress || e.Resume == 0 || e.Resume != e.Revision || e.History == 0 {
				t.Fatalf("%+v, %v", e, err)
			}
			for range 6 {
				put("a")
			}
			for name, c := range map[string]struct {
				q    model.WatchQuery
				want []error
			}{
				"too slow":       {model.WatchQuery{From: e.Resume}, []error{store.ErrLagged, disk.ErrTrimmed}},
				"other writes":   {model.WatchQuery{From: e.Resume + 6, History: e.History + 1}, []error{store.ErrLagged, disk.ErrAhead}},
				"another store":  {model.WatchQuery{From: 1 << 62}, []error{store.ErrLagged, disk.ErrAhead}},
				"three areas":    {model.WatchQuery{Areas: []model.WatchArea{{Name: "1"}, {Name: "2"}, {Name: "3"}}}, []error{store.ErrWatchLimit}},
				"one area twice": {model.WatchQuery{Areas: []model.WatchArea{{Name: "1"}, {Name: "1"}}}, []error{store.ErrQuery}},
				"limit":          {model.WatchQuery{Query: model.FeatureQuery{Limit: 1}}, []error{store.ErrQuery}},
				"no such box":    {model.WatchQuery{Query: model.FeatureQuery{Area: query.Box(0, 200, 1, 300)}}, []error{store.ErrQuery}},
				"bad filter":     {model.WatchQuery{Query: model.FeatureQuery{Filter: "properties.("}}, []error{store.ErrQuery}},
			} {
				_, err := watchOne(ctx, f, c.q)
				for _, want := range c.want {
					// Over a connection only one sentinel travels, and those that follow from it.
					if !errors.Is(err, want) && (how == "local" || want == c.want[0]) {
						t.Errorf("%s: %v, want %v", name, err, want)
					}
				}
			}
			for e, err := range f.Watch(ctx, model.WatchQuery{Query: model.FeatureQuery{Filter: longFilter}, Progress: true}) {
				if err == nil {
					put("b")
					continue
				}
				if !errors.Is(err, filter.ErrCost) || e.ID != "b" || e.Revision != last || e.Resume != last {
					t.Errorf("a filter's error: %+v, %v", e, err)
				}
			}
			eventually(t, "all watchers are gone", func() bool { return s.watchBudget.Use().Used == 0 })
			toCancel, cancel := context.WithCancel(ctx)
			stands, ended := follow(toCancel, f, model.WatchQuery{}, func(model.FeatureEvent) bool { return true })
			<-stands
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			eventually(t, "the watcher is gone", func() bool { return s.watchBudget.Use().Used == 0 })
			// A waiting request answers with the events before the drop; the next one
			// with its error.
			n := 0
			stands, ended = follow(t.Context(), f, model.WatchQuery{}, func(model.FeatureEvent) bool { n++; return true })
			<-stands
			if how != "local" {
				eventually(t, "a request waits", func() bool { return requestsWait(&s.watchSets) == 1 })
			}
			put("b")
			if ok, err := s.DropCollection(testFeatures); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if err := <-ended; !errors.Is(err, model.ErrUnknownCollection) || n != 1 {
				t.Errorf("after the drop: %d events, %v", n, err)
			}
		})
	}
}

// requestsWait returns how many requests own a watcher.
func requestsWait(ws *sets[*watchSet]) (n int) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for set := range ws.sets {
		set.mu.Lock()
		for _, w := range set.have {
			if w.stop != nil {
				n++
			}
		}
		set.mu.Unlock()
	}
	return n
}

// longFilter costs more than a filter may.
const longFilter = `[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20].all(a, [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20].all(b, ` +
	`[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20].all(c, [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20].all(d, ` +
	`[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20].all(e, a+b+c+d+e > 0 && properties.n == "x")))))`
