package rstar

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// browseAll finishes a Browse, with between before each call, and checks the
// order and distances.
func browseAll(t testing.TB, b *Browse, between func()) []Item {
	t.Helper()
	var all []Neighbor
	for done := false; !done; {
		between()
		n := len(all)
		all, done = b.Next(all, 1+n%50, 30)
		for i := n; i < len(all); i++ {
			d := all[i].Rect.Distance(b.b.x, b.b.y)
			if all[i].Dist != d || i > 0 && d < all[i-1].Dist {
				t.Fatalf("%v after %v", all[i], all[i-1])
			}
		}
	}
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	items := make([]Item, len(all))
	for i := range all {
		items[i] = all[i].Item
	}
	slices.SortFunc(items, compareItems)
	return items
}

// sameBrowse compares a Browse of everything with the oracle, without moves
// and with one after each call.
func sameBrowse(t testing.TB, tr *Tree, items []Item, x, y float64) {
	t.Helper()
	want := scan(items, plane)
	for _, moves := range []bool{false, true} {
		b := tr.Browse(x, y)
		got := browseAll(t, b, func() {
			if moves && b.live {
				b.b.moves = 0
			}
		})
		if !slices.Equal(got, want) {
			t.Fatalf("Browse(%v, %v), moves %v: %d objects, want %d", x, y, moves, len(got), len(want))
		}
		b.Close()
	}
}

func TestBrowse(t *testing.T) {
	for _, sp := range spaces {
		r := rand.New(rand.NewPCG(3, 4))
		items := sp.draw(r, 600)
		items = append(items, items[:50]...) // and equal pairs
		tr := newTree(t, Options{NodeBytes: 704})
		if err := tr.Load(items); err != nil {
			t.Fatal(err)
		}
		at := sp.rect(r)
		sameBrowse(t, tr, items, at.MinX, at.MinY)
		sameBrowse(t, tr, items, math.MaxFloat64, -at.MaxY)
	}
}

// TestBrowseAmongMoves: objects that stay are returned exactly once and in order,
// whatever is written between calls.
func TestBrowseAmongMoves(t *testing.T) {
	restarts := uint64(0)
	for seed := range uint64(60 / raceFactor) {
		k := newChurn(t, 1000, seed)
		writes := k.r.IntN(20)
		b := k.tr.Browse(k.r.Float64(), k.r.Float64())
		lo, found := k.w.before(), map[uint64][]Rect{}
		for _, it := range browseAll(t, b, func() { k.write(writes) }) {
			found[it.ID] = append(found[it.ID], it.Rect)
		}
		if err := k.w.judgeBrowse(lo, found); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		b.Close()
		restarts += k.tr.Stats().Restarts
	}
	if restarts < 200/raceFactor {
		t.Fatalf("%d passes met a move: the test shows little", restarts)
	}
}

// TestBrowseRereadsFewNodes: after a move only nodes near the distance that was
// reached are read again.
func TestBrowseRereadsFewNodes(t *testing.T) {
	tr := newTree(t, Options{})
	if err := tr.Load(spaces[1].draw(rand.New(rand.NewPCG(1, 2)), 100_000)); err != nil {
		t.Fatal(err)
	}
	b := tr.Browse(0.5, 0.5)
	defer b.Close()
	reads := func(k int) uint64 {
		before := tr.Stats().NodeReads
		for got := []Neighbor(nil); len(got) < k; {
			got, _ = b.Next(got, k-len(got), 1000)
		}
		return tr.Stats().NodeReads - before
	}
	first := reads(50_000)
	b.live = false
	if again := reads(1); again > first/4 {
		t.Fatalf("%d nodes read again, of %d", again, first)
	}
}

