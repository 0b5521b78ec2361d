package rstar

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchObjects are uniform rectangles with edges up to 0.0001, the
// paper's data set at a twentieth of its size.
const benchObjects = 100_000

func benchItems() []Item {
	r := rand.New(rand.NewPCG(1, 2))
	items := make([]Item, benchObjects)
	for i := range items {
		items[i] = Item{box(r.Float64(), r.Float64(), r.Float64()/1e4, r.Float64()/1e4), uint64(i)}
	}
	return items
}

func benchTree(b *testing.B, o Options, items []Item) *Tree {
	tr := newTree(b, o)
	if err := tr.Load(items); err != nil {
		b.Fatal(err)
	}
	return tr
}

func BenchmarkSearch(b *testing.B) {
	items := benchItems()
	for _, nodeBytes := range []int{704, 1344, DefaultNodeBytes, 2624, 3904} {
		for _, scale := range []float64{1e-5, 1e-2} {
			b.Run(fmt.Sprintf("node=%d/scale=%g", nodeBytes, scale), func(b *testing.B) {
				tr := benchTree(b, Options{NodeBytes: nodeBytes}, items)
				r := rand.New(rand.NewPCG(3, 4))
				var buf []Item
				results := 0
				for b.Loop() {
					q := box(r.Float64(), r.Float64(), r.Float64()*scale, r.Float64()*scale)
					buf = tr.SearchAppend(buf[:0], q, 0)
					results += len(buf)
				}
				st := tr.Stats()
				b.ReportMetric(float64(results)/float64(st.Searches), "results/op")
				b.ReportMetric(float64(st.NodeReads)/float64(st.Searches), "reads/op")
			})
		}
	}
}

func BenchmarkNearest(b *testing.B) {
	items := benchItems()
	for _, k := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			tr := benchTree(b, Options{}, items)
			r := rand.New(rand.NewPCG(3, 4))
			for b.Loop() {
				n := 0
				tr.Nearest(r.Float64(), r.Float64(), func(Rect, uint64, float64) bool {
					n++
					return n < k
				})
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	items := benchItems()
	for _, portable := range []bool{false, true} {
		o := Options{PortableStores: portable}
		b.Run(fmt.Sprintf("op=insert+delete/portable=%v", portable), func(b *testing.B) {
			tr := benchTree(b, o, items)
			i := 0
			for b.Loop() {
				mustDelete(b, tr, items[i%len(items)])
				mustInsert(b, tr, items[i%len(items)])
				i++
			}
		})
		b.Run(fmt.Sprintf("op=update/portable=%v", portable), func(b *testing.B) {
			tr := benchTree(b, o, items)
			i := 0
			for b.Loop() {
				it := &items[i%len(items)]
				to := box(it.Rect.MinX+1e-5, it.Rect.MinY, 0, 0)
				mustUpdate(b, tr, it.Rect, to, it.ID)
				mustUpdate(b, tr, to, it.Rect, it.ID)
				i++
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	items := benchItems()
	for b.Loop() {
		tr := benchTree(b, Options{}, items)
		if err := tr.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*benchObjects/b.Elapsed().Seconds(), "items/s")
}

func BenchmarkViewNode(b *testing.B) {
	tr := benchTree(b, Options{}, benchItems())
	h, err := ParseHeader(tr.Memory())
	if err != nil {
		b.Fatal(err)
	}
	n := copyOf(tr, h.Root)
	hits := make([]int32, 0, maxFanout)
	for b.Loop() {
		v, err := ViewNode(n, h.Root, h.Height-1, h.Moves)
		if err != nil {
			b.Fatal(err)
		}
		hits = v.AppendHits(hits[:0], Rect{0.2, 0.2, 0.4, 0.4})
	}
}

// BenchmarkSearchMany: small searches of a tree larger than any cache, alone
// and together; an operation is one search.
func BenchmarkSearchMany(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	items := make([]Item, 20*benchObjects)
	for i := range items {
		items[i] = Item{box(r.Float64(), r.Float64(), r.Float64()/1e4, r.Float64()/1e4), uint64(i)}
	}
	tr := benchTree(b, Options{}, items)
	qs := make([]Rect, 1<<16)
	for i := range qs {
		qs[i] = box(r.Float64(), r.Float64(), r.Float64()/1e5, r.Float64()/1e5)
	}
	for _, n := range []int{0, 16, 64, 256} {
		b.Run(fmt.Sprintf("together=%d", n), func(b *testing.B) {
			found := 0
			for i := 0; i < b.N; i += max(n, 1) {
				at := i % len(qs)
				if n == 0 {
					tr.Search(qs[at], func(Rect, uint64) bool { found++; return true })
				} else {
					tr.SearchMany(qs[at:at+n], func(int, Rect, uint64) bool { found++; return true })
				}
			}
			b.ReportMetric(float64(found)/float64(b.N), "results/op")
		})
	}
}
