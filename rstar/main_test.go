package rstar

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nodeSizes are the smallest, the default and the largest node.
var nodeSizes = []int{704, DefaultNodeBytes, 3904}

// newTree returns a tree that the test closes.
func newTree(t testing.TB, o Options) *Tree {
	t.Helper()
	tr, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
	return tr
}

func mustCheck(t testing.TB, tr *Tree) {
	t.Helper()
	if err := tr.Check(); err != nil {
		t.Fatal(err)
	}
}

func mustInsert(t testing.TB, tr *Tree, it Item) {
	t.Helper()
	if err := tr.Insert(it.Rect, it.ID); err != nil {
		t.Fatal(err)
	}
}

func mustDelete(t testing.TB, tr *Tree, it Item) {
	t.Helper()
	ok, err := tr.Delete(it.Rect, it.ID)
	if err != nil || !ok {
		t.Fatalf("Delete(%v) = %v, %v", it, ok, err)
	}
}

// plane intersects everything.
var plane = Rect{math.Inf(-1), math.Inf(-1), math.Inf(1), math.Inf(1)}

// space draws rectangles of one kind.
type space struct {
	name string
	rect func(*rand.Rand) Rect
}

// box returns a rectangle of size w*h at (x, y).
func box(x, y, w, h float64) Rect { return Rect{x, y, x + w, y + h} }

// between returns a rectangle between any two points.
func between(a, b, c, d float64) Rect {
	return Rect{min(a, c), min(b, d), max(a, c), max(b, d)}
}

var spaces = []space{
	{"uniform", func(r *rand.Rand) Rect {
		return box(r.Float64(), r.Float64(), r.Float64()/100, r.Float64()/100)
	}},
	{"points", func(r *rand.Rand) Rect {
		return box(r.Float64(), r.Float64(), 0, 0)
	}},
	{"grid", func(r *rand.Rand) Rect {
		return box(float64(r.IntN(8)), float64(r.IntN(8)), float64(r.IntN(2)), 0)
	}},
	{"one-point", func(*rand.Rand) Rect { return box(1, 2, 0, 0) }},
	{"horizontal-line", func(r *rand.Rand) Rect {
		return box(r.NormFloat64(), -3, 0, 0)
	}},
	{"diagonal-line", func(r *rand.Rand) Rect {
		x := r.Float64()
		return box(x, x, 0, 0)
	}},
	{"mixed-sizes", func(r *rand.Rand) Rect {
		s := math.Ldexp(1, r.IntN(600)-500)
		return box(r.NormFloat64()*s, r.NormFloat64()*s, s, s*r.Float64())
	}},
	{"quarter-max", func(r *rand.Rand) Rect {
		f := func() float64 { return (r.Float64() - 0.5) * math.MaxFloat64 / 2 }
		return between(f(), f(), f(), f())
	}},
	{"limits", func(r *rand.Rand) Rect {
		f := func() float64 {
			v := math.MaxFloat64 * (1 - r.Float64()/4)
			return math.Copysign(v, r.Float64()-0.5)
		}
		return between(f(), f(), f(), f())
	}},
	{"subnormal", func(r *rand.Rand) Rect {
		f := func() float64 {
			return math.SmallestNonzeroFloat64 * float64(r.IntN(1000)-500)
		}
		return between(f(), f(), f(), f())
	}},
	{"national-grid", func(r *rand.Rand) Rect { // metres, with centimetres
		x, y := 350000000+r.IntN(100000), 550000000+r.IntN(100000)
		w, h := r.IntN(500), r.IntN(500)
		return Rect{
			float64(x) / 100, float64(y) / 100, float64(x+w) / 100, float64(y+h) / 100,
		}
	}},
	{"1e300-and-1e-300", func(r *rand.Rand) Rect {
		s := [...]float64{1e-300, 1, 1e300}[r.IntN(3)]
		return box(r.NormFloat64()*s, r.NormFloat64()*s, s*r.Float64(), s*r.Float64())
	}},
	{"all-exponents", func(r *rand.Rand) Rect {
		f := func() float64 { return math.Ldexp(r.Float64()-0.5, r.IntN(2090)-1066) }
		return between(f(), f(), f(), f())
	}},
}

// draw returns n objects with ids 0..n-1.
func (s space) draw(r *rand.Rand, n int) []Item {
	items := make([]Item, n)
	for i := range items {
		items[i] = Item{s.rect(r), uint64(i)}
	}
	return items
}

