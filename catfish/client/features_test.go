package client

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/feature/filter/cel"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

const testFeatures = "places"

func startFeatures(t testing.TB, opts server.Options) *server.Server {
	opts.Features = map[string]model.FeaturesOptions{testFeatures: {}}
	return startServer(t, opts)
}

func dialFeatures(t testing.TB, s *server.Server, o Options) *model.Features {
	t.Helper()
	o = WithHooks(o, keepYoung)
	o.Filters = cel.NewCache(64)
	c := dial(t, s, o)
	f, err := c.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	featureClients.Store(f, c)
	t.Cleanup(func() { featureClients.Delete(f) })
	return f
}

// featureClients are the clients of dialFeatures.
var featureClients sync.Map

func clientOf(f *model.Features) *Client {
	c, _ := featureClients.Load(f)
	return c.(*Client)
}

// Features that were put are found by area, filter, distance and id, by every path.
func TestFeatures(t *testing.T) {
	s := startFeatures(t, server.Options{})
	r := rand.New(rand.NewPCG(1, 2))
	ctx := t.Context()
	first := dialFeatures(t, s, Options{})
	var all []model.Feature
	for i := range 3000 {
		all = append(all, testPlace(r, i))
	}
	results, err := first.PutMany(ctx, all)
	if err != nil {
		t.Fatal(err)
	}
	for i, res := range results {
		if res.Err != nil || res.ID != all[i].ID || res.Revision == 0 {
			t.Fatalf("%d: %+v", i, res)
		}
		all[i].Revision = res.Revision
	}
	c, err := s.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	queries := []model.FeatureQuery{
		{Area: query.Box(-10, -10, -9, -9)},
		{Area: query.Box(-1, -1, 1, 1), Filter: "properties.n > 6"},
		{Area: query.Box(-10, 1, 110, 1.5)}, // several parts of the same features
		{Area: query.Circle(3, 3, 200_000), Order: query.ByID, Limit: 7},
		{Area: query.Polygon(orb.Polygon{{{0, 0}, {5, 0}, {0, 5}, {0, 0}}}), Relation: feature.Within},
		{Area: query.Box(20, -90, 60, 90), Order: query.ByID},
		{Area: query.Box(-10, -10, 10, 10), Order: query.ByID, Limit: 2500},
		{Filter: "properties.n == 3", Order: query.ByID},
		{Order: query.ByID, Limit: 10, After: "place 2"},
	}
	for _, p := range kvPaths() {
		t.Run(p.name, func(t *testing.T) {
			f := dialFeatures(t, s, p.options())
			for _, q := range queries {
				want := allFound(t, func(yield func(*store.Found) (bool, error)) error { return c.Search(ctx, q.OfStore(), yield) })
				var got []model.Feature
				for place, err := range f.Search(ctx, q) {
					if err != nil {
						t.Fatalf("%+v: %v", q, err)
					}
					got = append(got, place)
				}
				samePlaces(t, q, got, want, q.Order == query.ByID)
				if len(want) == 0 {
					t.Errorf("%+v finds nothing", q)
				}
				if q.Limit == 0 {
					if n, err := f.Count(ctx, q); err != nil || n != len(want) {
						t.Errorf("%+v: %d, %v, want %d", q, n, err, len(want))
					}
				}
			}
			for _, q := range []model.NearestQuery{{X: 1, Y: 1, K: 10}, {X: 1, Y: 1, K: 3, Filter: "properties.n == 9"}, {X: 0, Y: 0, Within: 100_000}, {X: 0, Y: 0, Within: 3_000_000}} {
				want := allFound(t, func(yield func(*store.Found) (bool, error)) error { return c.Nearest(ctx, q.OfStore(), yield) })
				var got []model.Feature
				for place, err := range f.Nearest(ctx, q) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, place)
				}
				samePlaces(t, q, got, want, true)
			}
			for range 3 { // by a kept reference, too
				got, err := f.GetMany(ctx, []string{"place 1", "none", "place 7"})
				if err != nil {
					t.Fatal(err)
				}
				samePlaces(t, "get", got, []model.Feature{all[1], {}, all[7]}, true)
			}
			if _, err := f.Get(ctx, "none"); !errors.Is(err, kv.ErrNotFound) {
				t.Errorf("get of none: %v", err)
			}
		})
	}
}

