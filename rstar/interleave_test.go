package rstar

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPublishOrder searches the tree between any two published nodes. A search of any
// part must then find what a search of everything finds: otherwise, of two searches in
// sequence, the first could see a write and the second miss it.
func TestPublishOrder(t *testing.T) {
	for _, by := range strategies {
		t.Run(by.String(), func(t *testing.T) { publishOrder(t, by) })
	}
}

func publishOrder(t *testing.T, by Strategy) {
	tr := newTree(t, Options{NodeBytes: 704, SlabBytes: 1 << 20, Strategy: by})
	w := make(world, 400)
	for i := range w {
		w[i].kind, w[i].seed = moves+i%2, uint64(i)
		if err := w[i].step(tr, uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	s := tr.newSearcher()
	r := rand.New(rand.NewPCG(1, 2))
	var corners []Rect // of the object that is written, before and after
	looks, midway := 0, 0
	tr.onPublish = func() {
		all, ok := tr.collect(s, nil, &plane, len(w)+1)
		if !ok {
			midway++ // within a move
			return
		}
		looks++
		for _, q := range corners {
			want := scan(all, q)
			got, ok := tr.collect(s, nil, &q, len(w)+1)
			slices.SortFunc(got, compareItems)
			if n, counted := tr.count(s, &q); !counted || n != len(want) {
				t.Fatalf("at %v: count is %d, %v, but everything shows %v", q, n, counted, want)
			}
			if !ok || !slices.Equal(got, want) {
				t.Fatalf("at %v: %v, %v, but everything shows %v", q, got, ok, want)
			}
		}
	}
	for range 6000 {
		i := r.IntN(len(w))
		corners = corners[:0]
		for k := range int64(2) {
			if b, ok := w[i].state(w[i].done.Load() + k); ok {
				corners = append(corners, box(b.MinX, b.MinY, 0, 0), box(b.MaxX, b.MaxY, 0, 0))
			}
		}
		if err := w[i].step(tr, uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if looks < 6000 || midway < 1000 {
		t.Fatalf("%d checks, %d within moves: the test shows little", looks, midway)
	}
}

// walk is a search on copies of nodes that is advanced step by step between
// any two published nodes.
type walk struct {
	q       Rect
	lo      []int64
	h       Header
	todo    []ref
	found   map[uint64][]Rect
	running bool
}

// step reads the header or one node, and reports whether the search ended.
func (k *walk) step(t *testing.T, tr *Tree, w world, r *rand.Rand) (ended bool) {
	if !k.running {
		k.lo, k.running = w.before(), true
		k.q = box(r.Float64(), r.Float64(), r.Float64(), r.Float64())
		k.found, k.todo = map[uint64][]Rect{}, k.todo[:0]
		if k.h.Root == 0 || r.IntN(2) == 0 { // else an old header
			k.header(t, tr, r)
		}
		k.todo = append(k.todo, ref{k.h.Root, int32(k.h.Height - 1)})
		return false
	}
	i := r.IntN(len(k.todo))
	at := k.todo[i]
	k.todo = slices.Delete(k.todo, i, i+1)
	b := readLines(tr, int(at.chunk)*k.h.NodeBytes, k.h.NodeBytes, r)
	n, err := ViewNode(b, at.chunk, int(at.level), k.h.Moves)
	if errors.Is(err, ErrMoved) {
		k.header(t, tr, r)
		clear(k.found)
		k.todo = append(k.todo[:0], ref{k.h.Root, int32(k.h.Height - 1)})
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range n.AppendHits(nil, k.q) {
		if n.Leaf() {
			id := n.Ref(int(j))
			k.found[id] = append(k.found[id], n.Rect(int(j)))
		} else {
			k.todo = append(k.todo, ref{uint32(n.Ref(int(j))), at.level - 1})
		}
	}
	return len(k.todo) == 0
}

func (k *walk) header(t *testing.T, tr *Tree, r *rand.Rand) {
	h, err := ParseHeader(readLines(tr, 0, HeaderBytes, r))
	if err != nil {
		t.Fatal(err)
	}
	k.h = h
}

// nearWalk is a nearest search that is advanced in the same manner. Its
// passes continue for an object or a few.
type nearWalk struct {
	b       browse
	lo      []int64
	running bool
}

// step continues for up to n objects, and reports whether the search ended.
func (k *nearWalk) step(tr *Tree, w world, r *rand.Rand, n int) (ended bool) {
	if !k.running {
		k.lo, k.running = w.before(), true
		k.b = browse{t: tr, s: tr.newSearcher(), x: r.Float64(), y: r.Float64()}
	}
	goal := len(k.b.done) + n
	k.b.live = k.b.pass(goal)
	return k.b.live && len(k.b.done) < goal
}

// judge returns what is wrong with the objects that the search yielded.
func (k *nearWalk) judge(w world) error {
	found, last := map[uint64][]Rect{}, 0.0
	for _, n := range k.b.done {
		if n.dist < last {
			return fmt.Errorf("%v at distance %v after %v", n.item, n.dist, last)
		}
		last = n.dist
		found[n.item.ID] = append(found[n.item.ID], n.item.Rect)
	}
	return w.judgeNearest(k.lo, found)
}

// TestInterleavings lets searches advance by single nodes, and nearest
// searches by objects, between the nodes that a writer publishes: seeded,
// so a failure can be replayed.
func TestInterleavings(t *testing.T) {
	for _, s := range settings() {
		if s.o.NodeBytes != nodeSizes[0] || s.o.PortableStores {
			continue
		}
		t.Run(s.String(), func(t *testing.T) {
			s.use(t)
			for seed := range uint64(2) {
				interleavings(t, s.o, seed)
			}
		})
	}
}

func interleavings(t *testing.T, o Options, seed uint64) {
	o.SlabBytes = 1 << 20
	tr := newTree(t, o)
	w := make(world, 250)
	for i := range w {
		w[i].kind, w[i].seed = i%kinds, uint64(i)
	}
	r := rand.New(rand.NewPCG(seed, 7))
	walks, nearWalks := make([]walk, 8), make([]nearWalk, 4)
	ended, nearest := 0, 0
	tr.onPublish = func() {
		for range r.IntN(4) {
			k := &walks[r.IntN(len(walks))]
			if !k.step(t, tr, w, r) {
				continue
			}
			k.running = false
			ended++
			if err := w.judge(k.lo, k.q, k.found); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		k := &nearWalks[r.IntN(len(nearWalks))]
		if k.step(tr, w, r, 1+r.IntN(30)) {
			k.running = false
			nearest++
			if err := k.judge(w); err != nil {
				t.Fatalf("seed %d: nearest of (%v, %v): %v", seed, k.b.x, k.b.y, err)
			}
		}
	}
	for range 3000 {
		i := r.IntN(len(w))
		if w[i].kind == stays && w[i].done.Load() > 0 {
			continue
		}
		if err := w[i].step(tr, uint64(i)); err != nil {
			t.Fatal(err)
		}
		tr.onPublish() // between writes, too
	}
	tr.onPublish = nil
	mustCheck(t, tr)
	if ended < 150 || nearest < 100 {
		t.Fatalf("seed %d: only %d searches and %d nearest ended", seed, ended, nearest)
	}
}
