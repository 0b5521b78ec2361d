package rstar

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// inSteps finishes a Scan by steps of the given number of nodes, with between before
// each of them, and returns its answer, sorted.
func inSteps(t testing.TB, c *Scan, nodes int, between func()) []Item {
	t.Helper()
	for between(); !c.Step(nodes); between() {
	}
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	n := c.Count()
	items := c.AppendItems(nil)
	if !c.counting && len(items) != n {
		t.Fatalf("%d objects, Count says %d", len(items), n)
	}
	slices.SortFunc(items, compareItems)
	return items
}

func nothing() {}

// sameInSteps compares searches in steps with the oracle's answer to q.
func sameInSteps(t testing.TB, tr *Tree, q Rect, want []Item) {
	t.Helper()
	nodes := [...]int{1, 7, 1000}[len(want)%3]
	c := tr.Scan(q, 0)
	if got := inSteps(t, c, nodes, nothing); !slices.Equal(got, want) || c.Parts() != 1 {
		t.Fatalf("Scan(%v) in steps of %d found %d objects in %d parts, want %d in one",
			q, nodes, len(got), c.Parts(), len(want))
	}
	c.Close()
	c = tr.CountScan(q)
	inSteps(t, c, nodes, nothing)
	if c.Count() != len(want) {
		t.Fatalf("CountScan(%v) in steps of %d is %d, want %d", q, nodes, c.Count(), len(want))
	}
	c.Close()
	someAgree(t, tr, q, want, nodes)
	limit := len(want)/2 + 1
	c = tr.Scan(q, limit)
	defer c.Close()
	part := inSteps(t, c, 3, nothing)
	if len(part) != min(limit, len(want)) {
		t.Fatalf("Scan(%v) with limit %d found %d of %d", q, limit, len(part), len(want))
	}
	for _, it := range part {
		if _, ok := slices.BinarySearchFunc(want, it, compareItems); !ok {
			t.Fatalf("Scan(%v) with a limit found %v", q, it)
		}
	}
}

// someAgree compares searches that may end as a Scan with the oracle's answer.
func someAgree(t testing.TB, tr *Tree, q Rect, want []Item, nodes int) {
	t.Helper()
	head := Item{ID: 7}
	got, rest := tr.SearchSome([]Item{head}, q, 0, nodes)
	if rest != nil {
		if len(got) != 1 || got[0] != head {
			t.Fatalf("SearchSome(%v) changed dst to %v", q, got)
		}
		got = append(got, inSteps(t, rest, nodes, nothing)...)
		rest.Close()
	}
	slices.SortFunc(got[1:], compareItems)
	if !slices.Equal(got[1:], want) {
		t.Fatalf("SearchSome(%v) with %d nodes found %d objects, want %d", q, nodes, len(got)-1, len(want))
	}
	n, rest := tr.CountSome(q, nodes)
	if rest != nil {
		inSteps(t, rest, nodes, nothing)
		n = rest.Count()
		rest.Close()
	}
	if n != len(want) {
		t.Fatalf("CountSome(%v) with %d nodes is %d, want %d", q, nodes, n, len(want))
	}
	limit := len(want)/2 + 1
	got, rest = tr.SearchSome(got[:0], q, limit, nodes)
	if rest != nil {
		got = inSteps(t, rest, nodes, nothing)
		rest.Close()
	}
	if len(got) != min(limit, len(want)) {
		t.Fatalf("SearchSome(%v) with limit %d found %d of %d", q, limit, len(got), len(want))
	}
}

// TestScanAmongMoves: objects that stay are returned exactly once, whatever is written
// between steps, and no step takes longer than it may. Answers made in one pass keep
// the whole of the promises.
func TestScanAmongMoves(t *testing.T) {
	whole, divided, cells := 0, 0, 0
	for seed := range uint64(120 / raceFactor) {
		k := newChurn(t, 2000, seed)
		q := plane
		if seed%3 != 0 {
			q = box(k.r.Float64()/2, k.r.Float64()/2, k.r.Float64(), k.r.Float64())
		}
		nodes, writes := 12+k.r.IntN(25), k.r.IntN(80)
		lo, last := k.w.before(), k.tr.Stats().NodeReads
		c := k.tr.Scan(q, 0)
		between := func() {
			if reads := k.tr.Stats().NodeReads; reads > last+uint64(nodes) {
				t.Fatalf("seed %d: a step of %d nodes read %d", seed, nodes, reads-last)
			}
			k.write(writes)
			last = k.tr.Stats().NodeReads
		}
		found := map[uint64][]Rect{}
		for _, it := range inSteps(t, c, nodes, between) {
			found[it.ID] = append(found[it.ID], it.Rect)
		}
		judge := k.w.judge
		if c.Parts() > 1 {
			judge = k.w.judgeParts
			divided++
			cells += c.Parts()
		} else {
			whole++
		}
		if err := judge(lo, q, found); err != nil {
			t.Fatalf("seed %d, %d parts: %v", seed, c.Parts(), err)
		}
		c.Close()
	}
	if whole < 8/raceFactor || divided < 40/raceFactor || cells < 6*divided {
		t.Fatalf("%d searches in one part, %d in %d: the test shows little", whole, divided, cells)
	}
}

