package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/places"
	"github.com/catfish-index/catfish/rstar"
)

// The counts of docs/decisions/placement.md: `go test -v -run 'Compare' ./internal/placement`.

// million ids.
const million = 1_000_000

// hashesOf returns the sorted hashes of ids: random ones of 16 bytes as in HydraDB's experiments,
// counted ones, and those of an OpenStreetMap extract.
func hashesOf(t *testing.T, ids string) (all []uint64) {
	switch ids {
	case "random":
		r := rand.New(rand.NewPCG(1, 2))
		for range million {
			all = append(all, hashOf(fmt.Appendf(nil, "%016x", r.Uint64())))
		}
	case "counted":
		for i := range million {
			all = append(all, hashOf(fmt.Appendf(nil, "user%d", i)))
		}
	case "andorra":
		r, err := places.Open("../../datasets/testdata/andorra.osm.pbf", places.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		for p, err := range r.All() {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, hashOf([]byte(p.ID)))
		}
	}
	slices.Sort(all)
	return all
}

// unevenness is the most that a group has, in means.
func unevenness(owners []Index, groups int) float64 {
	has := make([]int, groups)
	for _, g := range owners {
		has[g]++
	}
	return float64(slices.Max(has)) * float64(groups) / float64(len(owners))
}

// movedShare is the part of ids that have two owners.
func movedShare(a, b []Index) float64 {
	n := 0
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return float64(n) / float64(len(a))
}

// ofSlots returns the owners of sorted hashes.
func ofSlots(m *Map, hashes []uint64) []Index {
	all := make([]Index, len(hashes))
	for i, h := range hashes {
		all[i] = m.Slots[h>>(64-slotBits)]
	}
	return all
}

// ofRing returns the owners of sorted hashes; at agrees with it on some.
func ofRing(t *testing.T, groups []Group, points int, hashes []uint64) []Index {
	r, err := NewRing(groups, points)
	if err != nil {
		t.Fatal(err)
	}
	all, next := make([]Index, len(hashes)), 0
	for i, h := range hashes {
		for next < len(r.points) && r.points[next].at < h {
			next++
		}
		all[i] = r.points[next%len(r.points)].group
		if i%1000 == 0 && all[i] != r.at(h) {
			t.Fatalf("%d is of %d, and of %d", h, all[i], r.at(h))
		}
	}
	return all
}

// named returns groups of the names of a set.
func named(set, n int) (all []Group) {
	for i := range n {
		all = append(all, Group{Name: fmt.Sprintf("%c%d", 'a'+set, i), Weight: 1})
	}
	return all
}

// TestCompareRing: slots against HydraDB's ring, in balance and in what one more group
// moves. A ring is as even as its groups' names have it: the mean and the worst of eight
// sets of names.
func TestCompareRing(t *testing.T) {
	const sets = 8
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ids\tgroups\tslots, as made\tslots, balanced\tring of 128\tring of 256\tone more: slots\tring of 128\tring of 256")
	for _, ids := range []string{"random", "counted", "andorra"} {
		hashes := hashesOf(t, ids)
		var load [Slots]uint64
		for _, h := range hashes {
			load[h>>(64-slotBits)] += 1000 // bytes
		}
		for _, n := range []int{3, 4, 7} {
			made, err := New(named(0, n))
			made = must(t, made, err)
			even, _ := settled(t, made, &load, Budget{})
			more, err := even.AddGroup("more", 1)
			more, _ = settled(t, must(t, more, err), &load, Budget{})
			row := []float64{unevenness(ofSlots(made, hashes), n), unevenness(ofSlots(even, hashes), n)}
			moves := movedShare(ofSlots(even, hashes), ofSlots(more, hashes))
			cells := fmt.Sprintf("%s\t%d\t%.3f\t%.3f", ids, n, row[0], row[1])
			moved := fmt.Sprintf("\t%.1f %%", 100*moves)
			if row[0] > 1.06 || row[1] > 1.06 {
				t.Errorf("%s, %d groups: the largest has %.3f, %.3f means", ids, n, row[0], row[1])
			}
			if moves > 1.08/float64(n+1) {
				t.Errorf("%s: group %d moves %.3f", ids, n+1, moves)
			}
			if worst := unevenness(ofSlots(more, hashes), n+1); worst > 1.06 {
				t.Errorf("%s: with one more the largest has %.3f means", ids, worst)
			}
			for _, points := range []int{128, 256} {
				var sum, most, sumMoved, mostMoved float64
				for set := range sets {
					ring, wider := ofRing(t, named(set, n), points, hashes), ofRing(t, named(set, n+1), points, hashes)
					u, m := unevenness(ring, n), movedShare(ring, wider)
					sum, most = sum+u/sets, max(most, u)
					sumMoved, mostMoved = sumMoved+m/sets, max(mostMoved, m)
				}
				cells += fmt.Sprintf("\t%.3f, %.3f", sum, most)
				moved += fmt.Sprintf("\t%.1f, %.1f %%", 100*sumMoved, 100*mostMoved)
			}
			fmt.Fprintln(w, cells+moved)
		}
	}
	_ = w.Flush()
	t.Log("\n" + out.String())
}

