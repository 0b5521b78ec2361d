package client

import (
	"context"
	"errors"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// No path accepts an answer of a server that lost its features until it has some or the
// client accepts it. A server that has kept them answers as before.
func TestFeaturesRestarted(t *testing.T) {
	for _, p := range kvPaths() {
		t.Run(p.name, func(t *testing.T) {
			for _, dir := range []string{"", t.TempDir()} {
				l := newLives(t)
				l.opts.Features, l.opts.DataDir = map[string]model.FeaturesOptions{testFeatures: {}}, dir
				l.restart()
				c := dial(t, l.Server, p.options())
				f, err := c.Features(testFeatures)
				if err != nil {
					t.Fatal(err)
				}
				ctx := t.Context()
				if err := l.WaitReady(ctx); err != nil {
					t.Fatal(err)
				}
				if _, _, err := f.Put(ctx, model.Feature{ID: "a", Geometry: orb.Point{1, 1}}, kv.Condition{}); err != nil {
					t.Fatal(err)
				}
				l.restart()
				if err := l.WaitReady(ctx); err != nil {
					t.Fatal(err)
				}
				reads := map[string]func() (n int, err error){
					"count":  func() (int, error) { return f.Count(ctx, model.FeatureQuery{}) },
					"search": func() (int, error) { return number(f.Search(ctx, model.FeatureQuery{Area: query.Box(0, 0, 2, 2)})) },
					"all":    func() (int, error) { return number(f.Search(ctx, model.FeatureQuery{})) },
					"near":   func() (int, error) { return number(f.Nearest(ctx, model.NearestQuery{K: 1})) },
					"get":    func() (int, error) { _, err := f.Get(ctx, "a"); return 1, err },
					"fields": func() (int, error) {
						_, err := f.GetFields(ctx, []string{"a"}, model.FeatureFields{NoGeometry: true})
						return 1, err
					},
					"describe": func() (int, error) { d, err := f.Describe(ctx); return d.Features, err },
				}
				for name, read := range reads {
					n, err := read()
					if dir == "" && !errors.Is(err, model.ErrRestarted) {
						t.Errorf("%s: %d, %v, want %v", name, n, err, model.ErrRestarted)
					}
					if dir != "" && (n != 1 || err != nil) {
						t.Errorf("%s: %d, %v, want what was kept", name, n, err)
					}
				}
				if dir != "" {
					continue
				}
				c.AcceptRestart()
				if n, err := f.Count(ctx, model.FeatureQuery{}); n != 0 || err != nil {
					t.Errorf("accepted: %d, %v", n, err)
				}
			}
		})
	}
}

func number(all func(func(model.Feature, error) bool)) (n int, err error) {
	for _, err := range all {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// A server that is loading its kept collections is not taken for an empty one.
func TestFeaturesWhileLoading(t *testing.T) {
	s := startServer(t, server.Options{Features: map[string]model.FeaturesOptions{testFeatures: {}}, Loading: []string{testFeatures}})
	for _, p := range kvPaths() {
		f, err := dial(t, s, p.options()).Features(testFeatures)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if n, err := f.Count(ctx, model.FeatureQuery{}); !errors.Is(err, model.ErrNotReady) {
			t.Errorf("%s: count %d, %v", p.name, n, err)
		}
		if d, err := f.Describe(ctx); !errors.Is(err, model.ErrNotReady) {
			t.Errorf("%s: %+v, %v", p.name, d, err)
		}
		cancel()
	}
}