// TestBrowseIsBounded: a call ends after the given number of nodes, also if they show
// no object that is wanted, and nothing is held afterwards.
func TestBrowseIsBounded(t *testing.T) {
	tr := newTree(t, Options{NodeBytes: 704})
	r := rand.New(rand.NewPCG(1, 2))
	items := make([]Item, 5000)
	for i := range items { // all lie at the point (0, 0)
		items[i] = Item{Rect{-r.Float64(), -r.Float64(), r.Float64(), r.Float64()}, uint64(i)}
	}
	if err := tr.Load(items); err != nil {
		t.Fatal(err)
	}
	b := tr.Browse(0, 0)
	for done, n := false, 0; !done; {
		before := tr.Stats().NodeReads
		var got []Neighbor
		got, done = b.Next(nil, 1000, 5*workOfNode)
		if reads := tr.Stats().NodeReads - before; reads > 5 || len(got) > 5*workOfNode {
			t.Fatalf("%d nodes read in one call, want at most 5", reads)
		}
		if n += len(got); done && n != len(items) {
			t.Fatalf("%d objects, want %d", n, len(items))
		}
	}
	if h := b.Held(); h < len(items)*40 {
		t.Fatalf("%d bytes held", h)
	}
	b.Close()
	b.Close()
	if b.Held() != 0 {
		t.Fatalf("%d bytes held after Close", b.Held())
	}
}

func TestBrowseClosed(t *testing.T) {
	tr, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	mustInsert(t, tr, Item{box(0, 0, 1, 1), 1})
	if got, done := tr.Browse(math.NaN(), 0).Next(nil, 1, 1); len(got) != 0 || !done {
		t.Fatalf("something is near NaN: %v", got)
	}
	b := tr.Browse(0, 0)
	defer b.Close()
	if got, done := b.Next(nil, 1, 9); len(got) != 1 || done {
		t.Fatalf("%v, %v", got, done)
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	if _, done := b.Next(nil, 1, 9); !done || !errors.Is(b.Err(), ErrClosed) {
		t.Fatalf("after the tree's Close: %v, error %v", done, b.Err())
	}
}

// TestBrowseHeldVisitsNoPages: Held counts all pages, and does not visit each of them, which after
// each step would cost as much as the search.
func TestBrowseHeldVisitsNoPages(t *testing.T) {
	tr := newTree(t, Options{NodeBytes: 704})
	if err := tr.Load(spaces[0].draw(rand.New(rand.NewPCG(1, 2)), 5000)); err != nil {
		t.Fatal(err)
	}
	b := tr.Browse(0, 0)
	defer b.Close()
	for done := false; !done; {
		_, done = b.Next(nil, 100, 100)
		s, pages := &b.b.s.near, 0
		for _, p := range s.pages {
			pages += int(unsafe.Sizeof(*p)) + 8*len(p.n)
		}
		if s.inPages != pages || b.Held() < pages {
			t.Fatalf("%d bytes of pages counted, %d held, want %d", s.inPages, b.Held(), pages)
		}
	}
	before := b.Held()
	pages := b.b.s.near.pages
	first := pages[0]
	pages[0] = nil // Held would panic here
	defer func() { pages[0] = first }()
	if b.Held() != before {
		t.Fatal("Held looks at pages")
	}
}

// TestBrowseDropsDead: objects that were returned take no memory, and those that wait
// are unchanged after they were moved to the other slice.
func TestBrowseDropsDead(t *testing.T) {
	const n = 50_000
	items := spaces[0].draw(rand.New(rand.NewPCG(7, 8)), n)
	tr := newTree(t, Options{})
	if err := tr.Load(items); err != nil {
		t.Fatal(err)
	}
	sameBrowse(t, tr, items, 0.5, 0.5)
	b := tr.Browse(0.5, 0.5)
	defer b.Close()
	most := 0
	for done := false; !done; {
		_, done = b.Next(nil, 1000, 1000)
		s := &b.b.s.near
		most = max(most, cap(s.objects)+cap(s.spare))
	}
	if most > n/2 {
		t.Fatalf("places for %d of %d objects", most, n)
	}
}
