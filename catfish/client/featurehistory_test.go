package client

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/history"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// historyPlace is where write n puts a feature: a point, or three squares.
func historyPlace(n uint64) orb.Geometry {
	r := rand.New(rand.NewPCG(n, 5))
	x, y := r.Float64()*330-165, r.Float64()*100-50
	if r.IntN(3) > 0 {
		return orb.Point{x, y}
	}
	var all orb.MultiPolygon
	for i := range 3 {
		x, y := x/2+float64(i)*40-40, y+float64(i)*5
		all = append(all, orb.Polygon{{{x, y}, {x + 1, y}, {x + 1, y + 1}, {x, y + 1}, {x, y}}})
	}
	return all
}

// inBox reports whether a part of a place is in a box, which may cross 180 degrees.
func inBox(g orb.Geometry, box [4]float64) bool {
	parts := []orb.Bound{g.Bound()}
	if m, ok := g.(orb.MultiPolygon); ok {
		parts = nil
		for _, p := range m {
			parts = append(parts, p.Bound())
		}
	}
	for _, b := range parts {
		east := b.Min[0] <= box[2]
		west := b.Max[0] >= box[0]
		if (west && east || box[0] > box[2] && (west || east)) && b.Max[1] >= box[1] && b.Min[1] <= box[3] {
			return true
		}
	}
	return false
}

// TestFeatureHistories: clients of every path get, find, put, patch and delete the same
// features; the observed states of each must be linearizable, by id and by area together,
// and no search returns one twice. Other features come and go, so that nodes split
// meanwhile.
func TestFeatureHistories(t *testing.T) {
	s := startFeatures(t, server.Options{Workers: 2, NodeBytes: 704})
	const features = 6
	rounds := max(48/catfishtest.RaceFactor, 12)
	h := history.NewKeys()
	var clients sync.WaitGroup
	var writes atomic.Uint64
	var places sync.Map // write -> the one that set its geometry
	place := func(n uint64) orb.Geometry {
		g, _ := places.Load(n)
		return historyPlace(g.(uint64))
	}
	id := func(k int) string { return fmt.Sprint("tracked ", k) }
	written := func(f *model.Feature) (n uint64, err error) {
		if _, err := fmt.Sscanf(string(f.Properties), `{"n":%d}`, &n); err != nil {
			return 0, err
		}
		if _, ok := places.Load(n); !ok || !orb.Equal(f.Geometry, place(n)) {
			return n, fmt.Errorf("%q is at %v by write %d", f.ID, f.Geometry, n)
		}
		return n, nil
	}
	ps := kvPaths()
	for _, tr := range oneSided {
		for _, p := range []string{"offload", "offload-cached"} {
			ps = append(ps, path{name: tr + "/torn/" + p, transport: tr, policy: p, wrap: tearing})
		}
	}
	var searches atomic.Int64
	for i, p := range ps {
		f := dialFeatures(t, s, p.options())
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(8, uint64(i)))
			ctx := t.Context()
			find := func() {
				box := [4]float64{rng.Float64()*300 - 180, -90, 0, 90}
				switch box[2] = box[0] + rng.Float64()*(180-box[0]); rng.IntN(4) {
				case 0:
					box = [4]float64{-180, -90, 180, 90}
				case 1:
					box = [4]float64{20, -90, -20, 90} // over 180 degrees
				}
				call, seen := h.Now(), map[string]uint64{}
				for found, err := range f.Search(ctx, model.FeatureQuery{Area: query.Box(box[0], box[1], box[2], box[3])}) {
					if err != nil {
						t.Errorf("%s: search: %v", p.name, err)
						return
					}
					if found.ID[0] != 't' {
						continue
					}
					n, err := written(&found)
					if was, again := seen[found.ID]; err != nil || again || !inBox(found.Geometry, box) {
						t.Errorf("%s: search of %v: %q is %d, was %d, %v", p.name, box, found.ID, n, was, err)
						return
					}
					seen[found.ID] = n
				}
				searches.Add(1)
				for k := range features {
					if n, ok := seen[id(k)]; ok {
						h.Get(i, call, k, n)
						continue
					}
					h.Missed(i, call, k, func(n uint64) bool { return n != 0 && inBox(place(n), box) })
				}
			}
			get := func(k int) (now model.Feature, n uint64) {
				call := h.Now()
				now, err := f.Get(ctx, id(k))
				if err == nil {
					n, err = written(&now)
				}
				if err != nil && !errors.Is(err, kv.ErrNotFound) {
					t.Errorf("%s: get: %v", p.name, err)
				}
				h.Get(i, call, k, n)
				return now, n
			}
			outcome := func(what string, err, refused error) history.Outcome {
				if errors.Is(err, refused) {
					return history.Refused
				}
				if err != nil {
					t.Errorf("%s: %s: %v", p.name, what, err)
				}
				return history.Done
			}
			for n := range rounds {
				k := rng.IntN(features)
				switch rng.IntN(8) {
				case 0, 1:
					n, absent := writes.Add(1), rng.IntN(3) == 0
					places.Store(n, n)
					call := h.Now()
					_, _, err := f.Put(ctx, model.Feature{ID: id(k), Geometry: historyPlace(n), Properties: fmt.Appendf(nil, `{"n":%d}`, n)}, kv.Condition{IfAbsent: absent})
					h.Put(i, call, k, n, absent, outcome("put", err, kv.ErrExists))
				case 2:
					now, old := get(k)
					if old == 0 {
						break
					}
					g, _ := places.Load(old)
					n := writes.Add(1)
					places.Store(n, g)
					call := h.Now()
					_, err := f.Patch(ctx, id(k), fmt.Appendf(nil, `{"n":%d}`, n), kv.Condition{IfRevision: now.Revision})
					if !errors.Is(err, kv.ErrConflict) && !errors.Is(err, kv.ErrNotFound) {
						h.Put(i, call, k, n, false, outcome("patch", err, kv.ErrExists))
					}
				case 3:
					call := h.Now()
					_, err := f.Delete(ctx, id(k), kv.Condition{})
					h.Delete(i, call, k, outcome("delete", err, kv.ErrNotFound))
				case 4:
					get(k)
				default:
					find()
				}
				for j := range 3 { // others
					other := fmt.Sprintf("%d of %d", j, i)
					var err error
					if n%4 == 3 {
						_, err = f.Delete(ctx, other, kv.Condition{})
					} else {
						_, _, err = f.Put(ctx, model.Feature{ID: other, Geometry: historyPlace(uint64(rng.Int64()))}, kv.Condition{})
					}
					if err != nil {
						t.Errorf("%s: %q: %v", p.name, other, err)
					}
				}
			}
		})
	}
	clients.Wait()
	if err := h.Check(); err != nil {
		t.Error(err)
	}
	t.Logf("%d operations, %d searches", h.Len(), searches.Load())
	c, err := s.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Tree().Check(); err != nil {
		t.Error(err)
	}
}
