package rstar

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Searches, counts, scans and nearest, of any size, find what is shown, and the same again as all
// objects are shown; writes know all objects.
func TestShow(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	items := make([]Item, 20_000)
	for i := range items {
		x, y := r.Float64(), r.Float64()
		items[i] = Item{Rect{x, y, x + .01, y + .01}, uint64(i)}
	}
	tr := newTree(t, Options{})
	if err := tr.Load(items); err != nil {
		t.Fatal(err)
	}
	everywhere := Rect{-1, -1, 2, 2}
	for _, only := range []func(Rect) bool{func(r Rect) bool { return r.MinX < .3 }, func(Rect) bool { return false }, nil} {
		tr.Show(only)
		shows := func(r Rect) bool { return only == nil || only(r) }
		for _, q := range []Rect{everywhere, {.2, .2, .4, .4}, {.9, .9, .95, .95}} {
			want := 0
			for _, it := range items {
				if it.Rect.Intersects(q) && shows(it.Rect) {
					want++
				}
			}
			check := func(what string, n int) {
				t.Helper()
				if n != want {
					t.Errorf("%s in %v: %d objects, want %d", what, q, n, want)
				}
			}
			for _, it := range tr.SearchAppend(nil, q, 0) {
				if !shows(it.Rect) {
					t.Fatalf("%v was found", it)
				}
			}
			check("search", len(tr.SearchAppend(nil, q, 0)))
			check("count", tr.Count(q))
			if n := len(tr.SearchAppend(nil, q, 5)); n != min(5, want) {
				t.Errorf("%d of 5 objects", n)
			}
			found, rest := tr.SearchSome(nil, q, 0, 2)
			if rest != nil {
				for !rest.Step(2) {
				}
				found = rest.AppendItems(found)
				rest.Close()
			}
			check("steps of a search", len(found))
			n, rest := tr.CountSome(q, 2)
			if rest != nil {
				for !rest.Step(2) {
				}
				n = rest.Count()
				rest.Close()
			}
			check("steps of a count", n)
			n = 0
			tr.SearchMany([]Rect{q}, func(int, Rect, uint64) bool { n++; return true })
			check("many searches", n)
		}
		want := 0
		for _, it := range items {
			if shows(it.Rect) {
				want++
			}
		}
		n, last := 0, 0.0
		tr.Nearest(.5, .5, func(r Rect, _ uint64, d float64) bool {
			if !shows(r) || d < last {
				t.Fatalf("%v at %v after %v", r, d, last)
			}
			n, last = n+1, d
			return true
		})
		near, rest := tr.NearestSome(nil, .5, .5, math.MaxInt32, 10)
		for done := rest == nil; !done; {
			near, done = rest.Next(near, math.MaxInt32, 100)
		}
		if n != want || len(near) != want {
			t.Errorf("nearest: %d and %d objects, want %d", n, len(near), want)
		}
		if ok, err := tr.Has(items[1].Rect, items[1].ID); !ok || err != nil || tr.Len() != len(items) {
			t.Error(ok, err, tr.Len())
		}
	}
}
