package rstar_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

// Benchmarks that compare trees by their properties, not by time: one run
// with -benchtime 1x is enough.

// decisionObjects is enough for three or four levels, and yields all figures
// within a minute; CATFISH_BENCH_OBJECTS overrides it.
const decisionObjects = 200_000

// decisionQueries of each kind: they estimate a tree's node reads to within 1
// %. Trees of other objects of the same kind differ by more.
const decisionQueries = 20_000

// decisionItems returns a data set in its own order, at most n objects. A
// larger file is truncated: neighbours in a file are often neighbours on the
// map, which is the order that insertions meet in practice.
func decisionItems(b *testing.B, spec string) []rstar.Item {
	n := decisionObjects
	if s := os.Getenv("CATFISH_BENCH_OBJECTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 1000 {
			b.Fatalf("CATFISH_BENCH_OBJECTS is %q, want a number of at least 1000", s)
		}
	}
	o := datasets.Options{Count: int64(n), Seed: 1}
	if spec == "california" || dataName(spec) != spec {
		o = datasets.Options{} // only generators take them
	}
	src, err := datasets.Open(spec, o)
	if err != nil {
		b.Fatal(err)
	}
	items, err := datasets.Collect(src)
	if err != nil {
		b.Fatal(err)
	}
	return items[:min(n, len(items))]
}

// probes are the queries of a data set; their edges are chosen later. Centers
// are uniform in uniform data, as in the paper; otherwise they are those of
// random objects, because elsewhere searches would mostly find nothing.
type probes struct {
	centers       []rstar.Rect
	width, height float64 // of the world
}

func newProbes(data string, items []rstar.Item) *probes {
	world := items[0].Rect
	for i := range items {
		world = world.Union(items[i].Rect)
	}
	p := &probes{width: world.MaxX - world.MinX, height: world.MaxY - world.MinY}
	r := rand.New(rand.NewPCG(1, 2))
	for range decisionQueries {
		o := items[r.IntN(len(items))].Rect
		x, y := o.MinX/2+o.MaxX/2, o.MinY/2+o.MaxY/2
		if data == "uniform" {
			x, y = r.Float64(), r.Float64()
		}
		p.centers = append(p.centers, rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y})
	}
	return p
}

// run searches with squares of an edge, as a share of the world, and returns
// the mean numbers of nodes read and of results.
func (p *probes) run(t *rstar.Tree, edge float64, queries int) (reads, results float64) {
	before, found := t.Stats().NodeReads, 0
	w, h := edge*p.width/2, edge*p.height/2
	for _, c := range p.centers[:queries] {
		found += t.Count(rstar.Rect{
			MinX: c.MinX - w, MinY: c.MinY - h, MaxX: c.MaxX + w, MaxY: c.MaxY + h,
		})
	}
	n := float64(queries)
	return float64(t.Stats().NodeReads-before) / n, float64(found) / n
}

