package rstar

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Data and orders that trees are known to suffer from.

// degenerate lists kinds of objects whose boxes hardly guide a choice; i of
// n.
var degenerate = []struct {
	name string
	rect func(r *rand.Rand, i, n int) Rect
}{
	{"one-point", func(*rand.Rand, int, int) Rect { return box(3, 4, 0, 0) }},
	{"one-box", func(*rand.Rand, int, int) Rect { return box(-1e9, 7, 3e9, 1e-9) }},
	{"horizontal", func(r *rand.Rand, _, _ int) Rect { return box(r.Float64(), -3, 0, 0) }},
	{"vertical", func(r *rand.Rand, _, _ int) Rect { return box(1e7, r.Float64(), 0, 1e-3) }},
	{"diagonal", func(_ *rand.Rand, i, _ int) Rect { return box(float64(i), float64(i), 1, 1) }},
	{"nested", func(_ *rand.Rand, i, _ int) Rect {
		v := float64(i)
		return Rect{-v, -v, v, v}
	}},
	{"cross", func(r *rand.Rand, i, _ int) Rect {
		if i%2 == 0 {
			return box(0, r.Float64(), 1, 0)
		}
		return box(r.Float64(), 0, 0, 1)
	}},
	{"huge-and-tiny", func(r *rand.Rand, i, _ int) Rect {
		if i%50 == 0 {
			return box(-1e12, -1e12, 2e12, 2e12)
		}
		return box(r.Float64(), r.Float64(), 1e-9, 1e-9)
	}},
	{"one-far-away", func(r *rand.Rand, i, _ int) Rect {
		if i == 0 {
			return box(math.MaxFloat64, -math.MaxFloat64, 0, 0)
		}
		return box(r.Float64(), r.Float64(), 0, 0)
	}},
	{"limits", func(r *rand.Rand, i, _ int) Rect {
		v := [...]float64{-math.MaxFloat64, math.MaxFloat64, 0, math.SmallestNonzeroFloat64}
		return between(v[r.IntN(4)], v[r.IntN(4)], v[r.IntN(4)], v[r.IntN(4)])
	}},
	{"ever-greater", func(_ *rand.Rand, i, n int) Rect {
		v := math.Ldexp(1, i*2000/n-1000)
		return box(v, -v, v, v/2)
	}},
}

// orders in which objects may arrive.
var orders = []struct {
	name string
	key  func(Rect) float64
}{
	{"ascending", func(r Rect) float64 { return r.MinX }},
	{"descending", func(r Rect) float64 { return -r.MinX }},
	{"outwards", func(r Rect) float64 { return math.Hypot(centerX(r), centerY(r)) }},
	{"inwards", func(r Rect) float64 { return -math.Hypot(centerX(r), centerY(r)) }},
	{"around", func(r Rect) float64 { return math.Atan2(centerY(r), centerX(r)) }},
}

// arrange puts objects into an order and numbers them accordingly.
func arrange(items []Item, key func(Rect) float64) {
	slices.SortStableFunc(items, func(a, b Item) int {
		return cmp.Compare(key(a.Rect), key(b.Rect))
	})
	for i := range items {
		items[i].ID = uint64(i)
	}
}

// TestDegenerate: right answers, a tight tree and no garbage for all of them, in any
// order; the oldest are deleted first, and when half of them are deleted the same
// number is inserted again.
func TestDegenerate(t *testing.T) {
	const n = 400/raceFactor + 200
	for _, by := range allStrategies {
		for _, d := range degenerate {
			for _, o := range orders {
				t.Run(fmt.Sprintf("%v/%s/%s", by, d.name, o.name), func(t *testing.T) {
					r := rand.New(rand.NewPCG(1, 2))
					items := make([]Item, n)
					for i := range items {
						items[i].Rect = d.rect(r, i, n)
					}
					arrange(items, o.key)
					fifo(t, r, newTree(t, Options{NodeBytes: 704, Strategy: by}), items)
				})
			}
		}
	}
}

