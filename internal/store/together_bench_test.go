package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// benchPlaces are points with properties, far more than the caches hold. The side of
// their square is 1.
func benchPlaces(b *testing.B) *Collection {
	c := create(b, open(b, Options{SlabBytes: 2 << 30}), CollectionOptions{})
	r := rand.New(rand.NewPCG(1, 1))
	const all, text = 300_000, `{"amenity":"cafe","name":"place %d","opening_hours":"Mo-Su 08:00-18:00","tenth":%d}`
	for i := range all {
		value, err := feature.Append(nil, orb.Point{r.Float64(), r.Float64()}, fmt.Appendf(nil, text, i, i%10))
		if err != nil {
			b.Fatal(err)
		}
		c.PutEncoded(fmt.Sprint("node/", i), value, 0, kv.Condition{}, func(_ uint64, err error) {
			if err != nil {
				b.Error(err)
			}
		})
	}
	return c
}

// Searches of about one feature, singly and 32 together.
func BenchmarkSearchBox(b *testing.B) {
	c := benchPlaces(b)
	const side, batch = 0.0018, 32 // one of 300,000
	qs := make([]BoxSearch, 1<<14)
	r := rand.New(rand.NewPCG(2, 1))
	for i := range qs {
		x, y := r.Float64(), r.Float64()
		qs[i].Box = [4]float64{x, y, x + side, y + side}
	}
	report := func(b *testing.B, found int) { b.ReportMetric(float64(found)/float64(b.N), "features/op") }
	b.Run("batch=1", func(b *testing.B) {
		var buf Buffer
		found := 0
		for i := range b.N {
			q := qs[i%len(qs)].Box
			p, err := c.Prepare(Query{Area: query.Box(q[0], q[1], q[2], q[3])})
			if err != nil {
				b.Fatal(err)
			}
			err = c.SearchWith(b.Context(), p, &buf, func(*Found) (bool, error) { found++; return true, nil })
			if err != nil {
				b.Fatal(err)
			}
		}
		report(b, found)
	})
	b.Run(fmt.Sprint("batch=", batch), func(b *testing.B) {
		var buf Batch
		found := 0
		take := func(int, *Found) bool { found++; return true }
		for i := 0; i < b.N; i += batch {
			at := i % (len(qs) - batch)
			if n := c.SearchTogether(b.Context(), qs[at:at+batch], 512, &buf, take); n != batch {
				b.Fatalf("%d of %d searches answered", n, batch)
			}
		}
		report(b, found)
	})
}

// The ten nearest by a filter that passes one in ten.
func BenchmarkNearestFilter(b *testing.B) {
	c := benchPlaces(b)
	r := rand.New(rand.NewPCG(2, 1))
	var buf Buffer
	b.ResetTimer()
	for range b.N {
		p, err := c.PrepareNearest(NearestQuery{X: r.Float64(), Y: r.Float64(), K: 10, Filter: "properties.tenth == 3"})
		if err != nil {
			b.Fatal(err)
		}
		found := 0
		err = c.NearestWith(b.Context(), p, &buf, func(*Found) (bool, error) { found++; return true, nil })
		if err != nil || found != 10 {
			b.Fatal(found, err)
		}
	}
}