// edgeFor returns the edge at which about the given number of objects is
// found.
func (p *probes) edgeFor(t *rstar.Tree, results float64) float64 {
	const few = decisionQueries / 20
	lo, hi := 0.0, 1.0
	for range 30 { // finer than any relevant distance between objects
		mid := (lo + hi) / 2
		if _, n := p.run(t, mid, few); n < results {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// report reports the properties of a tree.
func (p *probes) report(b *testing.B, t *rstar.Tree, edge float64) {
	if err := t.Check(); err != nil {
		b.Fatal(err)
	}
	small, _ := p.run(t, 1e-5, decisionQueries)
	middle, _ := p.run(t, edge, decisionQueries)
	st := t.Stats()
	b.ReportMetric(small, "reads@1e-5")
	b.ReportMetric(middle, "reads@50")
	b.ReportMetric(st.Fill[0], "leaf-fill")
	b.ReportMetric(st.BytesPerEntry, "B/entry")
	b.ReportMetric(overlap(b, rstar.LeafBoxes(t)), "overlap")
}

// overlap is the mean number of other leaves that contain a point of a leaf.
func overlap(b *testing.B, boxes []rstar.Rect) float64 {
	items := make([]rstar.Item, len(boxes))
	total := 0.0
	for i, r := range boxes {
		items[i] = rstar.Item{Rect: r, ID: uint64(i)}
		total += (r.MaxX - r.MinX) * (r.MaxY - r.MinY)
	}
	t := decisionTree(b, rstar.Options{})
	if err := t.Load(items); err != nil {
		b.Fatal(err)
	}
	both := 0.0
	for i, r := range boxes {
		t.Search(r, func(o rstar.Rect, id uint64) bool {
			if id != uint64(i) {
				both += (min(r.MaxX, o.MaxX) - max(r.MinX, o.MinX)) *
					(min(r.MaxY, o.MaxY) - max(r.MinY, o.MinY))
			}
			return true
		})
	}
	if total == 0 { // all on a line
		return math.NaN()
	}
	return both / total
}

func decisionTree(b *testing.B, o rstar.Options) *rstar.Tree {
	t, err := rstar.New(o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := t.Close(); err != nil {
			b.Error(err)
		}
	})
	return t
}

// BenchmarkStrategies: trees of both strategies, objects inserted one by
// one in the order of the data set (docs/decisions/revised.md).
func BenchmarkStrategies(b *testing.B) {
	for _, data := range []string{
		"uniform", "skewed", "rea02-like", "california",
		"../datasets/testdata/andorra.osm.pbf",
	} {
		items := decisionItems(b, data)
		p := newProbes(data, items)
		loaded := decisionTree(b, rstar.Options{})
		if err := loaded.Load(items); err != nil {
			b.Fatal(err)
		}
		edge := p.edgeFor(loaded, 50)
		for _, s := range []rstar.Strategy{rstar.Revised, rstar.Original} {
			b.Run(fmt.Sprintf("data=%s/strategy=%v", dataName(data), s), func(b *testing.B) {
				var t *rstar.Tree
				for b.Loop() {
					t = decisionTree(b, rstar.Options{Strategy: s})
					for i := range items {
						if err := t.Insert(items[i].Rect, items[i].ID); err != nil {
							b.Fatal(err)
						}
					}
				}
				n := float64(len(items))
				b.ReportMetric(n, "objects")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/insert")
				b.ReportMetric(float64(t.Stats().Moves)/n, "moves/insert")
				p.report(b, t, edge)
			})
		}
	}
}

// dataName is a spec without slashes, which separate benchmark names.
func dataName(spec string) string {
	if spec[0] == '.' {
		return "andorra"
	}
	return spec
}

// BenchmarkBulkLoads: the loader and the alternatives, with nodes of the same
// fan-outs (docs/decisions/bulk-load.md).
func BenchmarkBulkLoads(b *testing.B) {
	loads := []struct {
		name string
		load func(*testing.B, *rstar.Tree, []rstar.Item)
	}{
		{"tiles-from-above", func(b *testing.B, t *rstar.Tree, items []rstar.Item) {
			if err := t.Load(items); err != nil {
				b.Fatal(err)
			}
		}},
		{"str-from-below", func(_ *testing.B, t *rstar.Tree, items []rstar.Item) {
			rstar.LoadSTR(t, items)
		}},
		{"hilbert", func(_ *testing.B, t *rstar.Tree, items []rstar.Item) {
			rstar.LoadHilbert(t, items)
		}},
	}
	for _, data := range []string{"uniform", "skewed", "rea02-like"} {
		items := decisionItems(b, data)
		p := newProbes(data, items)
		edge := 0.0
		for _, l := range loads {
			b.Run(fmt.Sprintf("data=%s/load=%s", data, l.name), func(b *testing.B) {
				var t *rstar.Tree
				for b.Loop() {
					t = decisionTree(b, rstar.Options{})
					l.load(b, t, items)
				}
				if edge == 0 {
					edge = p.edgeFor(t, 50)
				}
				p.report(b, t, edge)
			})
		}
	}
}
