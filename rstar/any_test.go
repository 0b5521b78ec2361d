package rstar

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// scanAny is the linear scan for several rectangles.
func scanAny(items []Item, qs []Rect) []Item {
	var hits []Item
	for _, it := range items {
		if it.Rect.intersectsAny(qs) {
			hits = append(hits, it)
		}
	}
	slices.SortFunc(hits, compareItems)
	return hits
}

// searchAny is the whole answer, in steps, and the number of its parts.
func searchAny(t testing.TB, tr *Tree, qs []Rect, nodes int, between func(c *Scan)) ([]Item, int) {
	t.Helper()
	got, rest := tr.SearchAny(nil, qs, 0, nodes)
	parts := 1
	if rest != nil {
		got = inSteps(t, rest, nodes, func() { between(rest) })
		parts = rest.Parts()
		rest.Close()
	}
	slices.SortFunc(got, compareItems)
	return got, parts
}

// TestSearchAny: a search of several rectangles, apart, overlapping or equal, finds the
// objects of a linear scan, each once, at once, in steps, and in parts. A later search
// of one rectangle finds all of its objects.
func TestSearchAny(t *testing.T) {
	for _, sp := range spaces {
		t.Run(sp.name, func(t *testing.T) {
			eachScan(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(7, 8))
				tr := newTree(t, Options{NodeBytes: 704})
				items := sp.draw(r, 600/raceFactor)
				if err := tr.Load(items); err != nil {
					t.Fatal(err)
				}
				queries := [][]Rect{nil, {plane}, {plane, plane}, {{math.NaN(), 0, 1, 1}, sp.rect(r)}, {{math.NaN(), 0, 1, 1}, {math.NaN(), 0, 1, 1}}}
				for range 6 {
					queries = append(queries, []Rect{sp.rect(r), sp.rect(r), sp.rect(r).Union(sp.rect(r))}[:2+r.IntN(2)])
				}
				for _, qs := range queries {
					want := scanAny(items, qs)
					for _, nodes := range []int{1, 12, 1000} {
						if got, parts := searchAny(t, tr, qs, nodes, func(*Scan) {}); !slices.Equal(got, want) || parts != 1 {
							t.Fatalf("%v with %d nodes: %d objects in %d parts, want %d in one", qs, nodes, len(got), parts, len(want))
						}
						if got, parts := searchAny(t, tr, qs, nodes, disturb); !slices.Equal(got, want) {
							t.Fatalf("%v with %d nodes: %d objects in %d parts, want %d", qs, nodes, len(got), parts, len(want))
						}
					}
					if got := tr.SearchAppend(nil, plane, 0); len(got) != len(items) {
						t.Fatalf("a search of everything after %v found %d of %d", qs, len(got), len(items))
					}
				}
			})
		})
	}
}

// TestSearchAnyAmongMoves: objects that are carried from one rectangle to the other
// between the steps of a search are found exactly once, if it is made in one part, and
// objects that stay in any case.
func TestSearchAnyAmongMoves(t *testing.T) {
	whole := 0
	for seed := range uint64(40 / raceFactor) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 5))
			tr := newTree(t, Options{NodeBytes: 704, SlabBytes: 4 << 20})
			at := func(side float64) Rect { p := side + r.Float64(); return Rect{p, p, p, p} }
			var items []Item
			for i := range uint64(1500 / raceFactor) {
				items = append(items, Item{at(10 * float64(i%2)), i})
			}
			if err := tr.Load(items); err != nil {
				t.Fatal(err)
			}
			qs := []Rect{{0, 0, 1, 1}, {10, 10, 11, 11}}
			const movers = 50
			every := 1 + r.IntN(20) // steps between moves
			steps := 0
			got, parts := searchAny(t, tr, qs, 8, func(*Scan) {
				if steps++; steps%every != 0 {
					return
				}
				for range 1 + r.IntN(3) {
					it := &items[r.IntN(movers)]
					to := at(10)
					if it.Rect.MinX >= 10 {
						to = at(0)
					}
					if ok, err := tr.Update(it.Rect, to, it.ID); !ok || err != nil {
						t.Fatal(ok, err)
					}
					it.Rect = to
				}
			})
			found := map[uint64]int{}
			for _, it := range got {
				found[it.ID]++
			}
			if parts == 1 {
				whole++
			}
			for i := range items {
				if n := found[uint64(i)]; n != 1 && (parts == 1 || i >= movers) {
					t.Fatalf("object %d was found %d times, in %d parts", i, n, parts)
				}
			}
		})
	}
	if whole < 10/raceFactor {
		t.Fatalf("%d searches were made in one part: the test shows little", whole)
	}
}

// TestSearchAnyAllocs: a search that needs no steps allocates nothing.
func TestSearchAnyAllocs(t *testing.T) {
	tr := newTree(t, Options{NodeBytes: 704})
	if err := tr.Load(spaces[0].draw(rand.New(rand.NewPCG(1, 2)), 500)); err != nil {
		t.Fatal(err)
	}
	dst := make([]Item, 0, 1000)
	qs := []Rect{{0, 0, 0.3, 1}, {0.7, 0, 1, 1}}
	if n := testing.AllocsPerRun(100, func() { dst, _ = tr.SearchAny(dst[:0], qs, 0, 512) }); n > 0 && raceFactor == 1 {
		t.Errorf("%v allocations a search, want none", n)
	}
}