func fifo(t *testing.T, r *rand.Rand, tr *Tree, items []Item) {
	live := items[:0:0]
	look := func() {
		t.Helper()
		mustCheck(t, tr)
		for range 4 {
			sameAnswers(t, tr, live, items[r.IntN(len(items))].Rect)
		}
		at := items[r.IntN(len(items))].Rect
		sameNearest(t, tr, live, at.MinX, at.MaxY)
	}
	insert := func(its []Item) {
		for _, it := range its {
			mustInsert(t, tr, it)
		}
		live = append(live, its...)
		look()
	}
	remove := func(n int) {
		for _, it := range live[:n] {
			mustDelete(t, tr, it)
		}
		live = slices.Delete(live, 0, n)
		look()
	}
	insert(items)
	used := tr.Stats().UsedBytes
	for range 2 {
		half := slices.Clone(live[:len(live)/2])
		remove(len(half))
		insert(half)
	}
	// Nodes were about two thirds full. Their fill may fall to a fifth: a
	// leaf with one huge object among tiny ones gives up as few as it may.
	if now := tr.Stats().UsedBytes; now > 3*used {
		t.Errorf("%d bytes in use for the same objects, %d at first", now, used)
	}
	remove(len(live))
	if st := tr.Stats(); st.Height != 1 || st.Len != 0 {
		t.Errorf("after deleting everything: %+v", st)
	}
}

// TestSlidingWindow: generations pass through a tree, the oldest
// object leaves when a new one comes, and the tree stays as good as new.
func TestSlidingWindow(t *testing.T) {
	const window, generations = 1000, 24 / raceFactor
	for _, by := range allStrategies {
		for _, sp := range []space{spaces[0], spaces[3], {"conveyor", nil}} {
			r := rand.New(rand.NewPCG(1, 2))
			tr := newTree(t, Options{NodeBytes: 704, Strategy: by})
			object := func(id uint64) Item {
				if sp.rect == nil { // each is beside the one before
					return Item{box(float64(id), 0, 1, 1), id}
				}
				return Item{sp.rect(rand.New(rand.NewPCG(id, 3))), id}
			}
			for id := range uint64(window) {
				mustInsert(t, tr, object(id))
			}
			first := tr.Stats().UsedBytes
			for id := range uint64(window * generations) {
				mustDelete(t, tr, object(id))
				mustInsert(t, tr, object(id+window))
			}
			mustCheck(t, tr)
			var live []Item
			for id := range uint64(window) {
				live = append(live, object(id+window*generations))
			}
			for range 20 {
				sameAnswers(t, tr, live, live[r.IntN(window)].Rect)
			}
			if now := tr.Stats().UsedBytes; now > 2*first {
				t.Errorf("%v, %s: %d bytes in use, %d at first", by, sp.name, now, first)
			}
		}
	}
}

var objects = flag.Int("objects", 100000, "objects of TestDuplicatesStayFast")

// TestDuplicatesStayFast: objects on one point, inserted or loaded, then
// deleted, both in random order. All leaves have the same box, so only the
// bounds of ids keep a delete from reading all of them. A million:
//
//	go test -v -run TestDuplicates ./rstar -args -objects 1000000
func TestDuplicatesStayFast(t *testing.T) {
	for _, by := range allStrategies {
		for _, load := range []bool{false, true} {
			name := fmt.Sprintf("%v/load=%v", by, load)
			t.Run(name, func(t *testing.T) {
				duplicates(t, by, load, *objects/raceFactor)
			})
		}
	}
}

func duplicates(t *testing.T, by Strategy, load bool, objects int) {
	r := rand.New(rand.NewPCG(1, 2))
	tr := newTree(t, Options{Strategy: by})
	items := spaces[3].draw(nil, objects)
	shuffle := func() {
		r.Shuffle(objects, func(i, j int) { items[i], items[j] = items[j], items[i] })
	}
	shuffle()
	if load {
		if err := tr.Load(items); err != nil {
			t.Fatal(err)
		}
	} else {
		for _, it := range items {
			mustInsert(t, tr, it)
		}
	}
	if got := tr.Count(items[0].Rect); got != objects {
		t.Fatalf("%d objects on the point, want %d", got, objects)
	}
	shuffle()
	mustCheck(t, tr)
	leaves, height, most := tr.nodes[0].Load(), int(tr.height.Load()), 0
	for i, it := range items {
		if i == objects/2 {
			mustCheck(t, tr)
		}
		before := tr.tx.looks
		mustDelete(t, tr, it)
		most = max(most, tr.tx.looks-before)
	}
	if tr.Len() != 0 {
		t.Fatalf("%d objects are left", tr.Len())
	}
	t.Logf("%d objects, %d leaves, height %d: a delete reads %d nodes at most", objects, leaves, height, most)
	// Ids that are neighbours share leaves: one path down, or two where a
	// leaf's ids overlap those of another.
	if most > 2*height {
		t.Errorf("a delete read %d nodes of a tree of height %d with %d leaves", most, height, leaves)
	}
}