func compareItems(a, b Item) int {
	if a.ID != b.ID { // cmp.Or would compare the rectangles all the same
		return cmp.Compare(a.ID, b.ID)
	}
	return cmp.Or(
		cmp.Compare(a.Rect.MinX, b.Rect.MinX), cmp.Compare(a.Rect.MinY, b.Rect.MinY),
		cmp.Compare(a.Rect.MaxX, b.Rect.MaxX), cmp.Compare(a.Rect.MaxY, b.Rect.MaxY))
}

// scan is the oracle: a linear scan, sorted.
func scan(items []Item, q Rect) []Item {
	var hits []Item
	for _, it := range items {
		if it.Rect.Intersects(q) {
			hits = append(hits, it)
		}
	}
	slices.SortFunc(hits, compareItems)
	return hits
}

// search is Search's answer, sorted.
func search(tr *Tree, q Rect) []Item {
	var hits []Item
	tr.Search(q, func(r Rect, id uint64) bool {
		hits = append(hits, Item{r, id})
		return true
	})
	slices.SortFunc(hits, compareItems)
	return hits
}

// sameAnswers compares every kind of search with the oracle.
func sameAnswers(t testing.TB, tr *Tree, items []Item, q Rect) {
	t.Helper()
	want := scan(items, q)
	if got := search(tr, q); !slices.Equal(got, want) {
		t.Fatalf("Search(%v) found %d objects, want %d:\n%v\n%v",
			q, len(got), len(want), got, want)
	}
	if got := tr.Count(q); got != len(want) {
		t.Fatalf("Count(%v) = %d, want %d", q, got, len(want))
	}
	head := Item{ID: 7}
	got := tr.SearchAppend([]Item{head}, q, 0)
	slices.SortFunc(got[1:], compareItems)
	if got[0] != head || !slices.Equal(got[1:], want) {
		t.Fatalf("SearchAppend(%v) differs from the oracle", q)
	}
	got = got[:0]
	tr.SearchMany([]Rect{q, emptyRect}, func(i int, r Rect, id uint64) bool {
		got = append(got, Item{r, id})
		return i == 0
	})
	slices.SortFunc(got, compareItems)
	if !slices.Equal(got, want) {
		t.Fatalf("SearchMany of %v differs from the oracle", q)
	}
	sameInSteps(t, tr, q, want)
	limit := len(want)/2 + 1
	got = tr.SearchAppend(nil, q, limit)
	if len(got) != min(limit, len(want)) {
		t.Fatalf("SearchAppend with limit %d found %d of %d", limit, len(got), len(want))
	}
	for _, it := range got {
		if _, ok := slices.BinarySearchFunc(want, it, compareItems); !ok {
			t.Fatalf("SearchAppend with a limit found %v", it)
		}
	}
}

// sameNearest compares the whole of Nearest with the oracle: every object
// once, with its distance, in order.
func sameNearest(t testing.TB, tr *Tree, items []Item, x, y float64) {
	t.Helper()
	var got []Item
	last := 0.0
	tr.Nearest(x, y, func(r Rect, id uint64, d float64) bool {
		if d != r.Distance(x, y) || d < last {
			t.Fatalf("Nearest(%v, %v): %v at %v after %v, want %v",
				x, y, r, d, last, r.Distance(x, y))
		}
		last = d
		got = append(got, Item{r, id})
		return true
	})
	slices.SortFunc(got, compareItems)
	if want := scan(items, plane); !slices.Equal(got, want) {
		t.Fatalf("Nearest(%v, %v) found %d objects, want %d", x, y, len(got), len(want))
	}
}

// sameFirst compares the n nearest objects with the oracle, by distance.
func sameFirst(t testing.TB, tr *Tree, items []Item, x, y float64, n int) {
	t.Helper()
	want := make([]float64, 0, len(items))
	for _, it := range items {
		want = append(want, it.Rect.Distance(x, y))
	}
	slices.Sort(want)
	want = want[:min(n, len(want))]
	var got []float64
	tr.Nearest(x, y, func(_ Rect, _ uint64, d float64) bool {
		got = append(got, d)
		return len(got) < n
	})
	if !slices.Equal(got, want) {
		t.Fatalf("nearest of (%v, %v) are at %v, want %v", x, y, got, want)
	}
}
