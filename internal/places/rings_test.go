package places

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"
	"pgregory.net/rapid"
)

// on returns the position of a node on a grid of 1,000 columns.
func on(id int64) orb.Point { return orb.Point{float64(id % 1000), float64(id / 1000)} }

func node(x, y int) int64 { return int64(1000*y + x) }

// square returns the corners of a square, and every point of its sides.
func square(x, y, size int) []int64 {
	var all []int64
	for i := range size {
		all = append(all, node(x+i, y))
	}
	for i := range size {
		all = append(all, node(x+size, y+i))
	}
	for i := range size {
		all = append(all, node(x+size-i, y+size))
	}
	for i := range size {
		all = append(all, node(x, y+size-i))
	}
	return append(all, all[0])
}

func assemble(t testing.TB, ways ...[]int64) (orb.MultiPolygon, bool) {
	t.Helper()
	var m ringMaker
	for _, w := range ways {
		m.add(w)
	}
	rings, ok := m.rings(on)
	if !ok {
		return nil, false
	}
	var all []orb.Ring
	for _, r := range rings {
		var ring orb.Ring
		for _, id := range r {
			ring = append(ring, on(id))
		}
		if len(ring) < 4 || ring[0] != ring[len(ring)-1] {
			t.Fatalf("ring %v", ring)
		}
		seen := map[int64]bool{}
		for _, id := range r[1:] {
			if seen[id] {
				t.Fatalf("ring %v passes %d twice", r, id)
			}
			seen[id] = true
		}
		all = append(all, ring)
	}
	areas, err := polygons(all)
	if err != nil {
		t.Fatal(err)
	}
	return areas, true
}

// shape lists the number of rings of each part, from the largest down.
func shape(areas orb.MultiPolygon) (parts []int, area float64) {
	for _, p := range areas {
		parts = append(parts, len(p))
		area += planar.Area(p)
	}
	return parts, area
}

func TestRings(t *testing.T) {
	big := square(0, 0, 10)
	for _, c := range []struct {
		name  string
		ways  [][]int64
		parts []int
		area  float64
	}{
		{"one ring", [][]int64{big}, []int{1}, 100},
		{"three ways, any direction", [][]int64{big[:15], {big[30], big[29]}, big[30:], reversed(big[14:30])}, []int{1}, 100},
		{"hole", [][]int64{big, square(2, 2, 3)}, []int{2}, 91},
		{"island in a hole", [][]int64{square(3, 3, 1), big, square(2, 2, 3)}, []int{2, 1}, 92},
		{"two parts", [][]int64{big, square(20, 0, 5)}, []int{1, 1}, 125},
		{"touching corners", [][]int64{square(0, 0, 5), square(5, 5, 5)}, []int{1, 1}, 50},
		{"holes that touch corners", [][]int64{big, square(2, 2, 2), square(4, 4, 2)}, []int{3}, 92},
		{"hole that touches the outline", [][]int64{big, {node(0, 5), node(5, 6), node(5, 4), node(0, 5)}}, []int{2}, 95},
		{"common side", [][]int64{square(0, 0, 5), square(5, 0, 5)}, []int{1}, 50},
		{"a way into nowhere and back", [][]int64{big, {node(0, 0), node(-3, 0), node(0, 0)}}, []int{1}, 100},
		{"node twice in a row", [][]int64{append([]int64{big[0]}, big...)}, []int{1}, 100},
		{"nothing", [][]int64{{1}, {}}, nil, 0},
	} {
		areas, ok := assemble(t, c.ways...)
		parts, area := shape(areas)
		if !ok || !slices.Equal(parts, c.parts) || area != c.area {
			t.Errorf("%s: %v, %v, area %v; want %v, %v", c.name, ok, parts, area, c.parts, c.area)
		}
	}
	for name, ways := range map[string][][]int64{
		"open":       {big[:30]},
		"a stray":    {big, {node(0, 0), node(-3, 0)}},
		"two halves": {big[:15], big[16:]},
	} {
		if areas, ok := assemble(t, ways...); ok {
			t.Errorf("%s: %v", name, areas)
		}
	}
}

func reversed(nodes []int64) []int64 {
	nodes = slices.Clone(nodes)
	slices.Reverse(nodes)
	return nodes
}

// Unit squares of a grid, each in or out, whose sides are cut into ways of any
// length and direction: the resulting area is that of the squares. Sides between
// two of them cancel; corners touch in all possible ways.
func TestRingsOfCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 6
		cells := rapid.SliceOfN(rapid.Bool(), n*n, n*n).Draw(t, "cells")
		seed := rapid.Uint64().Draw(t, "seed")
		random := rand.New(rand.NewPCG(seed, 0))
		var ways [][]int64
		want := 0.0
		for i, in := range cells {
			if !in {
				continue
			}
			want++
			ring := square(10+i%n, 10+i/n, 1)
			at := 1 + random.IntN(3)
			ways = append(ways, ring[:at+1], reversed(ring[at:]))
		}
		random.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
		var m ringMaker
		for _, w := range ways {
			m.add(w)
		}
		rings, ok := m.rings(on)
		if !ok {
			t.Fatal("open")
		}
		var all []orb.Ring
		for _, r := range rings {
			var ring orb.Ring
			for _, id := range r {
				ring = append(ring, on(id))
			}
			all = append(all, ring)
		}
		areas, err := polygons(all)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := shape(areas); got != want {
			t.Fatalf("area %v, want %v: %v", got, want, areas)
		}
		for i, in := range cells {
			p := orb.Point{10.5 + float64(i%n), 10.5 + float64(i/n)}
			if planar.MultiPolygonContains(areas, p) != in {
				t.Fatalf("cell %d is %v: %v", i, in, areas)
			}
		}
	})
}

// Every other ring is a hole of the one around it.
func TestNesting(t *testing.T) {
	var rings []orb.Ring
	for i := range 100 {
		r := float64(100 - i)
		rings = append(rings, orb.Ring{{-r, -r}, {r, -r}, {r, r}, {-r, r}, {-r, -r}})
	}
	areas, err := polygons(rings)
	if parts, _ := shape(areas); err != nil || len(parts) != 50 || parts[49] != 2 {
		t.Errorf("%v, %v", parts, err)
	}
}
