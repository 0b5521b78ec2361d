package server

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// TestFeaturesExpireMeanwhile: a client that learned the server's clock before sees a
// feature until it expires, and then no more. The client's clock is wrong by as much as
// the answer with the clock took.
func TestFeaturesExpireMeanwhile(t *testing.T) {
	s := startFeatures(t, Options{})
	ctx := t.Context()
	var clients []*model.Features
	var slack time.Duration
	ps := kvPaths()
	for _, p := range ps {
		f := dialFeatures(t, s, p.options())
		asked := time.Now()
		if _, err := f.Get(ctx, "none"); !errors.Is(err, kv.ErrNotFound) {
			t.Fatal(err)
		}
		slack = max(slack, time.Since(asked))
		clients = append(clients, f)
	}
	ends := s.now() + 300*time.Millisecond
	place := model.Feature{ID: "soon gone", Geometry: orb.Point{1, 1}, Expires: time.Unix(0, int64(ends))}
	if _, _, err := clients[0].Put(ctx, place, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i, f := range clients {
		all.Go(func() {
			for seen, n := 2, 0; seen > 0; n++ {
				before := s.now()
				_, err := f.Get(ctx, place.ID)
				got, after := err == nil, s.now()
				if err != nil && !errors.Is(err, kv.ErrNotFound) {
					t.Errorf("%s: %v", ps[i].name, err)
					return
				}
				if n%2 == 1 {
					got, before = false, s.now()
					for _, err := range f.Search(ctx, model.FeatureQuery{Area: query.Box(0, 0, 2, 2)}) {
						if got = true; err != nil {
							t.Errorf("%s: %v", ps[i].name, err)
							return
						}
					}
					after = s.now()
				}
				if got && before > ends+slack || !got && after < ends-slack {
					t.Errorf("%s: found: %t, %v to %v from when it expires, clocks differ by %v", ps[i].name, got, before-ends, after-ends, slack)
					return
				}
				if !got {
					seen-- // once by id, and once by area
				}
			}
		})
	}
	all.Wait()
}