// boxesOf returns a data set's rectangles, in its order.
func boxesOf(t *testing.T, spec string, o datasets.Options) (all []rstar.Rect) {
	s, err := datasets.Open(spec, o)
	if err != nil {
		t.Fatal(err)
	}
	items, err := datasets.Collect(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range items {
		all = append(all, i.Rect)
	}
	return all
}

// bounded returns the map with the bounds of what each range has.
func bounded(t *testing.T, m *Map, boxes []rstar.Rect, positions []uint64) *Map {
	m = m.next()
	ranges := m.ranges(0)
	for i := range ranges {
		ranges[i].Bounds = nil
	}
	for i, box := range boxes {
		r := &ranges[m.Boxes[0].at(positions[i])]
		b := BoundsOf(box)
		if r.Bounds != nil {
			b = r.Bounds.Union(b)
		}
		r.Bounds = &b
	}
	return must(t, m, m.Validate())
}

// asked returns how many groups searches of a size at the centres of boxes ask: by bounds, and
// by the boxes of each group's tree alone.
func asked(m *Map, boxes []rstar.Rect, side float64) (byBounds, byRoot float64) {
	roots := map[Index]rstar.Rect{}
	for _, r := range m.Boxes[0].Ranges {
		if u, ok := roots[r.Group]; ok {
			roots[r.Group] = u.Union(r.Bounds.Box)
		} else {
			roots[r.Group] = r.Bounds.Box
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	const searches = 10_000
	n, g := 0, 0
	for range searches {
		b := boxes[r.IntN(len(boxes))]
		x, y := b.MinX/2+b.MaxX/2, b.MinY/2+b.MaxY/2
		area := rstar.Rect{MinX: x - side/2, MinY: y - side/2, MaxX: x + side/2, MaxY: y + side/2}
		n += len(m.Meets("roads", area))
		for _, u := range roots {
			if u.Intersects(area) {
				g++
			}
		}
	}
	return float64(n) / searches, float64(g) / searches
}

// TestCompareBoxes: how even Hilbert ranges are whose bounds come from a sample, and how
// many groups small searches ask.
func TestCompareBoxes(t *testing.T) {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "boxes\tgroups\tmost, in means\tasked: 0.01\t0.1\tby roots: 0.01\tone more: moved\tmost\tranges\tasked: 0.01\tby roots")
	for _, d := range []struct {
		name, spec string
		o          datasets.Options
	}{
		{"Andorra, way segments", "../../datasets/testdata/andorra.osm.pbf", datasets.Options{}},
		{"California, road network", "california", datasets.Options{}},
		{"rea02-like", "rea02-like", datasets.Options{Count: 500_000, Seed: 1}},
	} {
		boxes := boxesOf(t, d.spec, d.o)
		extent := boxes[0]
		for _, b := range boxes {
			extent = extent.Union(b)
		}
		positions := make([]uint64, len(boxes))
		for i, b := range boxes {
			positions[i] = Position(extent, b)
		}
		r := rand.New(rand.NewPCG(5, 6))
		sample := make([]uint64, 16384)
		for i := range sample {
			sample[i] = positions[r.IntN(len(positions))]
		}
		most := func(m *Map) float64 {
			return float64(slices.Max(heldBoxes(m, positions))) * float64(len(m.Groups)) / float64(len(positions))
		}
		for _, n := range []int{2, 3, 4, 7} {
			m, err := New(named(0, n))
			m = must(t, m, err)
			m, err = m.AddBoxes("roads", extent, sample, nil)
			m = bounded(t, must(t, m, err), boxes, positions)
			small, byGroup := asked(m, boxes, 0.01)
			large, _ := asked(m, boxes, 0.1)
			more, err := m.AddGroup("more", 1)
			more, moved := settledBoxes(t, must(t, more, err), sample, Budget{})
			more = bounded(t, more, boxes, positions)
			smallMore, byGroupMore := asked(more, boxes, 0.01)
			share := float64(moved) / float64(len(sample))
			if most(m) > 1.06 || most(more) > 1.06 || share > 1.08/float64(n+1) {
				t.Errorf("%s, %d groups: the largest has %.3f and %.3f means, %.3f moved", d.name, n, most(m), most(more), share)
			}
			fmt.Fprintf(w, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.1f %%\t%.3f\t%d\t%.3f\t%.3f\n", d.name, n, most(m), small, large, byGroup,
				100*share, most(more), len(more.Boxes[0].Ranges), smallMore, byGroupMore)
		}
	}
	_ = w.Flush()
	t.Log("\n" + out.String())
}