// TestCountAmongMoves: a count includes every object that stays exactly once.
func TestCountAmongMoves(t *testing.T) {
	divided := 0
	for seed := range uint64(60 / raceFactor) {
		k := newChurn(t, 2000, seed)
		q := box(k.r.Float64()/2, k.r.Float64()/2, k.r.Float64(), k.r.Float64())
		lo := k.w.before()
		c := k.tr.CountScan(q)
		inSteps(t, c, 10, func() { k.write(40) })
		judge := k.w.judgeCount
		if c.Parts() > 1 {
			judge = k.w.judgeCountParts
			divided++
		}
		if err := judge(lo, q, c.Count()); err != nil {
			t.Fatalf("seed %d, %d parts: %v", seed, c.Parts(), err)
		}
		c.Close()
	}
	if divided < 20/raceFactor {
		t.Fatalf("%d counts were divided: the test shows little", divided)
	}
}

// breakPasses makes every pass fail that reads the root afterwards.
func breakPasses(tr *Tree) (mend func()) {
	root := tr.at(tr.tx.committed.root)
	root[laneStamp] += 1 << 40
	return func() { root[laneStamp] -= 1 << 40 }
}

// TestScanInCells divides each space's data until cells take one step, by
// a writer that comes between any two steps.
func TestScanInCells(t *testing.T) {
	for _, sp := range spaces {
		t.Run(sp.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			tr := newTree(t, Options{NodeBytes: 704})
			items := sp.draw(r, 3000/raceFactor)
			if err := tr.Load(items); err != nil {
				t.Fatal(err)
			}
			for _, q := range []Rect{plane, sp.rect(r), sp.rect(r).Union(sp.rect(r))} {
				for _, nodes := range []int{1, 12, 60} {
					want := scan(items, q)
					c, n := tr.Scan(q, 0), tr.CountScan(q)
					for _, c := range []*Scan{c, n} {
						got := inSteps(t, c, nodes, func() { disturb(c) })
						if c.counting && c.Count() != len(want) || !c.counting && !slices.Equal(got, want) {
							t.Fatalf("%v in %d parts: %d objects, want %d", q, c.Parts(), c.Count(), len(want))
						}
						if most := 17 + 4*len(items)/nodes; c.Parts() > most {
							t.Fatalf("%d parts, want at most %d", c.Parts(), most)
						}
						c.Close()
					}
				}
			}
		})
	}
}

// disturb makes the pass in progress meet a move.
func disturb(c *Scan) {
	if c.live {
		c.moves = 0
	}
}

// TestScanCannotDivide: objects that all share a point are searched in one
// step, under the lock.
func TestScanCannotDivide(t *testing.T) {
	tr := newTree(t, Options{NodeBytes: 704})
	items := spaces[3].draw(nil, 3000)
	if err := tr.Load(items); err != nil {
		t.Fatal(err)
	}
	c := tr.Scan(plane, 0)
	defer c.Close()
	got := inSteps(t, c, 5, func() { disturb(c) })
	if want := scan(items, plane); !slices.Equal(got, want) || c.Parts() > 4 {
		t.Fatalf("%d objects in %d parts, want %d in a few", len(got), c.Parts(), len(want))
	}
}

// TestScanStepDoesNotWaitForWriter: while a writer holds its lock for long, steps continue without
// it.
func TestScanStepDoesNotWaitForWriter(t *testing.T) {
	tr := newTree(t, Options{NodeBytes: 704})
	items := spaces[0].draw(rand.New(rand.NewPCG(1, 2)), 500)
	if err := tr.Load(items); err != nil {
		t.Fatal(err)
	}
	c, b := tr.Scan(plane, 0), tr.Browse(0, 0)
	defer c.Close()
	defer b.Close()
	tr.mu.Lock()
	mend := breakPasses(tr)
	for range passesOfCell + lockTries {
		got, done := b.Next(nil, 10, 10)
		if c.Step(10) || done || len(got) > 0 {
			t.Fatal("a search ended that met moves only")
		}
	}
	mend()
	tr.mu.Unlock()
	if got, want := inSteps(t, c, 10, nothing), scan(items, plane); !slices.Equal(got, want) {
		t.Fatalf("%d objects, want %d", len(got), len(want))
	}
	if got := browseAll(t, b, nothing); len(got) != len(items) {
		t.Fatalf("%d nearest objects, want %d", len(got), len(items))
	}
}