func allFound(t *testing.T, search func(func(*store.Found) (bool, error)) error) (fs []model.Feature) {
	t.Helper()
	if err := search(func(f *store.Found) (bool, error) { fs = append(fs, model.Feature(f.Feature())); return true, nil }); err != nil {
		t.Fatal(err)
	}
	return fs
}

func samePlaces(t *testing.T, what any, got, want []model.Feature, ordered bool) {
	t.Helper()
	byID := func(a, b model.Feature) int { return slices.Compare([]byte(a.ID), []byte(b.ID)) }
	if !ordered {
		slices.SortFunc(got, byID)
		slices.SortFunc(want, byID)
	}
	if len(got) != len(want) {
		t.Fatalf("%+v: %d features, want %d", what, len(got), len(want))
	}
	for i, g := range got {
		w := want[i]
		if g.ID != w.ID || g.Revision != w.Revision || g.Distance != w.Distance || !orb.Equal(g.Geometry, w.Geometry) && g.Geometry != nil || string(g.Properties) != string(w.Properties) {
			t.Fatalf("%+v: %d is %+v, want %+v", what, i, g, w)
		}
	}
}

// Every path sees changes as soon as they are acknowledged, and conditions and bad
// input have their errors.
func TestFeaturesChange(t *testing.T) {
	for _, dir := range []bool{false, true} {
		o := server.Options{}
		if dir {
			o.DataDir = t.TempDir()
		}
		s := startFeatures(t, o)
		if err := s.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, p := range kvPaths() {
			t.Run(fmt.Sprintf("%s, dir=%t", p.name, dir), func(t *testing.T) { changeFeatures(t, dialFeatures(t, s, p.options())) })
		}
	}
}

func changeFeatures(t *testing.T, f *model.Features) {
	ctx := t.Context()
	is := func(err, want error) {
		t.Helper()
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Fatalf("%v, want %v", err, want)
		}
	}
	at := func(x float64) []string {
		t.Helper()
		var ids []string
		for place, err := range f.Search(ctx, model.FeatureQuery{Area: query.Box(x-1, -1, x+1, 1)}) {
			is(err, nil)
			ids = append(ids, place.ID)
		}
		return ids
	}
	for range 3 {
		_, rev, err := f.Put(ctx, model.Feature{ID: "bus", Geometry: orb.Point{0, 0}, Properties: []byte(`{"line":1}`)}, kv.Condition{IfAbsent: true})
		is(err, nil)
		if got := at(0); !slices.Equal(got, []string{"bus"}) {
			t.Fatalf("at 0: %q", got)
		}
		_, _, err = f.Put(ctx, model.Feature{ID: "bus"}, kv.Condition{IfAbsent: true})
		is(err, kv.ErrExists)
		_, rev2, err := f.Put(ctx, model.Feature{ID: "bus", Geometry: orb.Point{50, 0}, Properties: []byte(`{"line":1}`)}, kv.Condition{IfRevision: rev})
		is(err, nil)
		if got := at(0); len(got) != 0 {
			t.Fatalf("at 0, after it moved: %q", got)
		}
		if got := at(50); !slices.Equal(got, []string{"bus"}) {
			t.Fatalf("at 50: %q", got)
		}
		_, err = f.Patch(ctx, "bus", []byte(`{"late":true}`), kv.Condition{IfRevision: rev})
		is(err, kv.ErrConflict)
		_, err = f.Patch(ctx, "bus", []byte(`{"late":true}`), kv.Condition{IfRevision: rev2})
		is(err, nil)
		got, err := f.Get(ctx, "bus")
		is(err, nil)
		if string(got.Properties) != `{"late":true,"line":1}` {
			t.Fatalf("%s", got.Properties)
		}
		n, err := f.DeleteWhere(ctx, model.FeatureQuery{Filter: "properties.late"})
		is(err, nil)
		if n != 1 {
			t.Fatalf("%d deleted", n)
		}
		_, err = f.Delete(ctx, "bus", kv.Condition{})
		is(err, kv.ErrNotFound)
		if got := at(50); len(got) != 0 {
			t.Fatalf("at 50, deleted: %q", got)
		}
	}
	_, _, err := f.Put(ctx, model.Feature{Geometry: orb.Point{0, 95}}, kv.Condition{})
	is(err, store.ErrFeature)
	for _, err := range f.Search(ctx, model.FeatureQuery{Filter: "properties."}) {
		is(err, filter.ErrFilter)
	}
	results, err := f.PutMany(ctx, []model.Feature{{ID: "a", Geometry: orb.Point{1, 1}}, {ID: "b", Geometry: orb.Point{1, 91}}, {ID: "c"}})
	is(err, nil)
	is(results[0].Err, nil)
	is(results[1].Err, store.ErrFeature)
	is(results[2].Err, nil)
	for _, id := range []string{"a", "c"} {
		_, err := f.Delete(ctx, id, kv.Condition{})
		is(err, nil)
	}
}

