package rstar

import (
	"math/rand/v2"
	"testing"
)

// TestOriginalDoubles: no inner node has more children than a leaf has objects, at any
// level and whether the tree was loaded, grew, or shrank; and those of a loaded tree have as many. So it
// has the levels of a tree with boxes of doubles.
func TestOriginalDoubles(t *testing.T) {
	for _, nodeBytes := range nodeSizes {
		f := fanoutOf(nodeBytes/8, false)
		n := 3 * f * f // three full parents
		items := make([]Item, n)
		r := rand.New(rand.NewPCG(7, 0))
		for i := range items {
			items[i] = Item{box(r.Float64(), r.Float64(), 1e-3, 1e-3), uint64(i)}
		}
		of := func(by Strategy) *Tree { return newTree(t, Options{NodeBytes: nodeBytes, Strategy: by}) }
		grown, loaded, other := of(OriginalDoubles), of(OriginalDoubles), of(Original)
		for _, it := range items {
			mustInsert(t, grown, it)
			mustInsert(t, other, it)
		}
		if err := loaded.Load(items); err != nil {
			t.Fatal(err)
		}
		if grown.Stats().InnerFanout != f || other.Stats().InnerFanout != 2*f {
			t.Errorf("node=%d: fan-outs %d and %d, a leaf's is %d", nodeBytes, grown.Stats().InnerFanout, other.Stats().InnerFanout, f)
		}
		if a, b := grown.Stats().Nodes[1], other.Stats().Nodes[1]; a < b*3/2 {
			t.Errorf("node=%d: %d parents of leaves, original has %d", nodeBytes, a, b)
		}
		for name, tr := range map[string]*Tree{"grown": grown, "loaded": loaded} {
			mustCheck(t, tr)
			if k := mostChildren(tr, tr.tx.root); k > f || name == "loaded" && k < f {
				t.Errorf("node=%d, %s: at most %d children, want %d", nodeBytes, name, k, f)
			}
			for _, it := range items[:n-n/8] {
				mustDelete(t, tr, it)
			}
			mustCheck(t, tr)
			sameAnswers(t, tr, items[n-n/8:], box(0.2, 0.2, 0.5, 0.5))
		}
	}
}

// mostChildren is the largest number of children of the inner nodes below chunk.
func mostChildren(tr *Tree, chunk uint32) (most int) {
	n := tr.at(chunk)
	if !n.inner() {
		return 0
	}
	most = n.count()
	for i := range n.count() {
		most = max(most, mostChildren(tr, uint32(n.ref(i))))
	}
	return most
}