// TestScanOfDamagedTree: a move that is met under the lock is damage.
func TestScanOfDamagedTree(t *testing.T) {
	tr := newTree(t, Options{})
	mustInsert(t, tr, Item{box(0, 0, 1, 1), 1})
	defer breakPasses(tr)()
	c, b := tr.Scan(plane, 0), tr.Browse(0, 0)
	defer c.Close()
	defer b.Close()
	for !c.Step(10) {
	}
	done := false
	for !done {
		_, done = b.Next(nil, 1, 10)
	}
	if !errors.Is(c.Err(), ErrCheck) || !errors.Is(b.Err(), ErrCheck) || c.Count() != 0 || c.Take() != nil {
		t.Fatalf("errors %v and %v, want ErrCheck", c.Err(), b.Err())
	}
}

func TestScanClose(t *testing.T) {
	tr, err := New(Options{NodeBytes: 704})
	if err != nil {
		t.Fatal(err)
	}
	items := spaces[0].draw(rand.New(rand.NewPCG(1, 2)), 3000)
	if err := tr.Load(items); err != nil {
		t.Fatal(err)
	}
	early, ended, paused, counted := tr.Scan(plane, 0), tr.Scan(plane, 0), tr.Scan(plane, 0), tr.CountScan(plane)
	early.Step(3)
	if early.Take() != nil {
		t.Fatal("objects before the end")
	}
	early.Close()
	early.Close()
	if early.Held() != 0 {
		t.Fatalf("%d bytes held after Close", early.Held())
	}
	for !ended.Step(100) {
	}
	paused.Step(3)
	counted.Step(3)
	if err := tr.Close(); err != nil { // does not wait for Scans that pause
		t.Fatal(err)
	}
	for _, c := range []*Scan{paused, counted, tr.Scan(plane, 0), tr.CountScan(plane)} {
		if !c.Step(3) || !errors.Is(c.Err(), ErrClosed) || c.Count() != 0 || c.Take() != nil {
			t.Fatalf("after the tree's Close: error %v, %d objects", c.Err(), c.Count())
		}
		c.Close()
	}
	if got, rest := tr.SearchSome(nil, plane, 0, 3); len(got) != 0 || rest != nil {
		t.Fatalf("after the tree's Close: %d objects", len(got))
	}
	if n, rest := tr.CountSome(plane, 3); n != 0 || rest != nil {
		t.Fatalf("after the tree's Close: %d objects", n)
	}
	// Objects found before stay, and Held shrinks as they are taken.
	held, n := ended.Held(), 0
	for part := ended.Take(); part != nil; part = ended.Take() {
		n += len(part)
	}
	if n != len(items) || ended.Count() != n || ended.Held() > held-n*40+2*blockBytes {
		t.Fatalf("%d of %d objects taken, %d of %d bytes held", n, len(items), ended.Held(), held)
	}
	ended.Close()
}

// TestScanHeldCoversObjectsFound: Held is at least the size of the objects found, and not much more.
func TestScanHeldCoversObjectsFound(t *testing.T) {
	tr := newTree(t, Options{})
	if err := tr.Load(spaces[0].draw(rand.New(rand.NewPCG(1, 2)), 100_000)); err != nil {
		t.Fatal(err)
	}
	c := tr.Scan(plane, 0)
	defer c.Close()
	for !c.Step(50) {
		found := c.found.total * 40
		if h := c.Held(); h < found || h > found+found/8+2*blockBytes+1<<14 {
			t.Fatalf("%d bytes held for %d bytes found", h, found)
		}
	}
	counted := tr.CountScan(plane)
	defer counted.Close()
	for !counted.Step(50) {
		if h := counted.Held(); h > blockBytes+1<<14 {
			t.Fatalf("a count holds %d bytes", h)
		}
	}
}

// TestScansAreSearches: the statistics count each search once.
func TestScansAreSearches(t *testing.T) {
	tr := newTree(t, Options{NodeBytes: 704})
	if err := tr.Load(spaces[0].draw(rand.New(rand.NewPCG(1, 2)), 3000)); err != nil {
		t.Fatal(err)
	}
	for _, nodes := range []int{1, 20, 10000} {
		t.Run(fmt.Sprint("nodes=", nodes), func(t *testing.T) {
			before := tr.Stats().Searches
			_, some := tr.SearchSome(nil, plane, 0, nodes)
			_, count := tr.CountSome(plane, nodes)
			scans := []*Scan{tr.Scan(plane, 0), tr.CountScan(plane), some, count}
			for _, c := range scans {
				for c != nil && !c.Step(nodes) {
				}
			}
			b := tr.Browse(0, 0)
			for range 3 {
				b.Next(nil, 1, nodes)
			}
			if n := tr.Stats().Searches - before; n != 5 {
				t.Fatalf("%d searches counted, want 5", n)
			}
		})
	}
}
