//go:build boost && cgo

package peers

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/catfish-index/catfish/rstar"
)

// TestQuality compares how many nodes a search visits in trees built by
// single inserts: the leaves, whose fan-out is the same here, must be about
// as few as in Boost's R*-tree. (Internal nodes of package rstar have twice
// the fan-out, so of them it visits fewer.)
func TestQuality(t *testing.T) {
	const objects, queries = 200_000, 20_000
	r := rand.New(rand.NewPCG(1, 2))
	items := make([]rstar.Item, objects)
	for i := range items {
		x, y := r.Float64(), r.Float64()
		items[i] = rstar.Item{
			Rect: rstar.Rect{MinX: x, MinY: y, MaxX: x + r.Float64()/1e4, MaxY: y + r.Float64()/1e4},
			ID:   uint64(i),
		}
	}
	peer, err := newBoost(42)
	if err != nil {
		t.Fatal(err)
	}
	boost := peer.(*boostIndex)
	defer boost.Close()
	if err := boost.Insert(items); err != nil {
		t.Fatal(err)
	}
	for _, s := range []float64{1e-5, 1e-2, 3e-2} {
		qs := make([]rstar.Rect, queries)
		for i := range qs {
			x, y := r.Float64(), r.Float64()
			qs[i] = rstar.Rect{MinX: x, MinY: y, MaxX: x + r.Float64()*s, MaxY: y + r.Float64()*s}
		}
		nodes, leaves := boost.reads(qs)
		for _, by := range []rstar.Strategy{rstar.Original, rstar.Revised} {
			t.Run(fmt.Sprintf("scale=%g/%v", s, by), func(t *testing.T) {
				tree, err := rstar.New(rstar.Options{Strategy: by})
				if err != nil {
					t.Fatal(err)
				}
				defer tree.Close()
				for _, it := range items {
					if err := tree.Insert(it.Rect, it.ID); err != nil {
						t.Fatal(err)
					}
				}
				n, l, err := visits(tree, qs)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("a search visits %.3f leaves of %.3f nodes, Boost's rstar<42> %.3f of %.3f",
					l/queries, n/queries, leaves/queries, nodes/queries)
				if l > leaves*1.05 {
					t.Errorf("%.0f leaves visited, want at most 1.05 times Boost's %.0f", l, leaves)
				}
			})
		}
	}
}

// visits counts the nodes of a tree that searches visit.
func visits(t *rstar.Tree, qs []rstar.Rect) (nodes, leaves float64, err error) {
	type ref struct {
		chunk uint32
		level int
	}
	mem := t.Memory()
	h, err := rstar.ParseHeader(mem)
	if err != nil {
		return 0, 0, err
	}
	var hits []int32
	for _, q := range qs {
		for todo := []ref{{h.Root, h.Height - 1}}; len(todo) > 0; {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			n, err := rstar.ViewNode(mem[int(at.chunk)*h.NodeBytes:][:h.NodeBytes], at.chunk, at.level, h.Moves)
			if err != nil {
				return 0, 0, err
			}
			nodes++
			if n.Leaf() {
				leaves++
				continue
			}
			hits = n.AppendHits(hits[:0], q)
			for _, i := range hits {
				todo = append(todo, ref{uint32(n.Ref(int(i))), at.level - 1})
			}
		}
	}
	return nodes, leaves, nil
}

// reads counts the nodes that searches visit.
func (b *boostIndex) reads(qs []rstar.Rect) (nodes, leaves float64) {
	n := boostReads(b, qs)
	return n[0], n[1]
}
