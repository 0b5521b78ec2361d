package rstar

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// someOffset is a finite float32, often an unusual one.
func someOffset(r *rand.Rand) float32 {
	odd := []float32{0, float32(math.Copysign(0, -1)), 1, -1, math.MaxFloat32, -math.MaxFloat32,
		math.SmallestNonzeroFloat32, 0x1p-126}
	if r.IntN(4) == 0 {
		return odd[r.IntN(len(odd))]
	}
	return 2*r.Float32() - 1
}

func someBox32(r *rand.Rand) box32 {
	a, b, c, d := someOffset(r), someOffset(r), someOffset(r), someOffset(r)
	return box32{min(a, b), min(c, d), max(a, b), max(c, d)}
}

// someInner fills n with count children, and arbitrary versions.
func someInner(r *rand.Rand, n node, count int) {
	n.reset(1, 7, Rect{0, 0, 1, 1})
	n.setCount(count)
	for i := range count {
		n.setBox(i, someBox32(r))
		n.setRef(i, r.Uint64())
	}
	for l := 0; l < len(n); l += lanes {
		n[l] = r.Uint64()
		if r.IntN(2) == 0 {
			n[l] = math.MaxUint64 // NaN
		}
	}
}

// TestGrowths: on every path, for every number of children of every size of
// node, growths, bounds and intersections are those of single boxes.
func TestGrowths(t *testing.T) {
	eachScan(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for k := minGroups; k <= maxGroups; k++ {
			n := make(node, lanes*(1+k*linesPerGroup))
			for count := 1; count <= k*innerGroup; count++ {
				someInner(r, n, count)
				checkGrowths(t, n, someBox32(r))
				checkMeet(t, n, someBox32(r))
			}
		}
	})
}

func checkGrowths(t *testing.T, n node, b box32) {
	t.Helper()
	var g growths
	for i := range g {
		g[i] = math.NaN()
	}
	got, least := g.fill(n, b), math.Inf(1)
	want := make([]float64, n.count())
	for i := range want {
		was, will := n.box(i), n.box(i).union(b)
		margin := func(b box32) float64 {
			return (float64(b.maxX) - float64(b.minX)) + (float64(b.maxY) - float64(b.minY))
		}
		want[i] = margin(will) - margin(was)
		least = min(least, want[i])
	}
	if got != least {
		t.Fatalf("%d children, %v: least growth %v, want %v", n.count(), b, got, least)
	}
	for _, bound := range []float64{least, want[0], want[len(want)-1], math.MaxFloat64} {
		var m masks
		m.atMost(&g, innerGroups(n), bound)
		for i := range want {
			if want[i] > bound {
				continue
			}
			bit := m.next()
			if bit < 0 || slotOf(bit) != i || g[bit] != want[i] {
				t.Fatalf("%d children, %v: at most %v are %d, want %d, which grows by %v",
					n.count(), b, bound, slotOf(bit), i, want[i])
			}
		}
		if bit := m.next(); bit >= 0 {
			t.Fatalf("%d children, %v: %d grows by at most %v, want none", n.count(), b, slotOf(bit), bound)
		}
	}
}

func checkMeet(t *testing.T, n node, q box32) {
	t.Helper()
	var m masks
	m.meet(n, q)
	for i := range n.count() {
		if !n.box(i).rect().Intersects(q.rect()) {
			continue
		}
		if bit := m.next(); bit < 0 || slotOf(bit) != i {
			t.Fatalf("%d children, %v: meets %d, want %d", n.count(), q, slotOf(bit), i)
		}
	}
	if bit := m.next(); bit >= 0 {
		t.Fatalf("%d children, %v: meets %d, want none", n.count(), q, slotOf(bit))
	}
}

// TestTreesIdentical: insertions and deletions leave the same words on every path, so
// that a tree does not depend on the processor.
func TestTreesIdentical(t *testing.T) {
	for _, sp := range spaces {
		var want []uint64
		eachScan(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 8))
			tr := newTree(t, Options{NodeBytes: 704})
			items := sp.draw(r, 3000/raceFactor)
			for _, it := range items {
				mustInsert(t, tr, it)
			}
			for _, it := range items[:len(items)/3] {
				mustDelete(t, tr, it)
			}
			got := tr.words[headerDynamic : int(tr.tx.used)*tr.nodeWords]
			if want == nil {
				want = slices.Clone(got)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: the words differ from those of the first path", sp.name)
			}
		})
	}
}
