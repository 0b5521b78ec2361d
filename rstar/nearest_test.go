package rstar

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNearestFirst compares the first of Nearest with a sorted scan, in
// every space, also from far outside.
func TestNearestFirst(t *testing.T) {
	for _, sp := range spaces {
		r := rand.New(rand.NewPCG(3, 4))
		items := sp.draw(r, 3000)
		tr := newTree(t, Options{NodeBytes: 704})
		if err := tr.Load(items); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			at := sp.rect(r)
			for _, p := range [][2]float64{
				{at.MinX, at.MinY}, {-at.MaxX * 2, at.MinY}, {at.MinX, math.MaxFloat64},
			} {
				x, y := p[0], p[1]
				if math.IsInf(x, 0) {
					x = math.Copysign(math.MaxFloat64, x)
				}
				want := make([]float64, len(items))
				for i, it := range items {
					want[i] = it.Rect.Distance(x, y)
				}
				slices.Sort(want)
				var got []float64
				tr.Nearest(x, y, func(r Rect, id uint64, d float64) bool {
					if items[id].Rect != r || d != r.Distance(x, y) {
						t.Fatalf("%s: object %d at %v, distance %v", sp.name, id, r, d)
					}
					got = append(got, d)
					return len(got) < 200
				})
				if !slices.Equal(got, want[:200]) {
					t.Fatalf("%s from (%v, %v):\n%v\n%v", sp.name, x, y, got, want[:200])
				}
			}
		}
	}
}

// TestFrameDistance: a child's key never exceeds the distance of objects in its box, in
// spite of all roundings, and is close to it where the frame suits.
func TestFrameDistance(t *testing.T) {
	eachScan(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		n := make(node, lanes*(1+2*linesPerGroup))
		var d distances
		for range 20000 {
			sp := spaces[r.IntN(len(spaces))]
			a, b := sp.rect(r), sp.rect(r)
			n.reset(1, 1, a.Union(b))
			if _, ok := n.frame().encode(a); !ok {
				continue
			}
			n.append(&entry{rect: a})
			at := sp.rect(r)
			if r.IntN(4) == 0 {
				at.MinX = someCoordinate(r)
			}
			f := newFrameDistance(n.frame(), at.MinX, at.MaxY)
			innerDist(&n[0], 1, &f.p, &d)
			key, want := f.key(d.inner[2]), a.Distance(at.MinX, at.MaxY)
			if key > want {
				t.Fatalf("%s: key %v of %v from (%v, %v), distance %v", sp.name, key, a, at.MinX, at.MaxY, want)
			}
			if sp.name == "uniform" && at.MinX >= 0 && at.MinX <= 1 && key < want*0.999-1e-4 {
				t.Fatalf("key %v of %v from (%v, %v), distance %v", key, a, at.MinX, at.MaxY, want)
			}
		}
	})
}

// TestLeafDistance: every instruction set gives Distance to the bit.
func TestLeafDistance(t *testing.T) {
	eachScan(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		n := make(node, lanes*(1+maxGroups*linesPerGroup))
		p := page{n: make(node, len(n))}
		for _, sp := range spaces {
			for range 50 {
				n.reset(0, 1, emptyRect)
				for range maxLeafFanout {
					n.append(&entry{rect: sp.rect(r)})
				}
				at := sp.rect(r)
				p.copyFrom(&n[0], 0, maxLeafFanout)
				p.measure(at.MinX, at.MaxY)
				for i := range maxLeafFanout {
					q := n.rect(i)
					got := p.d.leaf[i/leafGroup*lanes+i%leafGroup+1]
					if want := q.Distance(at.MinX, at.MaxY); got != want {
						t.Fatalf("%s: %v from (%v, %v): %v, want %v", sp.name, q, at.MinX, at.MaxY, got, want)
					}
				}
			}
		}
	})
}

// TestInnerDistance: every instruction set agrees with the plain path to
// the bit, for each child of every size of node.
func TestInnerDistance(t *testing.T) {
	eachScan(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for k := minGroups; k <= maxGroups; k++ {
			n := make(node, lanes*(1+k*linesPerGroup))
			n.reset(1, 1, Rect{0, 0, 1, 1})
			for range n.room() {
				n.append(&entry{rect: spaces[0].rect(r)})
			}
			var got, want distances
			p := [2]float32{2*r.Float32() - 1, 2*r.Float32() - 1}
			innerDist(&n[0], k, &p, &got)
			innerDistPlain(&n[0], k, &p, &want)
			for i := range n.room() {
				at := i/innerGroup*2*lanes + i%innerGroup + 2
				if got.inner[at] != want.inner[at] {
					t.Fatalf("%d groups, child %d at %v from %v: %v, want %v",
						k, i, n.box(i), p, got.inner[at], want.inner[at])
				}
			}
		}
	})
}

