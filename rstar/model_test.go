package rstar

import (
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

// agree compares the tree with the slice.
func (m *model) agree(q Rect) {
	m.t.Helper()
	mustCheck(m.t, m.tr)
	if m.tr.Len() != len(m.items) {
		m.t.Fatalf("Len() = %d, want %d", m.tr.Len(), len(m.items))
	}
	sameAnswers(m.t, m.tr, m.items, q)
	sameAnswers(m.t, m.tr, m.items, plane)
}

func TestHistories(t *testing.T) {
	for _, nodeBytes := range nodeSizes[:(len(nodeSizes)-1)/raceFactor+1] {
		for _, sp := range spaces {
			t.Run(fmt.Sprintf("node=%d/space=%s", nodeBytes, sp.name), func(t *testing.T) {
				history(t, nodeBytes, sp)
			})
		}
	}
}

// history grows a tree, churns it, and shrinks it to nothing, twice, the
// second time from a bulk load.
func history(t *testing.T, nodeBytes int, sp space) {
	r := rand.New(rand.NewPCG(uint64(nodeBytes), uint64(len(sp.name))))
	m := &model{t: t, tr: newTree(t, Options{NodeBytes: nodeBytes})}
	const steps = 600/raceFactor + 100
	for round := range 2 {
		if round == 1 {
			m.items = sp.draw(r, 700)
			if err := m.tr.Load(m.items); err != nil {
				t.Fatal(err)
			}
			m.next = uint64(len(m.items))
		}
		for phase, weights := range [][3]int{{8, 1, 1}, {3, 3, 4}, {0, 9, 1}} {
			for step := 0; step < steps || phase == 2 && len(m.items) > 0; step++ {
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
				default:
					m.updateAt(r.IntN(len(m.items)), sp.rect(r))
				}
				if phase == 2 && len(m.items) == 0 {
					break
				}
				if step%50 == 0 {
					m.agree(sp.rect(r))
				}
			}
			q := sp.rect(r)
			sameNearest(t, m.tr, m.items, q.MinX, q.MaxY)
		}
		m.agree(plane)
		if st := m.tr.Stats(); st.Height != 1 || st.Len != 0 {
			t.Fatalf("after deleting everything: %+v", st)
		}
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
