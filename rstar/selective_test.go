package rstar

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSelective: searches read the nodes that boxes of float64 would make
// them read, and hardly more, wherever on the map the objects lie and however
// small they are. (Float32 without frames would read the whole tree in a
// national grid.)
func TestSelective(t *testing.T) {
	const objects, queries = 6000 / raceFactor, 1000
	// One query in some 2^24/boxes passes through the margin added by
	// rounding.
	const most = 1.01
	for _, by := range strategies {
		for _, sp := range spaces {
			switch sp.name {
			case "mixed-sizes", "1e300-and-1e-300", "all-exponents":
				continue // float64 distinguishes 1e-300 from 2e-300, even beside 1e300
			}
			t.Run(by.String()+"/"+sp.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				tr := newTree(t, Options{NodeBytes: 704, Strategy: by})
				for _, it := range sp.draw(r, objects) {
					mustInsert(t, tr, it)
				}
				exact := map[uint32]Rect{}
				exactBoxes(tr, tr.tx.root, exact)
				reads, want := tr.Stats().NodeReads, 0
				for range queries {
					q := sp.rect(r)
					tr.Count(q)
					want += exactReads(tr, tr.tx.root, q, exact)
				}
				reads = tr.Stats().NodeReads - reads
				if float64(reads) > most*float64(want) || int(reads) < want {
					t.Errorf("%d node reads, %d with exact boxes", reads, want)
				}
			})
		}
	}
}

// exactBoxes fills boxes with the MBRs of the objects below each node.
func exactBoxes(tr *Tree, chunk uint32, boxes map[uint32]Rect) Rect {
	n, mbr := tr.at(chunk), emptyRect
	for i := range n.count() {
		if n.inner() {
			mbr = mbr.Union(exactBoxes(tr, uint32(n.ref(i)), boxes))
		} else {
			mbr = mbr.Union(n.rect(i))
		}
	}
	boxes[chunk] = mbr
	return mbr
}

// exactReads is the number of nodes that a search with exact boxes reads.
func exactReads(tr *Tree, chunk uint32, q Rect, boxes map[uint32]Rect) int {
	n, reads := tr.at(chunk), 1
	for i := 0; n.inner() && i < n.count(); i++ {
		if child := uint32(n.ref(i)); boxes[child].Intersects(q) {
			reads += exactReads(tr, child, q, boxes)
		}
	}
	return reads
}

// TestShifted: the same objects at the origin and in a national grid give
// trees that are equally good. Coordinates are multiples of 1/128, so that
// nothing is rounded away by the shift.
func TestShifted(t *testing.T) {
	const objects, queries = 12000 / raceFactor, 1000
	const most = 1.02 // the trees differ by roundings in a few choices
	for _, by := range strategies {
		read := func(x, y float64) uint64 {
			r := rand.New(rand.NewPCG(3, 4))
			place := func(size int) Rect {
				return box(x+float64(r.IntN(1<<17))/128, y+float64(r.IntN(1<<17))/128,
					float64(r.IntN(size))/128, float64(r.IntN(size))/128)
			}
			tr := newTree(t, Options{NodeBytes: 704, Strategy: by})
			for id := range uint64(objects) {
				mustInsert(t, tr, Item{place(1 << 9), id})
			}
			before := tr.Stats().NodeReads
			for range queries {
				tr.Count(place(1 << 12))
			}
			return tr.Stats().NodeReads - before
		}
		origin := read(0, 0)
		for _, at := range [][2]float64{{3.5e6, 5.5e6}, {-1 << 40, 1 << 40}} {
			if got := read(at[0], at[1]); float64(got) > most*float64(origin) {
				t.Errorf("%v: %d node reads at %v, %d at the origin", by, got, at, origin)
			}
		}
	}
}

// TestReframed: objects ever farther away make all nodes above them take new
// frames again and again; every box is then as if stored once.
func TestReframed(t *testing.T) {
	for _, s := range settings() {
		if s.o.NodeBytes != nodeSizes[0] || s.o.PortableStores {
			continue
		}
		s.use(t)
		tr := newTree(t, s.o)
		m := &model{t: t, tr: tr}
		frames := map[frame]bool{}
		for exp := -1070; exp < 1020; exp += 8 {
			for k := range 4 {
				far := between(0, 0, pow2(exp, k&1), pow2(exp, k&2))
				far.MinX, far.MinY = far.MinX/2, far.MinY/2
				m.insert(far, uint64(len(m.items)))
			}
			frames[tr.at(tr.tx.root).frame()] = true
			mustCheck(t, tr)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 50 {
			m.answers(m.items[r.IntN(len(m.items))].Rect)
			m.answers(spaces[len(spaces)-1].rect(r))
		}
		sameNearest(t, tr, m.items, 1, 1)
		for len(m.items) > 0 {
			m.deleteAt(len(m.items) * 2 / 3)
			if len(m.items)%16 == 0 {
				mustCheck(t, tr)
			}
		}
		if len(frames) < 10 {
			t.Errorf("%v: the root had %d frames: the test shows little", s, len(frames))
		}
	}
}

// pow2 is 2^exp, or its negative.
func pow2(exp, negative int) float64 {
	if negative != 0 {
		return -math.Ldexp(1, exp)
	}
	return math.Ldexp(1, exp)
}