// TestNearestAcrossMoves provokes each case of a replay, one by one.
func TestNearestAcrossMoves(t *testing.T) {
	at := func(x float64) Rect { return box(x, 0, 0, 0) }
	type result struct {
		id uint64
		d  float64
	}
	for _, c := range []struct {
		name  string
		items []float64 // distances of objects 0, 1, ...
		after int       // results yielded before the change
		write func(tr *Tree)
		want  []result
	}{
		{"moved ahead", []float64{1, 2, 3}, 1, func(tr *Tree) {
			mustUpdate(t, tr, at(1), at(9), 0)
		}, []result{{0, 1}, {1, 2}, {2, 3}}},
		{"moved behind", []float64{1, 2, 3}, 2, func(tr *Tree) {
			mustUpdate(t, tr, at(3), at(0.5), 2)
		}, []result{{0, 1}, {1, 2}}},
		{"moved, still ahead", []float64{1, 2, 3}, 1, func(tr *Tree) {
			mustUpdate(t, tr, at(2), at(5), 1)
		}, []result{{0, 1}, {2, 3}, {1, 5}}},
		{"handed out and moved back", []float64{1, 2, 3}, 2, func(tr *Tree) {
			mustUpdate(t, tr, at(2), at(0.5), 1)
		}, []result{{0, 1}, {1, 2}, {2, 3}}},
		{"deleted", []float64{1, 2, 3}, 1, func(tr *Tree) {
			mustDelete(t, tr, Item{at(2), 1})
		}, []result{{0, 1}, {2, 3}}},
		{"inserted ahead", []float64{1, 2}, 1, func(tr *Tree) {
			mustInsert(t, tr, Item{at(1.5), 7})
		}, []result{{0, 1}, {7, 1.5}, {1, 2}}},
		{"inserted behind", []float64{1, 2}, 2, func(tr *Tree) {
			mustInsert(t, tr, Item{at(0.5), 7})
		}, []result{{0, 1}, {1, 2}}},
		{"ties", []float64{1, 1, 1, 2}, 3, func(*Tree) {},
			[]result{{0, 1}, {1, 1}, {2, 1}, {3, 2}}},
	} {
		tr := newTree(t, Options{})
		for id, x := range c.items {
			mustInsert(t, tr, Item{at(x), uint64(id)})
		}
		// Step by step, a new pass after every result.
		b := browse{t: tr, s: tr.newSearcher()}
		for {
			if len(b.done) == c.after {
				c.write(tr)
			}
			n := len(b.done)
			if b.live = false; !b.advance(1) || len(b.done) == n {
				break
			}
		}
		var got []result
		for _, n := range b.done {
			got = append(got, result{n.item.ID, n.dist})
		}
		slices.SortStableFunc(got, func(a, b result) int {
			return cmp.Or(cmp.Compare(a.d, b.d), cmp.Compare(a.id, b.id))
		})
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func mustUpdate(t testing.TB, tr *Tree, old, new Rect, id uint64) {
	t.Helper()
	if ok, err := tr.Update(old, new, id); !ok || err != nil {
		t.Fatalf("Update(%v, %v, %d) = %v, %v", old, new, id, ok, err)
	}
}

// TestNearestReplaysTies: objects at one distance are each yielded once,
// though a new pass begins between any two of them.
func TestNearestReplaysTies(t *testing.T) {
	tr := newTree(t, Options{NodeBytes: 704})
	items := spaces[3].draw(nil, 200)
	items = append(items, items[:50]...) // and equal pairs
	for _, it := range items {
		mustInsert(t, tr, it)
	}
	b := browse{t: tr, s: tr.newSearcher(), x: 7}
	for {
		n := len(b.done)
		if b.live = false; !b.advance(1) || len(b.done) == n {
			break
		}
	}
	var got []Item
	for _, n := range b.done {
		got = append(got, n.item)
	}
	slices.SortFunc(got, compareItems)
	if want := scan(items, plane); !slices.Equal(got, want) {
		t.Fatalf("%d results, want %d", len(got), len(want))
	}
}

// TestNearPathsAgree: on all paths, bounds and the choice of near entries agree with
// the plain ones.
func TestNearPathsAgree(t *testing.T) {
	eachScan(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for k := minGroups; k <= maxGroups; k++ {
			for level := range 2 {
				n := make(node, lanes*(1+k*linesPerGroup))
				p := page{n: make(node, len(n)), level: int32(level)}
				for i := range n {
					n[i] = r.Uint64() >> 2 // lane 0, too
				}
				n.reset(level, 1, Rect{0, 0, 1, 1})
				for c := 1; c <= n.room(); c++ {
					n.append(&entry{rect: spaces[0].rect(r)})
					want := emptyRect
					for i := range c {
						want = want.Union(n.rect(i))
					}
					if got := n.mbr(); got != want {
						t.Fatalf("%d groups, level %d, %d entries: MBR %v, want %v", k, level, c, got, want)
					}
					p.copyFrom(&n[0], int32(level), c)
					p.measure(r.Float64(), r.Float64())
					for i := range p.left {
						p.left[i] &= r.Uint64()
					}
					checkNear(t, &p, r.Float64())
				}
			}
		}
	})
}

func checkNear(t *testing.T, p *page, near float64) {
	t.Helper()
	var got, want masks
	var rest, wantRest float64
	if p.level == 0 {
		rest = leafNear(&p.d, p.groups(), &p.left, &got, near)
		wantRest = nearPlain(p.d.leaf[:], &p.left, &want, near)
	} else {
		rest = float64(innerNear(&p.d, p.groups(), &p.left, &got, float32(near)))
		wantRest = float64(nearPlain(p.d.inner[:], &p.left, &want, float32(near)))
	}
	if got != want || rest != wantRest && got != p.left {
		t.Fatalf("within %v of %x: %x, rest %v, want %x, %v", near, p.left, got, rest, want, wantRest)
	}
}
