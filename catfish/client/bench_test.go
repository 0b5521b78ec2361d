package client

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

// BenchmarkSearch: server and client in one process, 64 searches in
// flight for each core. `catfish bench run` measures them apart.
func BenchmarkSearch(b *testing.B) {
	s := startServer(b, server.Options{SlabBytes: 256 << 20})
	items, err := datasets.Collect(datasets.Uniform(1_000_000, 1))
	if err != nil {
		b.Fatal(err)
	}
	if err := tree(b, s).Load(items); err != nil {
		b.Fatal(err)
	}
	for _, p := range paths() {
		b.Run("path="+strings.ReplaceAll(p.name, "/", "-"), func(b *testing.B) {
			c := dial(b, s, p.options())
			b.SetParallelism(64)
			b.ReportAllocs()
			var stream atomic.Uint64
			b.RunParallel(func(pb *testing.PB) {
				r := rand.New(rand.NewPCG(1, stream.Add(1)))
				var dst []rstar.Item
				for pb.Next() {
					x, y := r.Float64(), r.Float64()
					var err error
					dst, err = c.SearchAppend(b.Context(), dst[:0], rstar.Rect{MinX: x, MinY: y, MaxX: x + 1e-5, MaxY: y + 1e-5}, 0)
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkLoop: 64 clients with one search under way each. server-ns/op is
// how long the worker serves a request, from its own statistics.
func BenchmarkLoop(b *testing.B) {
	s := startServer(b, server.Options{SlabBytes: 512 << 20, Transports: []string{model.TransportSHM}, Workers: 1})
	items, err := datasets.Collect(datasets.Uniform(2_000_000, 1))
	if err != nil {
		b.Fatal(err)
	}
	if err := tree(b, s).Load(items); err != nil {
		b.Fatal(err)
	}
	for _, edge := range []float64{1e-5, 1e-2} {
		b.Run(fmt.Sprintf("edge=%g", edge), func(b *testing.B) {
			const clients = 64
			var group sync.WaitGroup
			conns := make([]*Client, clients)
			for k := range conns {
				conns[k] = dial(b, s, Options{Transport: model.TransportSHM, Policy: "fast"})
			}
			before := s.Stats().Transports[0].Workers[0]
			b.ReportAllocs()
			b.ResetTimer()
			for k, c := range conns {
				group.Go(func() {
					r := rand.New(rand.NewPCG(1, uint64(k)))
					var dst []rstar.Item
					for n := k; n < b.N; n += clients {
						x, y := r.Float64(), r.Float64()
						var err error
						dst, err = c.SearchAppend(b.Context(), dst[:0], rstar.Rect{MinX: x, MinY: y, MaxX: x + edge, MaxY: y + edge}, 0)
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
			b.StopTimer()
			after := s.Stats().Transports[0].Workers[0]
			b.ReportMetric((after.Busy-before.Busy)*1e9/float64(b.N), "server-ns/op")
			b.ReportMetric(float64(b.N)/float64(after.Batches-before.Batches), "requests/look")
			for _, c := range conns {
				c.Close()
			}
		})
	}
}
