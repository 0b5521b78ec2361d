package rstar

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// manyAnswers runs SearchMany and returns each query's answer, sorted.
func manyAnswers(t *testing.T, tr *Tree, qs []Rect) [][]Item {
	t.Helper()
	got := make([][]Item, len(qs))
	last := 0
	tr.SearchMany(qs, func(i int, r Rect, id uint64) bool {
		if i < last {
			t.Fatalf("a result of query %d after one of query %d", i, last)
		}
		last = i
		got[i] = append(got[i], Item{r, id})
		return true
	})
	for _, items := range got {
		slices.SortFunc(items, compareItems)
	}
	return got
}

func TestSearchMany(t *testing.T) {
	for _, sp := range spaces {
		r := rand.New(rand.NewPCG(3, 4))
		items := sp.draw(r, 3000/raceFactor)
		tr := newTree(t, Options{NodeBytes: 704})
		for _, it := range items {
			mustInsert(t, tr, it)
		}
		qs := []Rect{plane, {1, 1, 0, 0}} // the second finds nothing
		for len(qs) < batchQueries+40 {
			qs = append(qs, sp.rect(r))
		}
		for i, got := range manyAnswers(t, tr, qs) {
			if want := scan(items, qs[i]); !slices.Equal(got, want) {
				t.Fatalf("%s: query %d, %v: %d results, want %d", sp.name, i, qs[i], len(got), len(want))
			}
		}
		if st := tr.Stats(); st.Searches != uint64(len(qs)) {
			t.Fatalf("%s: %d searches counted, want %d", sp.name, st.Searches, len(qs))
		}
	}
}

func TestSearchManyStops(t *testing.T) {
	tr := newTree(t, Options{})
	mustInsert(t, tr, Item{box(0, 0, 1, 1), 1})
	n := 0
	tr.SearchMany([]Rect{plane, plane, plane}, func(int, Rect, uint64) bool {
		n++
		return n < 2
	})
	if n != 2 {
		t.Fatalf("%d results after yield returned false at the second", n)
	}
	tr.SearchMany(nil, func(int, Rect, uint64) bool { panic("a result of nothing") })
}

// TestSearchManyMeetsMoves: the searches that meet a node of a later move are
// made again, alone; the others are not.
func TestSearchManyMeetsMoves(t *testing.T) {
	tr := newTree(t, Options{NodeBytes: 704})
	items := spaces[0].draw(rand.New(rand.NewPCG(1, 2)), 1000)
	for _, it := range items {
		mustInsert(t, tr, it)
	}
	// From the point of view of SearchMany, the node is being moved; the
	// search alone then waits for the writer, which sets it right.
	s := tr.newSearcher()
	qs := make([]Rect, len(items))
	for i := range qs {
		qs[i] = items[i].Rect
	}
	qs = qs[:batchQueries]
	leaf := tr.at(tr.tx.root)
	for leaf.inner() {
		leaf = tr.at(uint32(leaf.ref(0)))
	}
	leaf[laneStamp] += 1 << 40
	tr.together(s, qs, math.MaxInt)
	leaf[laneStamp] -= 1 << 40
	failed := 0
	for i := range qs {
		if s.batch.failed[i] {
			failed++
		}
	}
	if failed == 0 || failed == len(qs) {
		t.Fatalf("%d of %d searches met the stamp", failed, len(qs))
	}
	last := -1
	got := make([][]Item, len(qs))
	s.batch.hand(tr, qs, 0, nil, func(i int, r Rect, id uint64) bool {
		if i < last {
			t.Fatalf("query %d after %d", i, last)
		}
		last = i
		got[i] = append(got[i], Item{r, id})
		return true
	})
	for i := range qs {
		slices.SortFunc(got[i], compareItems)
		if want := scan(items, qs[i]); !slices.Equal(got[i], want) {
			t.Fatalf("query %d: %v, want %v", i, got[i], want)
		}
	}
}

// TestSearchManyIsBounded: searches with more results than a batch holds are
// made alone, complete, counted once; the memory stays small.
func TestSearchManyIsBounded(t *testing.T) {
	tr := newTree(t, Options{NodeBytes: 704})
	r := rand.New(rand.NewPCG(5, 6))
	items := spaces[0].draw(r, batchItems/4)
	if err := tr.Load(items); err != nil {
		t.Fatal(err)
	}
	qs := []Rect{items[0].Rect}
	for range 12 {
		qs = append(qs, plane, items[len(qs)].Rect)
	}
	found := make([]int, len(qs))
	tr.SearchMany(qs, func(i int, _ Rect, _ uint64) bool {
		found[i]++
		return true
	})
	for i, q := range qs {
		if want := len(scan(items, q)); found[i] != want {
			t.Errorf("query %d: %d results, want %d", i, found[i], want)
		}
	}
	if st := tr.Stats(); st.Searches != uint64(len(qs)) {
		t.Errorf("%d searches counted, want %d", st.Searches, len(qs))
	}
	s := tr.newSearcher()
	tr.together(s, qs, math.MaxInt)
	b := &s.batch
	if most := batchItems + 64; len(b.items) > most || b.alone == 0 || b.failed[0] {
		t.Errorf("a batch holds %d results, limit %d; %d of %d searches are left out", len(b.items), most, b.alone, len(qs))
	}
}

