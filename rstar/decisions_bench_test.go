package rstar

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Benchmarks for pages of docs/decisions.

// BenchmarkScan: a node in the cache, a query that hits about one entry in
// four, in no order that a processor could predict.
func BenchmarkScan(b *testing.B) {
	defer func(have isaLevel) { isa = have }(isa)
	for _, k := range []int{4, 6, 12} {
		for level, kind := range []string{"leaf", "inner"} {
			r := rand.New(rand.NewPCG(1, uint64(k)))
			nodes := make([]node, 64)
			for i := range nodes {
				nodes[i] = make(node, lanes*(1+k*linesPerGroup))
				nodes[i].reset(level, 1, Rect{0, 0, 1, 1})
				for range nodes[i].room() {
					x, y := r.Float64(), r.Float64()
					nodes[i].append(&entry{rect: Rect{x, y, x, y}})
				}
			}
			q := Rect{0.25, 0.25, 0.75, 0.75}
			for _, isa = range isas {
				b.Run(fmt.Sprintf("node=%s/entries=%d/scan=%v", kind, nodes[0].count(), isa), func(b *testing.B) {
					hits, i := uint64(0), 0
					for b.Loop() {
						n := nodes[i%len(nodes)]
						var m masks
						if level == 0 {
							m.scanLeaf(&n[0], n.count(), &q)
						} else {
							m.scanInner(&n[0], n.count(), &q)
						}
						hits += m[0]
						i++
					}
					if hits == 0 {
						b.Fatal("no hits")
					}
				})
			}
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
