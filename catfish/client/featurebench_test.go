package client

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/rstar"
)

// BenchmarkSearchOne: searches of about one object by messages, server and clients in
// one process, 8 connections with 16 in flight each. Features are compared with boxes,
// which have the least cost of a message. `catfish bench features` measures
// processes.
func BenchmarkSearchOne(b *testing.B) {
	s := startFeatures(b, server.Options{SlabBytes: 1 << 30, Transports: []string{model.TransportSHM}, Workers: 1})
	const all, clients, inFlight, side = 100_000, 8, 16, 0.003
	r := rand.New(rand.NewPCG(1, 1))
	f := dialFeatures(b, s, Options{Transport: model.TransportSHM, Policy: "fast"})
	places := make([]model.Feature, 0, 1000)
	for i := range all {
		x, y := r.Float64(), r.Float64()
		places = append(places, model.Feature{
			ID: fmt.Sprint("node/", i), Geometry: orb.Point{x, y},
			Properties: fmt.Appendf(nil, `{"amenity":"cafe","name":"place %d","opening_hours":"Mo-Su 08:00-18:00"}`, i),
		})
		if err := tree(b, s).Insert(rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}, uint64(i)); err != nil {
			b.Fatal(err)
		}
		if len(places) == cap(places) {
			if _, err := f.PutMany(b.Context(), places); err != nil {
				b.Fatal(err)
			}
			places = places[:0]
		}
	}
	for _, kind := range []string{"boxes", "features"} {
		b.Run("kind="+kind, func(b *testing.B) {
			b.ReportAllocs()
			var group sync.WaitGroup
			for k := range clients {
				c := dial(b, s, Options{Transport: model.TransportSHM, Policy: "fast"})
				f, err := c.Features(testFeatures)
				if err != nil {
					b.Fatal(err)
				}
				for g := range inFlight {
					group.Go(func() {
						r := rand.New(rand.NewPCG(uint64(k), uint64(g)))
						var dst []rstar.Item
						for n := k*inFlight + g; n < b.N; n += clients * inFlight {
							x, y := r.Float64(), r.Float64()
							if kind == "boxes" {
								var err error
								if dst, err = c.SearchAppend(b.Context(), dst[:0], rstar.Rect{MinX: x, MinY: y, MaxX: x + side, MaxY: y + side}, 0); err != nil {
									b.Error(err)
									return
								}
								continue
							}
							for _, err := range f.Search(b.Context(), model.FeatureQuery{Area: query.Box(x, y, x+side, y+side)}) {
								if err != nil {
									b.Error(err)
									return
								}
							}
						}
					})
				}
			}
			group.Wait()
		})
	}
}
