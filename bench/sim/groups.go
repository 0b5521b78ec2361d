package sim

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/rstar"
)

// Placing says how objects are divided among several groups, by package placement.
type Placing string

// Boxes go by ranges of a Hilbert curve, so that a search asks the groups whose bounds it meets;
// features by slots of their ids, and a search asks all groups.
const (
	Boxes    Placing = "boxes"
	Features Placing = "features"
)

// maxGroups of a simulation.
const maxGroups = placement.MaxGroups

// sampledCentres is how many of them divide boxes, as in docs/decisions/placement.md.
const sampledCentres = 16384

// collection that is placed.
const collection = "simulated"

func (s Spec) validateGroups() error {
	if err := harness.CheckRange("groups", s.Groups, 0, maxGroups); err != nil {
		return err
	}
	if s.Placing != "" && s.Placing != Boxes && s.Placing != Features {
		return fmt.Errorf("%w: objects are placed as %q, want %s or %s", ErrWorkload, s.Placing, Boxes, Features)
	}
	return nil
}

// part is what a group has, all with one group.
func (w *Workload) part(group int) *Workload {
	if len(w.parts) == 0 {
		return w
	}
	return w.parts[group]
}

// Most is how many objects the fullest group has, by what a group has on average.
func (w *Workload) Most() float64 {
	most := 0
	for _, p := range w.parts {
		most = max(most, p.Objects)
	}
	if most == 0 {
		return 1
	}
	return float64(most) * float64(len(w.parts)) / float64(w.Objects)
}

// divided places objects, and returns those of each group and the groups that each query asks.
func (s Spec) divided(items []rstar.Item, bounds rstar.Rect, queries []rstar.Rect) (parts [][]rstar.Item, asked [][]placement.Index, err error) {
	var groups []placement.Group
	for i := range s.Groups {
		groups = append(groups, placement.Group{Name: "g" + strconv.Itoa(i), Weight: 1})
	}
	m, err := placement.New(groups)
	if err != nil {
		return nil, nil, err
	}
	of := func(i *rstar.Item) (placement.Index, error) { return m.Of(strconv.AppendUint(nil, i.ID, 10)), nil }
	if s.Placing != Features {
		if m, err = placedBoxes(m, items, bounds, s.Seed); err != nil {
			return nil, nil, err
		}
		of = func(i *rstar.Item) (placement.Index, error) {
			g, _, err := m.OfBox(collection, i.Rect)
			return g, err
		}
	}
	parts = make([][]rstar.Item, s.Groups)
	for i := range items {
		g, err := of(&items[i])
		if err != nil {
			return nil, nil, err
		}
		parts[g] = append(parts[g], items[i])
	}
	for g, p := range parts {
		if len(p) == 0 {
			return nil, nil, fmt.Errorf("%w: group %d of %d has none of %d objects", ErrWorkload, g, s.Groups, len(items))
		}
	}
	for _, q := range queries {
		asked = append(asked, m.Meets(collection, q))
	}
	return parts, asked, nil
}

// placedBoxes returns the map with ranges of boxes, and the bounds of each.
func placedBoxes(m *placement.Map, items []rstar.Item, bounds rstar.Rect, seed uint64) (*placement.Map, error) {
	r := rand.New(rand.NewPCG(seed, 0x626f786573))
	sample := make([]uint64, sampledCentres)
	for i := range sample {
		sample[i] = placement.Position(bounds, items[r.IntN(len(items))].Rect)
	}
	m, err := m.AddBoxes(collection, bounds, sample, nil)
	if err != nil {
		return nil, err
	}
	of := map[uint64]placement.Bounds{} // by start
	for i := range items {
		_, part, err := m.OfBox(collection, items[i].Rect)
		if err != nil {
			return nil, err
		}
		b := placement.BoundsOf(items[i].Rect)
		if before, ok := of[part.Start]; ok {
			b = before.Union(b)
		}
		of[part.Start] = b
	}
	for start, b := range of {
		if m, err = m.BoundRange(collection, start, &b); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// divide makes the workload of several groups: a tree for each, and of each search what it
// reads of those that it asks. Searches that ask no group are left out: no server sees them.
func (w *Workload) divide(items []rstar.Item, bounds rstar.Rect, queries []rstar.Rect, note func(string)) error {
	s := w.Spec
	parts, asked, err := s.divided(items, bounds, queries)
	if err != nil {
		return err
	}
	w.Asked = 0
	left := 0 // queries that ask a group
	for i, groups := range asked {
		if len(groups) > 0 {
			w.Asked += float64(len(groups))
			queries[left], asked[left] = queries[i], groups
			left++
		}
	}
	if left == 0 {
		return fmt.Errorf("%w: none of %d searches asks a group", ErrWorkload, len(queries))
	}
	w.Asked /= float64(left)
	for g := range parts {
		p := &Workload{Spec: s, Objects: len(parts[g])}
		asks := make([]bool, left)
		for i := range asks {
			for _, a := range asked[i] {
				asks[i] = asks[i] || int(a) == g
			}
		}
		if err := p.searchTree(parts[g], queries[:left], asks, note); err != nil {
			return fmt.Errorf("group %d of %d: %w", g, len(parts), err)
		}
		w.parts = append(w.parts, p)
		w.Height, w.Chunks = max(w.Height, p.Height), max(w.Chunks, p.Chunks)
		w.Reads += p.Reads
		w.Results += p.Results
	}
	w.searches = make([]search, left) // As many as each part has.
	return nil
}

// degrees parses a scale such as 0.01deg: the side of squares.
func degrees(scale string) (side float64, ok bool, err error) {
	text, ok := strings.CutSuffix(scale, "deg")
	if !ok {
		return 0, false, nil
	}
	side, err = strconv.ParseFloat(text, 64)
	if err != nil || !(side > 0 && side <= 360) {
		return 0, true, fmt.Errorf("%w: scale %q, want more than 0deg to 360deg", ErrWorkload, scale)
	}
	return side, true, nil
}

// squares are queries of a side, around the centres of objects, as docs/decisions/placement.md
// counts them.
func squares(items []rstar.Item, side float64, seed uint64) (qs []rstar.Rect) {
	r := rand.New(rand.NewPCG(seed, 0x646567))
	for range sampledSearches {
		b := items[r.IntN(len(items))].Rect
		x, y := b.MinX/2+b.MaxX/2, b.MinY/2+b.MaxY/2
		qs = append(qs, rstar.Rect{MinX: x - side/2, MinY: y - side/2, MaxX: x + side/2, MaxY: y + side/2})
	}
	return qs
}
