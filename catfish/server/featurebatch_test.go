package server

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
)

// Finds that a worker finds ready at once are answered like single ones: valid ones,
// those that cannot be batched, and those that fail, of several collections.
func TestFindBatchMatchesSingleFinds(t *testing.T) {
	for _, tr := range oneSided {
		s := startFeatures(t, Options{Transports: []string{tr}, Workers: 1})
		r := rand.New(rand.NewPCG(3, 1))
		var all []model.Feature
		for i := range 2000 {
			all = append(all, testPlace(r, i))
		}
		// More than the answers of a batch may have.
		all[4].Properties = append(append([]byte(`{"long":"`), slices.Repeat([]byte("x"), wire.ManyBytes)...), `"}`...)
		first := dialFeatures(t, s, client.Options{Transport: tr, Policy: "fast"})
		if _, err := first.PutMany(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		c, err := s.store.Lookup(testFeatures)
		if err != nil {
			t.Fatal(err)
		}
		boxes, err := s.store.Lookup(model.DefaultCollection)
		if err != nil {
			t.Fatal(err)
		}
		at := func(f model.Feature) *store.Area {
			b := f.Geometry.Bound()
			return query.Box(b.Min[0], b.Min[1], b.Max[0], b.Max[1])
		}
		type ask struct {
			coll uint32
			q    store.Query
		}
		asks := []ask{
			{c.Number, store.Query{Area: query.Box(-180, -90, 180, 90)}}, // too much to find at once
			{c.Number, store.Query{Area: at(all[4])}},
			{c.Number, store.Query{Area: query.Box(-10, -10, 10, 10), Limit: 40}},
			{c.Number, store.Query{Area: query.Box(170, 0, -170, 10)}},
			{c.Number, store.Query{Area: query.Box(0, 5, 1, 4)}}, // wrong
			{c.Number, store.Query{Area: at(all[7]), Relation: feature.Contains}},
			{c.Number, store.Query{Area: at(all[9]), Order: query.ByID}},
			{c.Number, store.Query{Area: at(all[9]), Filter: "properties.n == 9"}},
			{boxes.Number, store.Query{Area: at(all[9])}},
			{boxes.Number + 77, store.Query{Area: at(all[9])}},
		}
		for i := range 60 {
			q := store.Query{Area: at(all[r.IntN(len(all))])}
			if i%7 == 0 {
				q.Area = query.Box(50, -80, 51, -79) // nothing
			}
			if i%5 == 0 {
				q.Relation = feature.Within
			}
			asks = append(asks, ask{c.Number, q})
		}
		decode := func(kind fastmsg.Kind, ans []byte, limit int) (fs []model.Feature, err error) {
			if kind == wire.KindFailure {
				return nil, wire.GetFailure(ans)
			}
			for rest := slices.Clone(ans[1:]); len(rest) > 0; {
				f, after, err := wire.GetFeature(rest)
				if err != nil {
					return nil, err
				}
				fs, rest = append(fs, model.Feature(f.Feature())), after
			}
			slices.SortFunc(fs, func(a, b model.Feature) int { return cmp.Compare(a.ID, b.ID) })
			if limit > 0 { // which of them is open
				fs = make([]model.Feature, len(fs))
			}
			return fs, err
		}
		clients := []*client.Client{dial(t, s, client.Options{Transport: tr, Policy: "fast"}), dial(t, s, client.Options{Transport: tr, Policy: "fast"})}
		for round := range 5 {
			r.Shuffle(len(asks), func(i, j int) { asks[i], asks[j] = asks[j], asks[i] })
			s.PauseWorkers()
			var group sync.WaitGroup
			for _, by := range clients {
				for i, a := range asks {
					group.Go(func() {
						p, err := wire.AppendFindQuery(wire.AppendHead(nil, a.coll, 0), &a.q, feature.Geographic)
						if err != nil {
							t.Error(err)
							return
						}
						v := service{s: s, transport: tr}
						kind, ans, w := v.process(new(peer), wire.KindFind, p)
						var want []model.Feature
						if w == nil {
							want, err = decode(kind, ans, a.q.Limit)
						} else { // It is answered later, by the same code without a budget.
							q, e := searchOf(c, wire.KindFind, 0, p[wire.HeadBytes:])
							if err = e; err == nil {
								err = q.prepare()
							}
							if err == nil {
								if ans, err = q.run(s, new(store.Buffer), nil, nil); err == nil {
									want, err = decode(wire.KindReply, ans, a.q.Limit)
								}
							}
						}
						b, gotErr := client.RawCall(t.Context(), by, wire.RawMessage{Kind: wire.KindFind, Body: p})
						if gotErr != nil || err != nil {
							if gotErr == nil || err == nil || !errors.Is(gotErr, errors.Unwrap(err)) {
								t.Errorf("%s, round %d: request %d: %v, want %v", tr, round, i, gotErr, err)
							}
							return
						}
						if got, err := decode(wire.KindReply, b, a.q.Limit); err != nil || !reflect.DeepEqual(got, want) {
							t.Errorf("%s, round %d: request %d, %+v: %d features, %v, want %d", tr, round, i, a.q, len(got), err, len(want))
						}
					})
				}
			}
			s.ResumeWorkers()
			group.Wait()
		}
	}
}

// A batch ends early, so that the answers of others do not wait for a large one.
func TestFindBatchEndsAtLargeAnswer(t *testing.T) {
	s := startFeatures(t, Options{})
	c, err := s.store.Lookup(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	long := append(append([]byte(`{"long":"`), slices.Repeat([]byte("x"), wire.ManyBytes)...), `"}`...)
	for i := range 3 {
		f := model.Feature{ID: string(rune('a' + i)), Geometry: orb.Point{float64(i), 0}}
		if i == 2 {
			f.Properties = long
		}
		if _, _, err := c.Features.Put(t.Context(), store.Feature(f), kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for first, want := range []int{2, 1, 0} {
		var b findBatch
		for i := first; i < 4; i++ {
			b.boxes = append(b.boxes, store.BoxSearch{Box: [4]float64{float64(i), 0, float64(i) + .5, 1}})
		}
		n := b.search(s, c)
		for try := 0; n < want && try < 1000; try++ { // A busy machine ends it by time, too.
			n = b.search(s, c)
		}
		if n != want {
			t.Errorf("from %d on: %d answered, want %d", first, n, want)
		}
	}
}
