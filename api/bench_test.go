package api

import (
	"fmt"
	"math/rand/v2"
	"testing"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/rstar"
)

// BenchmarkSearch measures whole calls over loopback, client included, by the
// size of the answer: the cost of a batch, and of a call.
func BenchmarkSearch(b *testing.B) {
	tree := newTree(b, rstar.Options{})
	items := randomItems(rand.New(rand.NewPCG(27, 28)), 100_000)
	if err := tree.Load(items); err != nil {
		b.Fatal(err)
	}
	c := startLoopback(b, trees{"default": tree}.alone())
	for _, n := range []uint32{1, 256, 10_000} {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			req := &catfishv1.SearchRequest{Query: pbRect(world), Limit: n}
			for b.Loop() {
				got, err := c.search(b.Context(), req)
				if err != nil || len(got) != int(n) {
					b.Fatal(len(got), err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(),
				"objects/s")
		})
	}
}
