package client

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
)

// visible are the ids that each kind of read sees.
func visible(t *testing.T, f *model.Features, ids []string) map[string][]string {
	t.Helper()
	ctx := t.Context()
	got := map[string][]string{}
	for what, q := range map[string]model.FeatureQuery{"by area": {Area: query.Box(-180, -90, 180, 90)}, "by id": {Order: query.ByID}} {
		for place, err := range f.Search(ctx, q) {
			if err != nil {
				t.Fatal(err)
			}
			got[what] = append(got[what], place.ID)
		}
		n, err := f.Count(ctx, q)
		if err != nil || n != len(got[what]) {
			t.Errorf("%s: %d counted, %d found, %v", what, n, len(got[what]), err)
		}
	}
	for place, err := range f.Nearest(ctx, model.NearestQuery{K: len(ids)}) {
		if err != nil {
			t.Fatal(err)
		}
		got["nearest"] = append(got["nearest"], place.ID)
	}
	many, err := f.GetMany(ctx, ids)
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range many {
		if place.ID != "" {
			got["get"] = append(got["get"], place.ID)
		}
	}
	for _, found := range got {
		slices.Sort(found)
	}
	return got
}

func sees(t *testing.T, what string, f *model.Features, ids, want []string) {
	t.Helper()
	for how, got := range visible(t, f, ids) {
		if !slices.Equal(got, want) {
			t.Errorf("%s, %s: %q, want %q", what, how, got, want)
		}
	}
}

// TestFeaturesExpire: readers on all paths do not see features that have expired by the
// server's clock, whether deleted already or not; and the deletion is final: a server
// whose clock is behind does not have them again.
func TestFeaturesExpire(t *testing.T) {
	var ahead atomic.Int64
	began := time.Now()
	now := func() time.Duration {
		return time.Duration(began.UnixNano()) + time.Since(began) + time.Duration(ahead.Load())
	}
	l := newLives(t)
	l.stop()
	l.opts.SlabBytes, l.opts.DataDir = 64<<20, t.TempDir()
	l.opts = server.WithServerHooks(l.opts, func(h *wire.ServerHooks) { h.Now = now })
	l.opts.Features = map[string]model.FeaturesOptions{testFeatures: {}}
	l.start()
	ctx := t.Context()
	if err := l.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	f := dialFeatures(t, l.Server, Options{Transport: model.TransportTCP, Policy: "tcp"})
	var ids, stay []string
	for i := range 40 {
		place := model.Feature{ID: fmt.Sprintf("place %02d", i), Geometry: orb.Point{float64(i), 1}}
		ids = append(ids, place.ID)
		if i%2 == 0 {
			place.Expires = time.Unix(0, int64(now())).Add(time.Hour)
		} else {
			stay = append(stay, place.ID)
		}
		if _, _, err := f.Put(ctx, place, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range kvPaths() {
		sees(t, p.name+", before", dialFeatures(t, l.Server, p.options()), ids, ids)
	}
	ahead.Store(int64(2 * time.Hour))
	// Clients that offload learn the clock when they open a collection.
	for _, p := range kvPaths() {
		sees(t, p.name+", after", dialFeatures(t, l.Server, p.options()), ids, stay)
	}
	// A feature that is written again stays.
	if _, _, err := f.Put(ctx, model.Feature{ID: ids[0], Geometry: orb.Point{0, 2}}, kv.Condition{IfAbsent: true}); err != nil {
		t.Error(err)
	}
	stay = append([]string{ids[0]}, stay...)
	c, err := l.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	for c.Len() > len(stay) { // The server deletes expired ones.
		runtime.Gosched()
	}
	l.stop()
	ahead.Store(0)
	l.start()
	if err := l.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	for _, p := range kvPaths() {
		sees(t, p.name+", restarted", dialFeatures(t, l.Server, p.options()), ids, stay)
	}
}
