package datasets

import (
	"testing"

	"github.com/catfish-index/catfish/rstar"
)

// Each query is checked by a linear scan: it has k results within 50 %, and
// it reaches no farther than it must.
func TestQuerySets(t *testing.T) {
	items := collect(t, Rea02Like(20_000, 4))
	for _, c := range []struct {
		set     QuerySet
		k, step int
	}{{QR0, 0, 10}, {QR1, 1, 10}, {QR2, 100, 100}, {QR3, 1000, 316}} {
		n := 0
		for q := range c.set.Queries(items) {
			n++
			if n%20 != 1 { // a sample: each check scans all items
				continue
			}
			if err := q.Validate(); err != nil {
				t.Fatal(err)
			}
			results, inside := 0, 0
			x, y := centre(q)
			radius := (q.MaxX - q.MinX) / 2 * (1 - 1e-9)
			smaller := rstar.Rect{
				MinX: x - radius, MinY: y - radius, MaxX: x + radius, MaxY: y + radius,
			}
			for _, it := range items {
				if q.Intersects(it.Rect) {
					results++
				}
				if smaller.Intersects(it.Rect) {
					inside++
				}
			}
			if 2*results < c.k || c.k > 0 && 2*results > 3*c.k {
				t.Errorf("%v: query %d has %d results, want %d +- 50 %%", c.set, n, results, c.k)
			}
			if c.k > 1 && inside >= c.k {
				t.Errorf("%v: query %d is larger than needed: %d inside", c.set, n, inside)
			}
		}
		want := (len(items) + c.step - 1) / c.step
		// Queries out of tolerance are omitted: for QR1 wherever two
		// rectangles cover a centre, some 4 % here.
		if n > want || n < want*9/10 || c.set == QR0 && n != want {
			t.Errorf("%v: %d queries, want about %d", c.set, n, want)
		}
	}
}

// Equal pairs lie on each other's centre: no query of QR1 has one result.
func TestQuerySetTies(t *testing.T) {
	var items []rstar.Item
	for i := range 100 {
		x := float64(i / 2)
		items = append(items, rstar.Item{Rect: rect(x, x, x, x), ID: uint64(i)})
	}
	for q := range QR1.Queries(items) {
		t.Fatalf("query %v", q)
	}
	for q := range QR3.Queries(items) {
		t.Fatalf("query %v: 1000 of 100", q)
	}
	for range QuerySet(7).Queries(items) {
		t.Fatal("a query of an unknown set")
	}
}

// Q50To150 has queries of 50 to 150 results, of all numbers between.
func TestQuerySet50To150(t *testing.T) {
	items := collect(t, Rea02Like(20_000, 4))
	least, most, all, n := len(items), 0, 0, 0
	for q := range Q50To150.Queries(items) {
		results := 0
		for _, it := range items {
			if q.Intersects(it.Rect) {
				results++
			}
		}
		least, most, all, n = min(least, results), max(most, results), all+results, n+1
	}
	if least < 50 || least > 60 || most > 150 || most < 140 || n < 180 || all/n < 95 || all/n > 110 {
		t.Errorf("%d queries have %d to %d results, %d on average", n, least, most, all/max(n, 1))
	}
}

func TestQuerySetNames(t *testing.T) {
	for q := QR0; q <= Q50To150; q++ {
		if got, err := ParseQuerySet(q.String()); got != q || err != nil {
			t.Errorf("%v: %v, %v", q, got, err)
		}
	}
	if _, err := ParseQuerySet("QR4"); err == nil {
		t.Error("QR4 accepted")
	}
}

// The published order: regions of about 20,000; in each, rows from north
// to south, and every row from west to east.
func TestRea02LikeOrder(t *testing.T) {
	const n = 200_000
	all := regions(n, 6)
	if len(all) != n/regionObjects {
		t.Fatalf("%d regions", len(all))
	}
	var total int64
	var area float64
	smallest, largest := 1.0, 0.0
	for _, g := range all {
		if g.n != regionObjects {
			t.Errorf("a region of %d", g.n)
		}
		total += g.n
		a := (g.box.MaxX - g.box.MinX) * (g.box.MaxY - g.box.MinY)
		area += a
		smallest, largest = min(smallest, a), max(largest, a)
		lastRow, last := -1, rstar.Rect{}
		err := g.streets(func(r rstar.Rect, row int) error {
			if err := r.Validate(); err != nil || !g.box.Contains(r) {
				t.Fatalf("%v outside its region %v: %v", r, g.box, err)
			}
			switch {
			case row == lastRow+1: // starts at the western end again
			case row != lastRow:
				t.Fatalf("row %d follows row %d", row, lastRow)
			case r.MinX < last.MinX:
				t.Fatalf("row %d runs east to west: %v after %v", row, r, last)
			}
			height := (g.box.MaxY - g.box.MinY) / 141 // isqrt(20000) rows
			north := g.box.MaxY - float64(row)*height
			if r.MinY > north+1e-12 || r.MinY < north-height-1e-12 {
				t.Fatalf("row %d at %v, want within %v below %v", row, r.MinY, height, north)
			}
			lastRow, last = row, r
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if total != n || area < 1-1e-9 || area > 1+1e-9 {
		t.Errorf("%d objects on area %v, want %d on 1", total, area, n)
	}
	if largest/smallest < 2 {
		t.Errorf("areas %v to %v: no clusters", smallest, largest)
	}
	// Random order: neighbours in the cut must not stay neighbours.
	inOrder := 0
	for i := 1; i < len(all); i++ {
		if all[i].box.MinX >= all[i-1].box.MinX {
			inOrder++
		}
	}
	if inOrder == len(all)-1 {
		t.Error("regions come from west to east")
	}
}

func TestRea02LikeCounts(t *testing.T) {
	if got := Rea02Like(0, 1).Count(); got != 1_888_012 {
		t.Errorf("default of %d objects", got)
	}
	for _, n := range []int64{1, 2, 3, 9_999, 10_001, 30_000, 50_001} {
		items := collect(t, Rea02Like(n, 1))
		for i, it := range items {
			if it.ID != uint64(i) || !unitSquare.Contains(it.Rect) {
				t.Fatalf("item %d of %d is %v", i, n, it)
			}
		}
	}
}
