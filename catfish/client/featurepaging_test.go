package client

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

var paged = flag.Int("paged", 20_000, "how many features TestPagingBesideWriters goes through")

// TestPagingBesideWriters: clients of every path page through all features in the
// order of ids while others move them, delete them and put them back. A feature that
// exists throughout comes exactly once, none comes twice, and each comes as some write
// made it, no older than the writes acknowledged before its page was requested.
func TestPagingBesideWriters(t *testing.T) {
	s := startFeatures(t, server.Options{SlabBytes: max(256<<20, int64(*paged)*2048)})
	n := *paged / catfishtest.RaceFactor
	ctx := t.Context()
	id := func(i int) string { return fmt.Sprintf("place %07d", i) }
	// Of four features one stays as it is, one is moved, one comes and goes, and one
	// does not exist at first: new ids between old ones.
	stays := func(i int) bool { return i%4 < 2 }
	at := func(i int, version uint64) orb.Point {
		return orb.Point{float64(i%300) - 150, float64((uint64(i)+version)%120) - 60}
	}
	place := func(i int, version uint64) model.Feature {
		return model.Feature{ID: id(i), Geometry: at(i, version), Properties: fmt.Appendf(nil, `{"i":%d,"v":%d}`, i, version)}
	}
	filler := dialFeatures(t, s, Options{})
	var all []model.Feature
	for i := range n {
		if i%4 != 3 {
			all = append(all, place(i, 0))
		}
	}
	results, err := filler.PutMany(ctx, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	moved := make([]atomic.Uint64, n) // the last acknowledged version
	var over atomic.Bool
	var writes atomic.Int64
	var writers sync.WaitGroup
	const hands = 3
	for w, p := range []path{{transport: model.TransportTCP, policy: "tcp"}, {transport: oneSided[0]}, {transport: oneSided[len(oneSided)-1]}} {
		f := dialFeatures(t, s, p.options())
		writers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 4))
			for version := uint64(1); !over.Load(); version++ {
				i := r.IntN(n/hands)*hands + w // of this writer
				var err error
				switch {
				case i%4 == 0:
					continue
				case i%4 > 1 && r.IntN(2) == 0:
					if _, err = f.Delete(ctx, id(i), kv.Condition{}); errors.Is(err, kv.ErrNotFound) {
						err = nil
					}
				default:
					if _, _, err = f.Put(ctx, place(i, version), kv.Condition{}); err == nil {
						moved[i].Store(version)
					}
				}
				if err != nil {
					t.Errorf("write: %v", err)
					return
				}
				writes.Add(1)
			}
		})
	}
	area := query.Box(-180, -90, 180, 90)
	var readers sync.WaitGroup
	for k, p := range kvPaths() {
		f := dialFeatures(t, s, p.options())
		readers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(k), 6))
			q := model.FeatureQuery{Order: query.ByID}
			if k%2 == 1 {
				q.Area = area
			}
			seen, last := 0, ""
			for pages := 0; ; pages++ {
				if q.Limit = 1 + r.IntN(n/10); q.Limit > 1000 && r.IntN(2) == 0 {
					q.Limit = 1000
				}
				first := last
				// Versions of features in the next page, from a sample.
				var before [64]uint64
				each := n / len(before) / 4 * 4
				for j := range before {
					before[j] = moved[j*each+1].Load()
				}
				got := 0
				for place, err := range f.Search(ctx, q) {
					if err != nil {
						t.Errorf("%s, after %q: %v", p.name, first, err)
						return
					}
					var i int
					var version uint64
					if _, err := fmt.Sscanf(string(place.Properties), `{"i":%d,"v":%d}`, &i, &version); err != nil || place.ID != id(i) || !orb.Equal(place.Geometry, at(i, version)) {
						t.Errorf("%s: %+v, %v", p.name, place, err)
						return
					}
					if place.ID <= last {
						t.Errorf("%s: %q after %q", p.name, place.ID, last)
						return
					}
					if i%each == 1 && i/each < len(before) && version < before[i/each] {
						t.Errorf("%s: %q, version %d, after %d was acknowledged", p.name, place.ID, version, before[i/each])
					}
					if stays(i) {
						seen++
					}
					last = place.ID
					got++
				}
				if got < q.Limit {
					break
				}
				q.After = last
			}
			if want := n/4*2 + min(n%4, 2); seen != want {
				t.Errorf("%s: %d of %d that were there throughout", p.name, seen, want)
			}
		})
	}
	readers.Wait()
	over.Store(true)
	writers.Wait()
	t.Logf("%d features, %d writes meanwhile", n, writes.Load())
	if writes.Load() < 100 {
		t.Error("too few writes to say anything")
	}
}
