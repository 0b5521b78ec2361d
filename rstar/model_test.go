package rstar

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
)

// model is a tree and the slice it must agree with.
type model struct {
	t     testing.TB
	tr    *Tree
	items []Item
	next  uint64
}

func (m *model) insert(r Rect, id uint64) {
	m.t.Helper()
	mustInsert(m.t, m.tr, Item{r, id})
	m.items = append(m.items, Item{r, id})
}

func (m *model) deleteAt(i int) {
	m.t.Helper()
	mustDelete(m.t, m.tr, m.items[i])
	last := len(m.items) - 1
	m.items[i] = m.items[last]
	m.items = m.items[:last]
}

func (m *model) updateAt(i int, r Rect) {
	m.t.Helper()
	it := &m.items[i]
	ok, err := m.tr.Update(it.Rect, r, it.ID)
	if err != nil || !ok {
		m.t.Fatalf("Update(%v, %v) = %v, %v", *it, r, ok, err)
	}
	it.Rect = r
}

// replace takes up to three objects out, and puts up to three in, in one step.
func (m *model) replace(r *rand.Rand, sp space) {
	m.t.Helper()
	var old, new []Item
	for range r.IntN(4) {
		if n := len(m.items); n > 0 {
			i := r.IntN(n)
			old = append(old, m.items[i])
			m.items[i] = m.items[n-1]
			m.items = m.items[:n-1]
		}
	}
	for range r.IntN(len(old) + 1) {
		it := Item{sp.rect(r), m.next}
		if r.IntN(3) == 0 && len(new) < len(old) { // the same place
			it.Rect = old[len(new)].Rect
		}
		m.next += r.Uint64N(3)
		new = append(new, it)
	}
	if ok, err := m.tr.Replace(old, new); !ok || err != nil {
		m.t.Fatalf("Replace(%v, %v) = %v, %v", old, new, ok, err)
	}
	m.items = append(m.items, new...)
	if len(old) > 0 {
		gone := old[len(old)-1]
		gone.ID = m.next + 1
		if ok, err := m.tr.Replace([]Item{gone}, new); ok || err != nil {
			m.t.Fatalf("Replace of what is not there: %v, %v", ok, err)
		}
		if len(new) > 0 {
			if ok, err := m.tr.Replace([]Item{new[0], gone}, nil); ok || err != nil {
				m.t.Fatalf("Replace of one that is there and one that is not: %v, %v", ok, err)
			}
		}
	}
}

// agree compares the tree with the slice.
func (m *model) agree(q Rect) {
	m.t.Helper()
	mustCheck(m.t, m.tr)
	m.answers(q)
	m.answers(plane)
}

// answers compares the answers to q.
func (m *model) answers(q Rect) {
	m.t.Helper()
	if m.tr.Len() != len(m.items) {
		m.t.Fatalf("Len() = %d, want %d", m.tr.Len(), len(m.items))
	}
	sameAnswers(m.t, m.tr, m.items, q)
}

var seeds = flag.Int("seeds", 1, "how many times more histories to make than by default; from 2 on of each setting in each space")

// TestHistories: every setting, and every space, each with half of the others;
// all with all by make test-long. More seeds for an hour's run:
//
//	go test -run 'TestHistories|TestExplore' ./rstar -args -seeds 100
func TestHistories(t *testing.T) {
	for i, w := range settings() {
		for j, sp := range spaces {
			// Each space has both kinds of stores, which alternate, and all else.
			if *seeds == 1 && ((i+i/2+j)%2 != 0 || (i+j)%raceFactor > 1) {
				continue
			}
			for seed := range *seeds {
				t.Run(fmt.Sprintf("%v/%s/seed=%d", w, sp.name, seed), func(t *testing.T) {
					w.use(t)
					history(t, w.o, sp, uint64(i)<<32|uint64(j)<<16|uint64(seed))
				})
			}
		}
	}
}

// phases of a history, by shares of inserts, deletes and updates in ten. The last one
// ends when the tree is empty.
var phases = [][3]int{{9, 0, 1}, {3, 3, 4}, {1, 8, 1}, {5, 4, 1}, {0, 9, 1}}

// history grows a tree, churns it, and shrinks it to nothing, twice: once
// from nothing, once from a bulk load.
func history(t *testing.T, o Options, sp space, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	o.SlabBytes = 16 << 20
	m := &model{t: t, tr: newTree(t, o)}
	// Two levels at least, three where nodes are small.
	grown := m.tr.fan(0) * 3
	for _, from := range r.Perm(2) {
		if from == 1 {
			m.items = sp.draw(r, r.IntN(6*grown))
			if err := m.tr.Load(m.items); err != nil {
				t.Fatal(err)
			}
			m.next = uint64(len(m.items))
		}
		for p, weights := range phases {
			for step := 0; step < grown || p == len(phases)-1; step++ {
				if p == len(phases)-1 && len(m.items) == 0 {
					break
				}
				m.step(r, sp, weights)
				if step%128 == 0 {
					m.answers(sp.rect(r))
				}
			}
			m.agree(sp.rect(r))
			q := sp.rect(r)
			sameNearest(t, m.tr, m.items, q.MinX, q.MaxY)
			sameFirst(t, m.tr, m.items, q.MaxX, q.MinY, 10)
		}
		if st := m.tr.Stats(); st.Height != 1 || st.Len != 0 {
			t.Fatalf("after deleting everything: %+v", st)
		}
	}
}

// step makes one write.
func (m *model) step(r *rand.Rand, sp space, weights [3]int) {
	m.t.Helper()
	switch w := r.IntN(10); {
	case w < weights[0] || len(m.items) == 0:
		id := m.next
		if r.IntN(20) == 0 && id > 0 { // the same id elsewhere
			id = r.Uint64N(id)
		}
		m.insert(sp.rect(r), id)
		m.next++
	case w < weights[0]+weights[1]:
		m.deleteAt(r.IntN(len(m.items)))
	case r.IntN(3) == 0:
		m.replace(r, sp)
	default:
		m.updateAt(r.IntN(len(m.items)), sp.rect(r))
	}
}

func TestMultiset(t *testing.T) {
	tr := newTree(t, Options{NodeBytes: 704})
	it := Item{box(1, 1, 1, 1), 5}
	for range 100 {
		mustInsert(t, tr, it)
	}
	other := Item{box(0, 0, 9, 9), 5} // the same id, another rectangle
	mustInsert(t, tr, other)
	for left := 100; left > 0; left-- {
		if n := tr.Count(it.Rect); n != left+1 {
			t.Fatalf("%d objects, want %d", n, left+1)
		}
		mustDelete(t, tr, it)
		mustCheck(t, tr)
	}
	if ok, err := tr.Delete(it.Rect, it.ID); ok || err != nil {
		t.Fatalf("Delete of what is gone = %v, %v", ok, err)
	}
	if ok, err := tr.Update(it.Rect, plane.Union(it.Rect), it.ID); ok || err == nil {
		t.Fatalf("Update to an infinite rectangle = %v, %v", ok, err)
	}
	if ok, err := tr.Update(it.Rect, other.Rect, it.ID); ok || err != nil {
		t.Fatalf("Update of what is gone = %v, %v", ok, err)
	}
	if got := search(tr, plane); len(got) != 1 || got[0] != other {
		t.Fatalf("left: %v", got)
	}
}
