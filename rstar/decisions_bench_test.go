package rstar

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Benchmarks behind pages of docs/decisions.

// BenchmarkScan: one leaf in the cache, a query that hits about one entry
// in four, in no order that a processor could predict.
func BenchmarkScan(b *testing.B) {
	have := useAVX2
	defer func() { useAVX2 = have }()
	for _, k := range []int{4, 6, 12} {
		r := rand.New(rand.NewPCG(1, uint64(k)))
		nodes := make([]node, 64)
		for i := range nodes {
			nodes[i] = make(node, lanes*(1+k*linesPerGroup))
			nodes[i].reset(0, 1)
			for range k * groupEntries {
				x, y := r.Float64(), r.Float64()
				nodes[i].append(&entry{rect: Rect{x, y, x, y}})
			}
		}
		q := Rect{0.25, 0.25, 0.75, 0.75}
		for _, path := range []struct {
			name string
			avx2 bool
			scan func(n node) int
		}{
			{"branches", false, func(n node) (hits int) {
				for i := range n.count() {
					if e := n.rect(i); e.Intersects(q) {
						hits++
					}
				}
				return hits
			}},
			{"plain", false, func(n node) int { return n.countHits(n.count(), &q) }},
			{"avx2", true, func(n node) int { return n.countHits(n.count(), &q) }},
		} {
			if path.avx2 && !have {
				continue
			}
			b.Run(fmt.Sprintf("entries=%d/scan=%s", k*groupEntries, path.name), func(b *testing.B) {
				useAVX2 = path.avx2
				hits, i := 0, 0
				for b.Loop() {
					hits += path.scan(nodes[i%len(nodes)])
					i++
				}
				b.ReportMetric(float64(hits)/float64(i), "hits/op")
			})
		}
	}
}

// BenchmarkOnePoint: n objects on one point, inserted one by one and
// deleted in random order.
func BenchmarkOnePoint(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			at := Rect{0.5, 0.5, 0.5, 0.5}
			order := rand.New(rand.NewPCG(1, 1)).Perm(n)
			for b.Loop() {
				tr, err := New(Options{})
				if err != nil {
					b.Fatal(err)
				}
				for id := range n {
					mustInsert(b, tr, Item{at, uint64(id)})
				}
				for _, id := range order {
					mustDelete(b, tr, Item{at, uint64(id)})
				}
				if err := tr.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(2*n), "ns/write")
		})
	}
}
