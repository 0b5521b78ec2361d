package rstar

import (
	"math"
	"math/rand/v2"
	"testing"
)

// eachScan runs f over the scan paths of this machine.
func eachScan(t *testing.T, f func(t *testing.T)) {
	have := useAVX2
	defer func() { useAVX2 = have }()
	useAVX2 = false
	t.Run("scan=plain", f)
	if have {
		useAVX2 = true
		t.Run("scan=avx2", f)
	}
}

// odd are coordinates that comparisons get wrong first.
var oddCoordinates = []float64{
	0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1),
	math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64,
}

func someCoordinate(r *rand.Rand) float64 {
	if r.IntN(4) == 0 {
		return oddCoordinates[r.IntN(len(oddCoordinates))]
	}
	return r.Float64()
}

func someRect(r *rand.Rand) Rect {
	return Rect{someCoordinate(r), someCoordinate(r), someCoordinate(r), someCoordinate(r)}
}

// TestScan: every path finds what Intersects finds, for every number of
// entries of every size of node, whatever lane 0 and the unused entries
// hold.
func TestScan(t *testing.T) {
	eachScan(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for k := minGroups; k <= maxGroups; k++ {
			n := make(node, lanes*(1+k*linesPerGroup))
			for count := 0; count <= k*groupEntries; count++ {
				for i := range n {
					n[i] = r.Uint64() // versions, unused entries: anything
				}
				n[laneMeta] = packMeta(0, count, 7)
				for i := range count {
					n.setRect(i, someRect(r))
					n.setRef(i, uint64(i))
				}
				checkScan(t, n, count, someRect(r))
				checkScan(t, n, count, Rect{0.2, 0.2, 0.8, 0.8})
			}
		}
	})
}

func checkScan(t *testing.T, n node, count int, q Rect) {
	t.Helper()
	var want []uint64
	for i := range count {
		if n.rect(i).Intersects(q) {
			want = append(want, uint64(i))
		}
	}
	leaves := n.leafHits(nil, count, &q)
	refs := n.childHits(nil, 3, count, &q)
	hits := n.countHits(count, &q)
	if len(leaves) != len(want) || len(refs) != len(want) || hits != len(want) {
		t.Fatalf("%d entries, query %v: %d objects, %d children, count %d, want %d",
			count, q, len(leaves), len(refs), hits, len(want))
	}
	for i, id := range want {
		if leaves[i].ID != id || uint64(refs[i].chunk) != id || refs[i].level != 3 {
			t.Fatalf("%d entries, query %v: hit %d is %v and %v, want entry %d", count, q, i, leaves[i], refs[i], id)
		}
		if got := n.rect(int(id)); math.Float64bits(leaves[i].Rect.MinX) != math.Float64bits(got.MinX) ||
			math.Float64bits(leaves[i].Rect.MaxY) != math.Float64bits(got.MaxY) {
			t.Fatalf("hit %d has rectangle %v, want %v", i, leaves[i].Rect, got)
		}
	}
}

// FuzzScan: the fast path agrees with the plain one on any bytes.
func FuzzScan(f *testing.F) {
	f.Add(uint64(1), 0.2, 0.2, 0.8, 0.8)
	f.Add(uint64(2), math.NaN(), 0.0, math.Inf(1), -1.0)
	f.Fuzz(func(t *testing.T, seed uint64, minX, minY, maxX, maxY float64) {
		if !useAVX2 {
			return // nothing to compare with
		}
		r := rand.New(rand.NewPCG(seed, 3))
		n := make(node, lanes*(1+maxGroups*linesPerGroup))
		for i := range n {
			n[i] = math.Float64bits(someCoordinate(r))
		}
		q := Rect{minX, minY, maxX, maxY}
		var fast, plain masks
		maskAVX2(&n[0], maxGroups, &q, &fast)
		maskPlain(&n[0], maxGroups, &q, &plain)
		if fast != plain {
			t.Fatalf("query %v: %v, plain %v", q, fast, plain)
		}
	})
}
