package catfish

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

// BenchmarkSearch: server and client in one process, 64 searches in
// flight for each core. `catfish bench run` measures them apart.
func BenchmarkSearch(b *testing.B) {
	s := startServer(b, ServerOptions{SlabBytes: 256 << 20})
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
