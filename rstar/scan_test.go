package rstar

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// eachScan runs f over the instruction sets of this machine.
func eachScan(t *testing.T, f func(t *testing.T)) {
	defer func(have isaLevel) { isa = have }(isa)
	for _, isa = range isas {
		t.Run("scan="+isa.String(), f)
	}
}

// odd are coordinates that comparisons are likely to get wrong.
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
			for count := 0; count <= k*leafGroup; count++ {
				for i := range n {
					n[i] = r.Uint64() // versions, unused entries: anything
				}
				n[laneMeta] = packMeta(0, count, 7)
				n.setLeafFrame(leafFrame{anywhere, anywhere})
				rect := someRect
				if r.IntN(2) == 0 {
					n.setLeafFrame(leafFrameFor(Rect{0.25, 0.25, 0.75, 0.75}))
					rect = spaces[0].rect
				}
				for i := range count {
					a := rect(r)
					for !n.reaches(a) {
						a = rect(r)
					}
					n.setRect(i, a)
					n.setRef(i, uint64(i))
				}
				checkLeafScan(t, n, count, someRect(r))
				checkLeafScan(t, n, count, Rect{0.2, 0.2, 0.8, 0.8})
			}
		}
	})
}

func checkLeafScan(t *testing.T, n node, count int, q Rect) {
	t.Helper()
	var want []uint64
	for i := range count {
		if n.rect(i).Intersects(q) {
			want = append(want, uint64(i))
		}
	}
	var m masks
	m.scanLeaf(&n[0], count, &q)
	leaves := m.appendItems(nil, &n[0], n.groups(), &q)
	if len(leaves) != len(want) {
		t.Fatalf("%d entries, query %v: %d objects, want %d", count, q, len(leaves), len(want))
	}
	for i, id := range want {
		if leaves[i].ID != id {
			t.Fatalf("%d entries, query %v: hit %d is %v, want entry %d", count, q, i, leaves[i], id)
		}
		if got := n.rect(int(id)); math.Float64bits(leaves[i].Rect.MinX) != math.Float64bits(got.MinX) ||
			math.Float64bits(leaves[i].Rect.MaxY) != math.Float64bits(got.MaxY) {
			t.Fatalf("hit %d has rectangle %v, want %v", i, leaves[i].Rect, got)
		}
	}
}

// TestScanInner: the same for internal nodes, whose hits are those of the
// offsets.
func TestScanInner(t *testing.T) {
	eachScan(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for k := minGroups; k <= maxGroups; k++ {
			n := make(node, lanes*(1+k*linesPerGroup))
			for count := 0; count <= k*innerGroup; count++ {
				for i := range n {
					n[i] = r.Uint64()
				}
				n[laneMeta] = packMeta(2, count, 7)
				n.setFrame(frameFor(between(r.Float64(), r.Float64(), r.Float64(), r.Float64())))
				for i := range count {
					n.setBox(i, box32{
						float32(someCoordinate(r)), float32(someCoordinate(r)),
						float32(someCoordinate(r)), float32(someCoordinate(r)),
					})
					n.setRef(i, uint64(i))
				}
				checkInnerScan(t, n, count, someRect(r))
				checkInnerScan(t, n, count, Rect{0.2, 0.2, 0.8, 0.8})
			}
		}
	})
}

func checkInnerScan(t *testing.T, n node, count int, q Rect) {
	t.Helper()
	f := n.frame()
	minX, minY := f.offset(q.MinX, f.hx), f.offset(q.MinY, f.hy)
	maxX, maxY := f.offset(q.MaxX, f.hx), f.offset(q.MaxY, f.hy)
	var want []ref
	for i := range count {
		b := n.box(i)
		if b.minX <= maxX && b.minY <= maxY && minX <= b.maxX && minY <= b.maxY {
			want = append(want, ref{uint32(i), 3})
		}
	}
	var m masks
	m.scanInner(&n[0], count, &q)
	if got := m.appendRefs(nil, &n[0], 3); !slices.Equal(got, want) {
		t.Fatalf("%d entries, query %v: %v, want %v", count, q, got, want)
	}
}

// FuzzScan: the fast paths agree with the plain one on any bytes.
func FuzzScan(f *testing.F) {
	f.Add(uint64(1), 0.2, 0.2, 0.8, 0.8)
	for seed := range uint64(100) { // enough for each lane of each group
		f.Add(seed, -1e9, -1e9, 0.4, 0.4)
		f.Add(seed, 0.4, 0.4, 1e9, 1e9)
	}
	f.Add(uint64(2), math.NaN(), 0.0, math.Inf(1), -1.0)
	f.Fuzz(func(t *testing.T, seed uint64, minX, minY, maxX, maxY float64) {
		defer func(have isaLevel) { isa = have }(isa)
		r := rand.New(rand.NewPCG(seed, 3))
		n := make(node, lanes*(1+maxGroups*linesPerGroup))
		for i := range n {
			n[i] = math.Float64bits(someCoordinate(r))
			if r.IntN(2) == 0 {
				n[i] = r.Uint64()
			}
		}
		n[laneFrameScale] = leafFrame{axisFrame{0, uint(r.IntN(256))}, axisFrame{0, uint(r.IntN(64))}}.shifts()
		q := Rect{minX, minY, maxX, maxY}
		var leaf, inner masks
		if q != q {
			return // which candidates a NaN leaves does not matter
		}
		leafMaskPlain(&n[0], maxGroups, &q, &leaf)
		innerMaskPlain(&n[0], maxGroups, &q, &inner)
		for _, isa = range isas {
			var l, i masks
			leafMask(&n[0], maxGroups, &q, &l)
			innerMask(&n[0], maxGroups, &q, &i)
			if l != leaf || i != inner {
				t.Fatalf("%v, query %v: leaf %x, plain %x; inner %x, plain %x", isa, q, l, leaf, i, inner)
			}
		}
	})
}
