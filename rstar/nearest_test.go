package rstar

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNearestFirst compares the first of Nearest with a sorted scan, in
// every space, also from far outside.
func TestNearestFirst(t *testing.T) {
	for _, sp := range spaces {
		r := rand.New(rand.NewPCG(3, 4))
		items := sp.draw(r, 3000)
		tr := newTree(t, Options{NodeBytes: 704})
		if err := tr.Load(items); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			at := sp.rect(r)
			for _, p := range [][2]float64{
				{at.MinX, at.MinY}, {-at.MaxX * 2, at.MinY}, {at.MinX, math.MaxFloat64},
			} {
				x, y := p[0], p[1]
				if math.IsInf(x, 0) {
					x = math.Copysign(math.MaxFloat64, x)
				}
				want := make([]float64, len(items))
				for i, it := range items {
					want[i] = it.Rect.Distance(x, y)
				}
				slices.Sort(want)
				var got []float64
				tr.Nearest(x, y, func(r Rect, id uint64, d float64) bool {
					if items[id].Rect != r || d != r.Distance(x, y) {
						t.Fatalf("%s: object %d at %v, distance %v", sp.name, id, r, d)
					}
					got = append(got, d)
					return len(got) < 200
				})
				if !slices.Equal(got, want[:200]) {
					t.Fatalf("%s from (%v, %v):\n%v\n%v", sp.name, x, y, got, want[:200])
				}
			}
		}
	}
}

// TestLowerBound: a box's key never exceeds the distance of what lies in
// it, whatever math.Hypot rounds.
func TestLowerBound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200000 {
		s := math.Ldexp(1, r.IntN(2090)-1070)
		dx, dy := r.Float64()*s, r.Float64()*s
		outer := lowerBound(math.Hypot(dx, dy))
		for range 3 {
			if inner := math.Hypot(dx, dy); outer > inner {
				t.Fatalf("(%v, %v): key %v above %v", dx, dy, outer, inner)
			}
			dx, dy = math.Nextafter(dx, math.Inf(1)), math.Nextafter(dy, math.Inf(1))
		}
	}
	if k := lowerBound(math.Inf(1)); k != math.MaxFloat64 {
		t.Fatalf("key of an overflow is %v", k)
	}
	if k := lowerBound(0); k != 0 {
		t.Fatalf("key inside is %v", k)
	}
}

// TestNearestAcrossMoves provokes each case of a replay, one by one.
func TestNearestAcrossMoves(t *testing.T) {
	at := func(x float64) Rect { return box(x, 0, 0, 0) }
	type result struct {
		id uint64
		d  float64
	}
	for _, c := range []struct {
		name  string
		items []float64 // distances of objects 0, 1, ...
		after int       // results handed out before the change
		write func(tr *Tree)
		want  []result
	}{
		{"moved ahead", []float64{1, 2, 3}, 1, func(tr *Tree) {
			mustUpdate(t, tr, at(1), at(9), 0)
		}, []result{{0, 1}, {1, 2}, {2, 3}}},
		{"moved behind", []float64{1, 2, 3}, 2, func(tr *Tree) {
			mustUpdate(t, tr, at(3), at(0.5), 2)
		}, []result{{0, 1}, {1, 2}}},
		{"moved, still ahead", []float64{1, 2, 3}, 1, func(tr *Tree) {
			mustUpdate(t, tr, at(2), at(5), 1)
		}, []result{{0, 1}, {2, 3}, {1, 5}}},
		{"handed out and moved back", []float64{1, 2, 3}, 2, func(tr *Tree) {
			mustUpdate(t, tr, at(2), at(0.5), 1)
		}, []result{{0, 1}, {1, 2}, {2, 3}}},
		{"deleted", []float64{1, 2, 3}, 1, func(tr *Tree) {
			mustDelete(t, tr, Item{at(2), 1})
		}, []result{{0, 1}, {2, 3}}},
		{"inserted ahead", []float64{1, 2}, 1, func(tr *Tree) {
			mustInsert(t, tr, Item{at(1.5), 7})
		}, []result{{0, 1}, {7, 1.5}, {1, 2}}},
		{"inserted behind", []float64{1, 2}, 2, func(tr *Tree) {
			mustInsert(t, tr, Item{at(0.5), 7})
		}, []result{{0, 1}, {1, 2}}},
		{"ties", []float64{1, 1, 1, 2}, 3, func(*Tree) {},
			[]result{{0, 1}, {1, 1}, {2, 1}, {3, 2}}},
	} {
		tr := newTree(t, Options{})
		for id, x := range c.items {
			mustInsert(t, tr, Item{at(x), uint64(id)})
		}
		// Step by step, a new pass after every result.
		b := browse{t: tr, s: tr.newSearcher()}
		for {
			if len(b.done) == c.after {
				c.write(tr)
			}
			n := len(b.done)
			if b.live = false; !b.advance(1) || len(b.done) == n {
				break
			}
		}
		var got []result
		for _, n := range b.done {
			got = append(got, result{n.item.ID, n.dist})
		}
		slices.SortStableFunc(got, func(a, b result) int {
			return cmp.Or(cmp.Compare(a.d, b.d), cmp.Compare(a.id, b.id))
		})
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func mustUpdate(t testing.TB, tr *Tree, old, new Rect, id uint64) {
	t.Helper()
	if ok, err := tr.Update(old, new, id); !ok || err != nil {
		t.Fatalf("Update(%v, %v, %d) = %v, %v", old, new, id, ok, err)
	}
}

// TestNearestReplaysTies: objects at one distance are all handed out
// once, though a pass begins anew between any two of them.
func TestNearestReplaysTies(t *testing.T) {
	tr := newTree(t, Options{NodeBytes: 704})
	items := spaces[3].draw(nil, 200)
	items = append(items, items[:50]...) // and equal pairs
	for _, it := range items {
		mustInsert(t, tr, it)
	}
	b := browse{t: tr, s: tr.newSearcher(), x: 7}
	for {
		n := len(b.done)
		if b.live = false; !b.advance(1) || len(b.done) == n {
			break
		}
	}
	var got []Item
	for _, n := range b.done {
		got = append(got, n.item)
	}
	slices.SortFunc(got, compareItems)
	if want := scan(items, plane); !slices.Equal(got, want) {
		t.Fatalf("%d results, want %d", len(got), len(want))
	}
}