// A Local behaves the same without a network, and has kept everything when reopened.
func TestLocal(t *testing.T) {
	dir := t.TempDir()
	for round := range 3 {
		l, err := server.Open(t.Context(), dir, server.LocalOptions{SlabBytes: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			if _, err := l.Features("places"); !errors.Is(err, model.ErrUnknownCollection) {
				t.Fatal(err)
			}
		}
		if err := l.CreateFeatures(t.Context(), "places", model.FeaturesOptions{}); err != nil {
			t.Fatal(err)
		}
		f, err := l.Features("places")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := f.Count(t.Context(), model.FeatureQuery{}); err != nil || n != round {
			t.Fatalf("%d, %v", n, err)
		}
		changeFeatures(t, f)
		if _, _, err := f.Put(t.Context(), model.Feature{}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Get(t.Context(), "bus"); !errors.Is(err, store.ErrClosed) {
			t.Fatalf("after Close: %v", err)
		}
	}
}

// An offloaded search with cached nodes takes two round trips: one for a leaf, and
// one for all records. The server has no part in it.
func TestFeaturesOffloaded(t *testing.T) {
	s := startFeatures(t, server.Options{})
	r := rand.New(rand.NewPCG(1, 2))
	for _, tr := range oneSided {
		f := dialFeatures(t, s, Options{Transport: tr, Policy: "offload-cached", Shared: new(Shared)})
		var all []model.Feature
		for i := range 2000 {
			all = append(all, model.Feature{ID: fmt.Sprint(i), Geometry: orb.Point{r.Float64(), r.Float64()}})
		}
		if _, err := f.PutMany(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		at := func(i int) model.FeatureQuery {
			p := all[i].Geometry.(orb.Point)
			// Also areas so small that one at random would contain hardly anything.
			h := []float64{0.01, 1e-6}[i%2]
			return model.FeatureQuery{Area: query.Box(p[0]-h, p[1]-h, p[0]+h, p[1]+h)}
		}
		trips, n := uint64(0), 0
		for i := range all {
			found, x, err := f.Explain(t.Context(), at(i))
			if err != nil || !slices.ContainsFunc(found, func(f model.Feature) bool { return f.ID == all[i].ID }) {
				t.Fatalf("%s: %v, %v", tr, found, err)
			}
			if i < len(all)/2 {
				continue // not before the inner nodes are cached
			}
			if x.Path != "offload" || x.FellBack {
				t.Fatalf("%s: %+v", tr, x)
			}
			trips += x.RoundTrips
			n++
		}
		if mean := float64(trips) / float64(n); mean > 2.01 {
			t.Errorf("%s: %.2f round trips a search", tr, mean)
		}
		if n, err := f.DeleteWhere(t.Context(), model.FeatureQuery{}); n != len(all) || err != nil {
			t.Fatal(n, err)
		}
	}
}

// The nearest by great circle are not those by degrees, which the tree has.
func TestNearestOffloaded(t *testing.T) {
	s := startFeatures(t, server.Options{})
	r := rand.New(rand.NewPCG(1, 2))
	f := dialFeatures(t, s, Options{Policy: "offload-cached", Shared: new(Shared)})
	var all []model.Feature
	for i := range 2000 {
		all = append(all, model.Feature{ID: fmt.Sprint(i), Geometry: orb.Point{r.Float64() * 40, 60 + r.Float64()*25}})
	}
	if _, err := f.PutMany(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	c, err := s.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	by := clientOf(f)
	for range 100 {
		q := model.NearestQuery{X: r.Float64() * 40, Y: 60 + r.Float64()*25, K: 1 + r.IntN(10)}
		want := allFound(t, func(yield func(*store.Found) (bool, error)) error { return c.Nearest(t.Context(), q.OfStore(), yield) })
		var got []model.Feature
		for place, err := range f.Nearest(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, place)
		}
		samePlaces(t, q, got, want, true)
	}
	if n := by.Counters().FellBack; n > 10 {
		t.Errorf("%d of 100 were asked for", n)
	}
}

// A feature that exceeds a message is put in parts, and read whole.
func TestLargeFeatures(t *testing.T) {
	s := startFeatures(t, server.Options{})
	ctx := t.Context()
	ring := make(orb.Ring, 0, 60_001)
	for i := range 60_000 {
		a := 2 * math.Pi * float64(i) / 60_000
		ring = append(ring, orb.Point{10 + math.Cos(a), 10 + math.Sin(a)})
	}
	ring = append(ring, ring[0])
	small := model.Feature{ID: "small", Geometry: orb.Point{10, 10}}
	for _, p := range kvPaths() {
		f := dialFeatures(t, s, p.options())
		large := model.Feature{ID: "large " + p.name, Geometry: orb.Polygon{ring}, Properties: []byte(`{"a":1}`)}
		results, err := f.PutMany(ctx, []model.Feature{small, large, small})
		if err != nil || results[1].Err != nil || results[2].Revision <= results[1].Revision {
			t.Fatalf("%s: %v, %v", p.name, err, results)
		}
		large.Revision = results[1].Revision
		got, err := f.Get(ctx, large.ID)
		if err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		samePlaces(t, p.name, []model.Feature{got}, []model.Feature{large}, true)
		n := 0
		for place, err := range f.Search(ctx, model.FeatureQuery{Area: query.Box(10, 10, 10.1, 10.1)}) {
			if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			if n++; place.ID == large.ID {
				samePlaces(t, p.name, []model.Feature{place}, []model.Feature{large}, true)
			}
		}
		if n != 2 {
			t.Errorf("%s: %d features, want 2", p.name, n)
		}
		// An answer has room for four of them: more answers follow.
		ids := []string{large.ID}
		more := 6
		if p.name != "tcp" && p.name != "shm/fast" && p.name != "shm/offload" {
			more = 0 // Each is a MiB.
		}
		for i := range more {
			large.ID = fmt.Sprint("more ", i)
			if _, _, err := f.Put(ctx, large, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, large.ID)
		}
		for _, q := range []model.FeatureQuery{{Order: query.ByID}, {Area: query.Box(8, 8, 12, 12)}, {Limit: 8}} {
			n = 0
			for _, err := range f.Search(ctx, q) {
				if err != nil {
					t.Fatalf("%s: %v", p.name, err)
				}
				n++
			}
			if want := 2 + more; n != want {
				t.Errorf("%s: %+v: %d features, want %d", p.name, q, n, want)
			}
		}
		for _, id := range ids {
			if _, err := f.Delete(ctx, id, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
