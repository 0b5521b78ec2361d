package store

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// BenchmarkWatch is the time from the first write to the last event, for each of
// 10,000 objects that move about in a city of 100 km by 100 km, over the areas of
// one watcher: circles of 500 m around its points.
func BenchmarkWatch(b *testing.B) {
	for _, o := range []struct {
		areas  int
		filter string
	}{{0, ""}, {1, ""}, {1000, ""}, {100_000, ""}, {100_000, `properties.kind == "bus" && properties.free > 3`}} {
		b.Run(fmt.Sprintf("areas=%d/filter=%v", o.areas, o.filter != ""), func(b *testing.B) {
			benchmarkWatch(b, o.areas, o.filter)
		})
	}
}

const objects = 10_000

func benchmarkWatch(b *testing.B, areas int, filter string) {
	c := create(b, open(b, Options{}), CollectionOptions{})
	r := rand.New(rand.NewPCG(1, 2))
	point := func() orb.Point { return orb.Point{13 + 1.4*r.Float64(), 52 + 0.9*r.Float64()} }
	ids := make([]string, objects)
	places := make([]orb.Point, objects)
	move := func(i int) []byte {
		p := &places[i]
		p[0], p[1] = p[0]+(r.Float64()-.5)/200, p[1]+(r.Float64()-.5)/200 // 200 m
		value, err := feature.Append(nil, *p, fmt.Appendf(nil, `{"kind":"bus","free":%d}`, i%8))
		if err != nil {
			b.Fatal(err)
		}
		return value
	}
	for i := range ids {
		ids[i], places[i] = fmt.Sprint("vehicle ", i), point()
		c.PutEncoded(ids[i], move(i), 0, kv.Condition{}, func(uint64, error) {})
	}
	var watchers sync.WaitGroup
	events := 0
	if areas > 0 {
		w := watch(b, c, 0, nil)
		for i := range areas {
			p := point()
			if err := w.Add(fmt.Sprint("area ", i), Query{Area: query.Circle(p[0], p[1], 500), Filter: filter}); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Add("end", Query{Filter: `id == "end"`}); err != nil {
			b.Fatal(err)
		}
		watchers.Go(func() {
			for {
				e, err := w.Next(b.Context())
				if err != nil {
					b.Error(err)
				}
				if err != nil || e.Name == "end" {
					return
				}
				events++
			}
		})
	}
	values := make([][]byte, b.N)
	for n := range values {
		values[n] = move(n % objects)
	}
	failed := func(_ uint64, err error) {
		if err != nil {
			b.Error(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n, v := range values {
		c.PutEncoded(ids[n%objects], v, 0, kv.Condition{}, failed)
	}
	put(b, c, at("end", 13, 52, ""))
	watchers.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "moves/s")
	b.ReportMetric(float64(events)/float64(b.N), "events/op")
}
