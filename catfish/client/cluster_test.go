package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/boottime"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/longer"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// Several groups answer as one server does, whatever path the client takes.
func TestSeveralGroupsAnswerAsOneServer(t *testing.T) {
	one := dialFeatures(t, startFeatures(t, server.Options{}), Options{})
	k := startCluster(t, "a", "b", "c")
	first := k.dial(t, k.addr(1), Options{})
	ctx := t.Context()
	for range 2 { // the second time it exists
		if err := first.CreateFeatures(ctx, testFeatures, model.FeaturesOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	var all []model.Feature
	for i := range 4000 {
		all = append(all, testPlace(r, i))
	}
	for _, f := range []*model.Features{one, features(t, first)} {
		results, err := f.PutMany(ctx, all)
		if err != nil {
			t.Fatal(err)
		}
		for i, res := range results {
			if res.Err != nil || res.ID != all[i].ID || res.Revision == 0 || !res.Created {
				t.Fatalf("%d: %+v", i, res)
			}
		}
	}
	for _, g := range k.groups {
		c, err := g.s.Features(testFeatures)
		if err != nil || c.Len() < 1000 || c.Len() > 1700 {
			t.Fatalf("group %s has %d features, %v", g.name, c.Len(), err)
		}
	}
	queries := []model.FeatureQuery{
		{},
		{Area: query.Box(-10, -10, -9, -9)},
		{Area: query.Box(-1, -1, 1, 1), Filter: "properties.n > 6"},
		{Area: query.Circle(3, 3, 200_000), Order: query.ByID, Limit: 7},
		{Area: query.Box(-10, -10, 10, 10), Order: query.ByID, Limit: 2500},
		{Filter: "properties.n == 3", Order: query.ByID},
		{Order: query.ByID, Limit: 10, After: "place 2"},
		{Area: query.Box(20, -90, 60, 90)},
		{Area: query.Box(100, 80, 101, 81)}, // nothing
	}
	for _, p := range clusterPaths() {
		t.Run(p.name, func(t *testing.T) {
			c := k.dial(t, k.addr(0), p.options())
			f := features(t, c)
			for _, q := range queries {
				want, got := collect(t, q, one.Search(ctx, q)), collect(t, q, f.Search(ctx, q))
				samePlaces(t, q, got, want, q.Order == query.ByID)
				wantN, err := one.Count(ctx, q)
				if err != nil {
					t.Fatal(err)
				}
				if n, err := f.Count(ctx, q); n != wantN || err != nil {
					t.Errorf("%+v: %d, %v, want %d", q, n, err, wantN)
				}
			}
			q := model.FeatureQuery{Area: query.Box(-10, -10, 10, 10), Limit: 30}
			if got := collect(t, q, f.Search(ctx, q)); len(got) != 30 {
				t.Errorf("%d features, want the limit of 30", len(got))
			}
			for _, q := range []model.NearestQuery{{X: 1, Y: 1, K: 10}, {X: 1, Y: 1, K: 3, Filter: "properties.n == 9"}, {X: 0, Y: 0, Within: 100_000}} {
				samePlaces(t, q, collect(t, q, f.Nearest(ctx, q)), collect(t, q, one.Nearest(ctx, q)), true)
			}
			ids := []string{all[5].ID, "nobody", all[1999].ID, all[5].ID, all[7].ID}
			want, err := one.GetMany(ctx, ids)
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.GetMany(ctx, ids)
			if err != nil {
				t.Fatal(err)
			}
			samePlaces(t, ids, withoutRevisions(got), withoutRevisions(want), true)
			if _, err := f.Get(ctx, "nobody"); !errors.Is(err, model.ErrNotFound) {
				t.Error(err)
			}
			found, x, err := f.Explain(ctx, model.FeatureQuery{Area: query.Box(-1, -1, 1, 1), Order: query.ByID})
			if err != nil || len(x.Groups) != 3 || x.Results != len(found) || !slices.IsSortedFunc(found, func(a, b model.Feature) int { return strings.Compare(a.ID, b.ID) }) {
				t.Errorf("%d features, %+v, %v", len(found), x, err)
			}
			if kind, err := c.Kind(ctx); kind != model.KindBoxes || err != nil {
				t.Error(kind, err)
			}
		})
	}
	wantInfo, err := one.Describe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	info, err := features(t, first).Describe(ctx)
	if err != nil || info.Features != wantInfo.Features || fmt.Sprint(info.Geometries, info.Properties, *info.Extent) != fmt.Sprint(wantInfo.Geometries, wantInfo.Properties, *wantInfo.Extent) {
		t.Errorf("%+v, %v, want %+v", info, err, wantInfo)
	}
	l, err := first.Collections(ctx)
	if err != nil || len(l) != 2 || l[1].Name != testFeatures || l[1].Objects != 4000 {
		t.Errorf("%+v, %v", l, err)
	}
	wheres := []model.FeatureQuery{{Area: query.Box(-1, -1, 1, 1)}, {Filter: "properties.n == 3"}, {}}
	for _, q := range wheres {
		want, err := one.DeleteWhere(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := features(t, first).DeleteWhere(ctx, q); n != want || want == 0 || err != nil {
			t.Errorf("%+v: %d deleted, %v, want %d", q, n, err, want)
		}
	}
	if was, err := first.DropCollection(ctx, testFeatures); !was || err != nil {
		t.Error(was, err)
	}
	if _, err := features(t, first).Count(ctx, model.FeatureQuery{}); !errors.Is(err, model.ErrUnknownCollection) {
		t.Error(err)
	}
}

// Each write goes to the group of its id, and what cannot be stored has a result of its own.
func TestWritesToSeveralGroups(t *testing.T) {
	k := startCluster(t, "a", "b")
	c := k.dial(t, k.addr(0)+","+k.addr(1), Options{})
	ctx := t.Context()
	if err := c.CreateFeatures(ctx, testFeatures, model.FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}
	f := features(t, c)
	id, _, err := f.Put(ctx, model.Feature{Geometry: orb.Point{1, 2}, Properties: []byte(`{"n":1}`)}, model.Condition{})
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	if _, err := f.Patch(ctx, id, []byte(`{"n":2}`), model.Condition{}); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Get(ctx, id); err != nil || string(got.Properties) != `{"n":2}` {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err := f.Put(ctx, model.Feature{ID: id}, model.Condition{IfAbsent: true}); !errors.Is(err, model.ErrExists) {
		t.Error(err)
	}
	some := []model.Feature{{ID: id}, {}, {ID: "bad", Properties: []byte(`[`)}, {ID: "x"}, {ID: "y"}, {}}
	results, err := f.PutManyIf(ctx, some, model.Condition{IfAbsent: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{model.ErrExists, nil, model.ErrFeature, nil, nil, nil} {
		if r := results[i]; !errors.Is(r.Err, want) || want == nil && (r.Err != nil || r.ID == "" || !r.Created) {
			t.Errorf("%d: %+v, want %v", i, r, want)
		}
	}
	if _, err := f.Delete(ctx, id, model.Condition{}); err != nil {
		t.Error(err)
	}
	if _, err := f.Delete(ctx, id, model.Condition{}); !errors.Is(err, model.ErrNotFound) {
		t.Error(err)
	}
}

// What is not routed is refused by name, and no group answers it alone.
func TestWhatSeveralGroupsRefuse(t *testing.T) {
	k := startCluster(t, "a", "b")
	c := k.dial(t, k.addr(0), Options{})
	ctx := t.Context()
	count := func() error { _, err := c.Count(ctx, rstar.Rect{}); return err }
	backup := func() error { _, err := c.Backup(ctx, "b"); return err }
	watch := func() error {
		for _, err := range features(t, c).Watch(ctx, model.WatchQuery{From: 3}) {
			return err
		}
		return nil
	}
	many := func() error {
		return c.SearchMany(ctx, make([]rstar.Rect, 3), func(int, []rstar.Item) error { return nil })
	}
	for _, r := range []struct {
		want string
		do   func() error
	}{
		{"not placed", func() error { return c.Insert(ctx, rstar.Rect{}, 1) }}, {"not placed", count}, {"not placed", many},
		{`"x"`, func() error { return c.CreateCollection(ctx, "x") }},
		{"backups", backup}, {"watch from", watch},
		{"swapping names", func() error { return c.SwapCollections(ctx, "a", "b") }},
	} {
		if err := r.do(); !errors.Is(err, model.ErrSeveralGroups) || !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s: %v", r.want, err)
		}
	}
	if c.AcceptRestart(); !strings.Contains(c.Info().Reason, "2 groups") {
		t.Errorf("%+v", c.Info())
	}
	if _, err := Dial(ctx, k.addr(0), Options{Custom: &probe{}, Logger: quiet()}); !errors.Is(err, model.ErrOption) {
		t.Errorf("one policy for all groups: %v", err)
	}
}

// A part of the data moves from one group to another while requests are made by the old map.
func TestTheMapChanges(t *testing.T) {
	for _, p := range clusterPaths() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			k := startCluster(t, "a", "b")
			ctx := t.Context()
			c := k.dial(t, k.addr(0), p.options())
			if err := c.CreateFeatures(ctx, testFeatures, model.FeaturesOptions{}); err != nil {
				t.Fatal(err)
			}
			f := features(t, c)
			for i := range 200 {
				if _, _, err := f.Put(ctx, model.Feature{ID: fmt.Sprint(i), Geometry: orb.Point{float64(i) / 100, 1}}, model.Condition{}); err != nil {
					t.Fatal(err)
				}
			}
			all := model.FeatureQuery{Area: query.Box(-1, -1, 5, 5)}
			counts := func(want int) {
				t.Helper()
				if n, err := f.Count(ctx, all); n != want || err != nil {
					t.Errorf("%d features, %v, want %d", n, err, want)
				}
				if got := collect(t, all, f.Search(ctx, all)); len(got) != want {
					t.Errorf("%d found, want %d", len(got), want)
				}
				paged := model.FeatureQuery{Order: query.ByID}
				if got := collect(t, paged, f.Search(ctx, paged)); len(got) != want {
					t.Errorf("%d found in pages, want %d", len(got), want)
				}
			}
			k.grant(time.Second)
			counts(200)
			// All of b's slots move to a, when no client believes reads by the old map.
			catfishtest.Eventually(t, "leases end", func() bool {
				return boottime.Now() > k.groups[0].lease.Lease().Until && boottime.Now() > k.groups[1].lease.Lease().Until
			})
			k.grant(time.Hour)
			to, from := k.move(t, 1, 0)
			for _, place := range allFound(t, func(yield func(*store.Found) (bool, error)) error { return from.Search(ctx, query.Query{}, yield) }) {
				if _, _, err := to.Put(ctx, store.Feature(place), kv.Condition{}); err != nil {
					t.Fatal(err)
				}
				if _, err := from.Delete(ctx, place.ID, kv.Condition{}); err != nil {
					t.Fatal(err)
				}
			}
			k.publish(t, k.groups[0]) // before b reads it
			time.AfterFunc(30*time.Millisecond, func() { k.publish(t, k.groups[1]) })
			counts(200)
			if got, err := f.Get(ctx, "7"); err != nil || got.ID != "7" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// move gives all slots of one group to another, in a map that no server has yet.
func (k *testCluster) move(t testing.TB, from, to int) (toF, fromF *store.Collection) {
	t.Helper()
	k.slots = slices.Clone(k.slots)
	for i := range k.slots {
		if k.slots[i] == uint8(from) {
			k.slots[i] = uint8(to)
		}
	}
	k.now.Version++
	k.now.Epoch = k.now.Version
	local := func(i int) *store.Collection { return k.local(t, i) }
	return local(to), local(from)
}

// local is a group's collection, behind the back of clients.
func (k *testCluster) local(t testing.TB, i int) *store.Collection {
	t.Helper()
	c, err := k.groups[i].s.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Copies that a group has of what is not its own are not seen by reads of its memory.
func TestReadsSeeNoCopies(t *testing.T) {
	for _, tr := range oneSided {
		k := startCluster(t, "a", "b")
		ctx := t.Context()
		c := k.dial(t, k.addr(0), Options{Transport: tr, Policy: "offload"})
		if err := c.CreateFeatures(ctx, testFeatures, model.FeaturesOptions{}); err != nil {
			t.Fatal(err)
		}
		f := features(t, c)
		for i := range 50 {
			if _, _, err := f.Put(ctx, model.Feature{ID: fmt.Sprint(i), Geometry: orb.Point{float64(i) / 100, 1}}, model.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		for g := range k.groups {
			for i := range 50 {
				if _, _, err := k.local(t, g).Put(ctx, store.Feature{ID: fmt.Sprint(i), Geometry: orb.Point{float64(i) / 100, 1}}, kv.Condition{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		q := model.FeatureQuery{Area: query.Box(-1, -1, 5, 5)}
		n, err := f.Count(ctx, q)
		got := collect(t, q, f.Search(ctx, q))
		near := collect(t, q, f.Nearest(ctx, model.NearestQuery{X: 0, Y: 1, K: 10}))
		ids := map[string]bool{}
		for _, f := range near {
			ids[f.ID] = true
		}
		if n != 50 || err != nil || len(got) != 50 || len(ids) != 10 {
			t.Errorf("%s: %d counted, %v, %d found, %d of the 10 nearest", tr, n, err, len(got), len(ids))
		}
		if x := c.Counters(); x.OffloadedSearches == 0 || x.FellBack > 0 {
			t.Errorf("%s: %+v", tr, x)
		}
	}
}

// A watch of several groups gives the events of all, those of an id in order, and ends when
// parts move.
func TestWatchSeveralGroups(t *testing.T) {
	k := startCluster(t, "a", "b", "c")
	c := k.dial(t, k.addr(0), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := c.CreateFeatures(ctx, testFeatures, model.FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}
	f := features(t, c)
	const ids, times = 30, 5
	last, n := map[string]string{}, 0
	enough := make(chan struct{})
	stands, ended := follow(ctx, f, model.WatchQuery{}, func(e model.FeatureEvent) bool {
		if e.Resume != 0 || e.History != 0 {
			t.Errorf("an event with a revision of one group to continue from: %+v", e)
		}
		if text := string(e.Feature.Properties); text <= last[e.ID] {
			t.Errorf("%s: %s after %s", e.ID, text, last[e.ID])
		} else {
			last[e.ID] = text
		}
		if n++; n == ids*times {
			close(enough)
		}
		return true
	})
	<-stands
	for i := range times {
		var under sync.WaitGroup
		for id := range ids {
			under.Go(func() {
				place := model.Feature{ID: fmt.Sprint(id), Geometry: orb.Point{1, 1}, Properties: fmt.Appendf(nil, `{"n":%d}`, i)}
				if _, _, err := f.Put(ctx, place, model.Condition{}); err != nil {
					t.Error(err)
				}
			})
		}
		under.Wait()
	}
	<-enough
	k.move(t, 1, 0)
	k.publish(t, k.groups...)
	if _, err := f.Count(ctx, model.FeatureQuery{}); err != nil { // The client learns of it.
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, model.ErrLagged) {
		t.Errorf("a watch during which parts moved ended with %v", err)
	}
	// A caller that has enough ends it.
	for e, err := range f.Watch(ctx, model.WatchQuery{Progress: true}) {
		if err != nil || e.Kind != query.Progress {
			t.Error(e, err)
		}
		break
	}
}

// A group whose servers all have other addresses than before is found by the map, of which
// another group knows them.
func TestAGroupHasMoved(t *testing.T) {
	k, f, all := oneOfEach(t)
	ctx := t.Context()
	of := k.groups[1]
	of.s.Close()
	if _, err := f.Get(ctx, all[1].ID); !errors.Is(err, model.ErrNoServer) {
		t.Fatalf("a group that is down: %v", err)
	}
	of.start(t)
	k.now.Groups = slices.Clone(k.now.Groups)
	k.now.Groups[1].Members = []string{of.s.Addr()}
	k.publish(t, k.groups...)
	catfishtest.Eventually(t, "the group is found", func() bool {
		_, err := f.Get(ctx, all[1].ID)
		if err != nil && !errors.Is(err, model.ErrNoServer) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// Requests of ids of other groups continue while a group is down or slow.
func TestAGroupIsDown(t *testing.T) {
	k, f, all := oneOfEach(t)
	ctx := t.Context()
	of := map[string]string{"a": all[0].ID, "b": all[1].ID}
	k.groups[1].s.PauseWorkers() // slow
	// In 100 ms, if the other group answers in them.
	longer.Measure(t, 100*time.Millisecond, func(d time.Duration) error {
		soon, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		_, err := f.Count(soon, model.FeatureQuery{})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a group that does not answer in time: %v", err)
		} else if !strings.Contains(err.Error(), `group "b"`) {
			return err
		}
		return nil
	})
	if _, err := f.Get(ctx, of["a"]); err != nil {
		t.Error(err)
	}
	k.groups[1].s.ResumeWorkers()
	if n, err := f.Count(ctx, model.FeatureQuery{}); n != 2 || err != nil {
		t.Error(n, err)
	}
	k.groups[1].s.Close()
	if _, err := f.Count(ctx, model.FeatureQuery{}); !errors.Is(err, model.ErrNoServer) || !strings.Contains(err.Error(), `group "b"`) {
		t.Errorf("a group that is down: %v", err)
	}
	if _, _, err := f.Put(ctx, model.Feature{ID: of["b"]}, model.Condition{}); err == nil || !strings.Contains(err.Error(), `group "b"`) {
		t.Errorf("a write to a group that is down: %v", err)
	}
	results, err := f.PutMany(ctx, []model.Feature{{ID: of["a"]}, {ID: of["b"]}})
	var part *wire.PartlyDone
	if !errors.As(err, &part) || part.Done != 1 || results[0].Err != nil || results[1].Err == nil {
		t.Errorf("%+v, %v", results, err)
	}
	if _, err := f.Get(ctx, of["a"]); err != nil {
		t.Error(err)
	}
	other := k.dial(t, k.addr(0), Options{DialTimeout: 300 * time.Millisecond})
	if _, err := features(t, other).Get(ctx, of["a"]); err != nil {
		t.Error(err)
	}
	results, err = features(t, other).PutMany(ctx, []model.Feature{{ID: of["b"]}, {ID: of["a"]}})
	if !errors.As(err, &part) || part.Done != 1 || !errors.Is(results[0].Err, model.ErrNoServer) || results[1].Err != nil {
		t.Errorf("%+v, %v", results, err)
	}
	if _, err := features(t, other).Get(ctx, of["b"]); !errors.Is(err, model.ErrNoServer) || !strings.Contains(err.Error(), `group "b"`) {
		t.Error(err)
	}
}

// Records are got, put, deleted and scanned at the group of their key.
func TestRecordsOfSeveralGroups(t *testing.T) {
	k := startCluster(t, "a", "b", "c")
	ctx := t.Context()
	for _, p := range clusterPaths() {
		c := k.dial(t, k.addr(0), p.options())
		for _, o := range []model.RecordsOptions{{}, {Shards: 3}} {
			if err := c.CreateRecords(ctx, testRecords, o); err != nil {
				t.Fatal(err)
			}
			r, err := c.Records(testRecords)
			if err != nil {
				t.Fatal(err)
			}
			var keys [][]byte
			for i := range 300 {
				keys = append(keys, testKey(i))
				if _, err := r.Put(ctx, model.Record{Key: testKey(i), Value: fmt.Append(nil, i)}, model.Condition{}); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.Delete(ctx, keys[9], model.Condition{}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Get(ctx, keys[9], nil); !errors.Is(err, model.ErrNotFound) {
				t.Error(err)
			}
			if rec, err := r.Get(ctx, keys[8], []byte("x")); string(rec.Value) != "x8" || err != nil {
				t.Errorf("%s, %v", rec.Value, err)
			}
			if at, err := r.Shard(ctx, keys[8]); (at == nil) != (o.Shards == 0) || at != nil && at.Of != 3 || err != nil {
				t.Errorf("shard %+v, %v", at, err)
			}
			if rec, x, err := r.Explain(ctx, keys[8]); string(rec.Value) != "8" || err != nil || x.Results != 1 {
				t.Errorf("%s, %+v, %v", rec.Value, x, err)
			}
			got, err := r.GetMany(ctx, keys, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, rec := range got {
				if want := fmt.Sprint(i); i != 9 && string(rec.Value) != want || (rec.Revision == 0) != (i == 9) || string(rec.Key) != string(keys[i]) {
					t.Errorf("%s: %d: %+v", p.name, i, rec)
				}
			}
			seen := map[string]int{}
			for rec, err := range r.Scan(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				seen[string(rec.Key)]++
			}
			if len(seen) != 299 {
				t.Errorf("%s: a scan of %d records, want 299", p.name, len(seen))
			}
			if was, err := c.DropCollection(ctx, testRecords); !was || err != nil {
				t.Error(was, err)
			}
		}
	}
}
