package rstar

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// countCells is the linear count.
func countCells(items []Item, x, y []float64, mostWide int) (counts []uint32, wide []Item) {
	counts = make([]uint32, (len(x)-1)*(len(y)-1))
	of := func(v float64, b []float64) int {
		n := 0
		for n < len(b) && v >= b[n] {
			n++
		}
		return n - 1
	}
	area := Rect{x[0], y[0], x[len(x)-1], y[len(y)-1]}
	for _, it := range items {
		r := it.Rect
		if !r.Intersects(area) {
			continue
		}
		if mostWide >= 0 && (of(r.MaxX, x)-of(r.MinX, x) >= 2 || of(r.MaxY, y)-of(r.MinY, y) >= 2) {
			wide = append(wide, it)
			continue
		}
		i, j := of(r.MinX/2+r.MaxX/2, x), of(r.MinY/2+r.MaxY/2, y)
		if i >= 0 && i < len(x)-1 && j >= 0 && j < len(y)-1 {
			counts[j*(len(x)-1)+i]++
		}
	}
	return counts, wide
}

// borders are n uneven cells from a on.
func borders(r *rand.Rand, a, width float64, n int) []float64 {
	b := []float64{a}
	for range n {
		a += width * (0.5 + r.Float64())
		b = append(b, a)
	}
	return b
}

func gridItems(r *rand.Rand, n int) []Item {
	items := make([]Item, n)
	for i := range items {
		x, y := r.Float64()*100, r.Float64()*100
		w, h := 0.0, 0.0
		if i%4 == 0 {
			w, h = r.ExpFloat64(), r.ExpFloat64()
		}
		if i%500 == 0 {
			w = 40
		}
		items[i] = Item{Rect{x, y, x + w, y + h}, uint64(i)}
	}
	return items
}

// TestCountCells: a linear count gives the same counts, the same wide objects, and
// the ids of those that are alone, for all rows at once and some at a time.
func TestCountCells(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	for _, nodeBytes := range []int{704, DefaultNodeBytes} {
		items := gridItems(r, 20000/raceFactor)
		tr := newTree(t, Options{NodeBytes: nodeBytes})
		if err := tr.Load(items[:len(items)/2]); err != nil {
			t.Fatal(err)
		}
		for _, it := range items[len(items)/2:] {
			if err := tr.Insert(it.Rect, it.ID); err != nil {
				t.Fatal(err)
			}
		}
		g := &Grid{}
		for _, c := range []struct {
			at, width float64
			n         int
		}{{0, 1, 1}, {20, 2, 30}, {-10, 10, 12}, {-50, 200, 1}, {50, 0.1, 64}, {99, 30, 3}} {
			g.X, g.Y = borders(r, c.at, c.width, c.n), borders(r, c.at, c.width, c.n+1)
			for _, most := range []int{-1, len(items)} {
				want, wide := countCells(items, g.X, g.Y, most)
				for _, rows := range []int{1, 7, 100} {
					g.MostWide = most
					g.Reset()
					for y := 0; y < c.n+1; y += rows {
						if !tr.CountCells(g, y, min(y+rows, c.n+1)) {
							t.Fatal("too many wide objects")
						}
					}
					if !slices.Equal(g.Counts, want) {
						t.Fatalf("%+v, %d rows at a time: counts differ", c, rows)
					}
					slices.SortFunc(g.Wide, compareItems)
					slices.SortFunc(wide, compareItems)
					if !slices.Equal(g.Wide, wide) {
						t.Fatalf("%+v, %d rows at a time: %d wide objects, want %d", c, rows, len(g.Wide), len(wide))
					}
				}
				for at, n := range g.Counts {
					if n != 1 {
						continue
					}
					it := items[g.Only[at]]
					i, j := at%(len(g.X)-1), at/(len(g.X)-1)
					x, y := centerX(it.Rect), centerY(it.Rect)
					if x < g.X[i] || x >= g.X[i+1] || y < g.Y[j] || y >= g.Y[j+1] {
						t.Fatalf("object %d is not in cell %d, %d", it.ID, i, j)
					}
				}
				if most > 0 && len(wide) > 0 {
					g.MostWide = len(wide) - 1
					g.Reset()
					if tr.CountCells(g, 0, c.n+1) {
						t.Errorf("%d wide objects were given where %d were wanted", len(g.Wide), g.MostWide)
					}
				}
			}
		}
	}
}

// TestCountCellsAllocs: no allocation.
func TestCountCellsAllocs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	tr := newTree(t, Options{})
	if err := tr.Load(gridItems(r, 5000)); err != nil {
		t.Fatal(err)
	}
	g := &Grid{X: borders(r, 0, 10, 10), Y: borders(r, 0, 10, 10), MostWide: 5000}
	if n := testing.AllocsPerRun(20, func() { g.Reset(); tr.CountCells(g, 0, 10) }); n > 2 && raceFactor == 1 {
		t.Errorf("%v allocations", n)
	}
}

// TestCountCellsAmongMoves: an object that is written between the read of a box and
// that of the leaf in it is counted only in its own cell.
func TestCountCellsAmongMoves(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	tr := newTree(t, Options{NodeBytes: 704})
	// Even columns have objects that stay, odd ones objects that are moved: leaves of
	// the former take in objects that come near them, and reach over then.
	const n = 1500
	place := func(odd int) Rect {
		x, y := float64(r.IntN(5)*20+10*odd)+10*r.Float64(), r.Float64()*100
		return Rect{x, y, x, y}
	}
	g := &Grid{MostWide: -1, Y: []float64{0, 25, 50, 75, 100}}
	for x := 0.0; x <= 100; x += 10 {
		g.X = append(g.X, x)
	}
	items := make([]Item, 2*n)
	for i := range items {
		items[i] = Item{place(i % 2), uint64(i)}
		if err := tr.Insert(items[i].Rect, items[i].ID); err != nil {
			t.Fatal(err)
		}
	}
	g.between = func() {
		it := &items[r.IntN(n)*2+1]
		to := place(1)
		if ok, err := tr.Delete(it.Rect, it.ID); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if err := tr.Insert(to, it.ID); err != nil {
			t.Fatal(err)
		}
		it.Rect = to
	}
	var stay []Item
	for i := 0; i < len(items); i += 2 {
		stay = append(stay, items[i])
	}
	want, _ := countCells(stay, g.X, g.Y, -1)
	before := tr.Stats().Restarts
	const times = 60
	for range times {
		g.Reset()
		for y := range 4 {
			tr.CountCells(g, y, y+1)
		}
		for at, n := range g.Counts {
			if at%10%2 == 0 && n != want[at] {
				t.Fatalf("cell %d: %d objects, want %d", at, n, want[at])
			}
		}
	}
	if again := tr.Stats().Restarts - before; again == 0 {
		t.Error("nothing began again")
	}
}