// manySome answers all queries by SearchManySome and Scans, with the given number of
// nodes at a time.
func manySome(t *testing.T, tr *Tree, qs []Rect, nodes int) (got [][]Item, scans int) {
	t.Helper()
	got = make([][]Item, len(qs))
	for first := 0; first < len(qs); {
		last, before := 0, tr.Stats().NodeReads
		n, rest := tr.SearchManySome(qs[first:], nodes, func(i int, r Rect, id uint64) bool {
			if i < last {
				t.Fatalf("a result of query %d after one of query %d", i, last)
			}
			last = i
			got[first+i] = append(got[first+i], Item{r, id})
			return true
		})
		if reads := tr.Stats().NodeReads - before; reads > uint64(nodes) {
			t.Fatalf("%d nodes read, want at most %d", reads, nodes)
		}
		if first += n; rest != nil {
			scans++
			got[first] = inSteps(t, rest, nodes, nothing)
			rest.Close()
			first++
		} else if n == 0 {
			t.Fatalf("neither an answer nor a Scan of query %d", first)
		}
	}
	for _, items := range got {
		slices.SortFunc(items, compareItems)
	}
	return got, scans
}

func TestSearchManySome(t *testing.T) {
	for _, sp := range spaces {
		r := rand.New(rand.NewPCG(3, 4))
		items := sp.draw(r, 1500/raceFactor)
		tr := newTree(t, Options{NodeBytes: 704})
		if err := tr.Load(items); err != nil {
			t.Fatal(err)
		}
		qs := []Rect{{1, 1, 0, 0}, plane, {1, 1, 0, 0}}
		for len(qs) < batchQueries+40 {
			qs = append(qs, sp.rect(r))
		}
		qs = append(qs, plane)
		for _, nodes := range []int{1, 30, 200, 1 << 20} {
			got, scans := manySome(t, tr, qs, nodes)
			for i := range qs {
				if want := scan(items, qs[i]); !slices.Equal(got[i], want) {
					t.Fatalf("%s, %d nodes: query %d, %v: %d results, want %d", sp.name, nodes, i, qs[i], len(got[i]), len(want))
				}
			}
			if want := nodes < 30; want && scans == 0 || nodes == 1<<20 && scans > 0 {
				t.Fatalf("%s, %d nodes: %d scans", sp.name, nodes, scans)
			}
		}
	}
}

// Searches that all met a move, as after a split of the root, share the nodes
// that are left.
func TestSearchManySomeAfterMove(t *testing.T) {
	tr := newTree(t, Options{NodeBytes: 704})
	if err := tr.Load(spaces[0].draw(rand.New(rand.NewPCG(1, 2)), 3000)); err != nil {
		t.Fatal(err)
	}
	qs := make([]Rect, batchQueries)
	for i := range qs {
		qs[i] = plane
	}
	before := tr.Stats().NodeReads
	tr.SearchSome(nil, plane, 0, math.MaxInt)
	each := int(tr.Stats().NodeReads - before)

	b := batch{failed: slices.Repeat([]bool{true}, len(qs))}
	for _, c := range []struct{ left, answered int }{{each/2 + 3*each, 3}, {each / 2, 0}, {-1, 0}} {
		before, left := tr.Stats().NodeReads, c.left
		n, rest := b.hand(tr, qs, 0, &left, func(int, Rect, uint64) bool { return true })
		if rest != nil {
			rest.Close()
		}
		if n != c.answered || rest == nil {
			t.Errorf("%d nodes of %d for each: %d answered, rest %v", c.left, each, n, rest)
		}
		if reads := int(tr.Stats().NodeReads - before); reads > max(c.left, 1) {
			t.Errorf("%d nodes read, want at most %d", reads, c.left)
		}
	}
	none := 0
	if n, rest := b.hand(tr, qs, 7, &none, func(int, Rect, uint64) bool { return true }); n != 0 || rest != nil {
		t.Errorf("without nodes: %d answered, rest %v", n, rest)
	}
}

// TestSearchManySomeStops: by yield, by a move, by the tree's Close.
func TestSearchManySomeStops(t *testing.T) {
	tr, err := New(Options{NodeBytes: 704})
	if err != nil {
		t.Fatal(err)
	}
	items := spaces[0].draw(rand.New(rand.NewPCG(1, 2)), 1000)
	if err := tr.Load(items); err != nil {
		t.Fatal(err)
	}
	qs := []Rect{items[0].Rect, items[1].Rect, items[2].Rect}
	n, rest := tr.SearchManySome(qs, 100, func(i int, _ Rect, _ uint64) bool { return i < 1 })
	if n != 1 || rest != nil {
		t.Fatalf("%d queries answered after yield returned false at the second", n)
	}
	mend := breakPasses(tr)
	n, rest = tr.SearchManySome(qs, 100, func(int, Rect, uint64) bool { panic("a result") })
	mend()
	if n != 0 || rest == nil {
		t.Fatalf("%d queries answered among moves", n)
	}
	if got, want := inSteps(t, rest, 100, nothing), scan(items, qs[0]); !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	rest.Close()
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	if n, rest := tr.SearchManySome(qs, 1, nil); n != len(qs) || rest != nil {
		t.Fatalf("%d queries answered after Close", n)
	}
}
