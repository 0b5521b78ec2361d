package whole

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/rstar"
)

// Boxes of several groups
//
// A box is in the group that has the range of its centre. Searches ask the groups that may have
// a box in the area, by one map; what a group answers is in boxpart.go.
//
//	insert, delete           the group of the centre
//	update                   the same; or put into the new group, then deleted from the old one
//	search, count            the groups that may have a box there, at the same time
//	nearest                  the group of the point; then those that may have nearer boxes than
//	                         the k-th of these

// Boxes is a collection of boxes that several groups have.
type Boxes struct {
	of   *Groups
	name string
}

// Boxes returns a collection of boxes; ok is false if there is one group. ErrSeveralGroups: no
// group has ranges of it.
func (k *Groups) Boxes(name string) (b Boxes, ok bool, err error) {
	v := k.view()
	if v == nil {
		return b, false, nil
	}
	if _, err := k.o.Boxes(name); err != nil {
		return b, true, err
	}
	if !v.Map.Places(name) {
		return b, true, fmt.Errorf("%w: boxes of %q, which are not placed: 'catfish cluster boxes %s' gives each group a part", fault.ErrSeveralGroups, name, name)
	}
	return Boxes{k, name}, true, nil
}

// FoundBox is a box that a search has found.
type FoundBox struct {
	rstar.Item
	Query    uint32 // the number of the search
	Distance float64
}

// foundBoxBytes is a FoundBox in memory, and less as bytes.
const foundBoxBytes = 56

// Search returns what some searches find, in their order, up to a limit of all together. Of one
// group no more than that is asked for. hold is called with the bytes that are held.
func (b Boxes) Search(ctx context.Context, qs []rstar.Rect, limit int, hold func(int64) error) (found []FoundBox, err error) {
	err = b.of.byMap(ctx, func(v *View) error {
		parts := map[int]*boxText{}
		of := map[int][]uint32{} // the numbers of the searches of each group
		for i, q := range qs {
			for _, g := range v.Map.Meets(b.name, q) {
				if parts[int(g)] == nil {
					parts[int(g)] = &boxText{Limit: limit}
				}
				parts[int(g)].Rects = append(parts[int(g)].Rects, q)
				of[int(g)] = append(of[int(g)], uint32(i))
			}
		}
		found, err = b.find(ctx, v, parts, hold, func(g int, f *FoundBox) bool {
			if int(f.Query) >= len(of[g]) {
				return false
			}
			f.Query = of[g][f.Query]
			return true
		})
		return err
	})
	slices.SortStableFunc(found, func(a, b FoundBox) int { return cmp.Compare(a.Query, b.Query) })
	return found[:min(len(found), limit)], err
}

// find asks groups for their parts. each may change what is found; false: it is none that was asked for.
func (b Boxes) find(ctx context.Context, v *View, parts map[int]*boxText, hold func(int64) error, each func(g int, f *FoundBox) bool) (found []FoundBox, err error) {
	var mu sync.Mutex
	var groups []int
	for g := range parts {
		groups = append(groups, g)
	}
	err = b.of.fromAll(ctx, v, groups, func(ctx context.Context, _, g int) error {
		r := request{Op: opFindBoxes, Epoch: v.Map.Epoch, Collection: b.name, Box: parts[g], boxes: func(some []FoundBox) error {
			mu.Lock()
			defer mu.Unlock()
			for i := range some {
				if !each(g, &some[i]) {
					return fmt.Errorf("%w: a box of search %d", errFormat, some[i].Query)
				}
			}
			found = append(found, some...)
			return hold(int64(cap(found)) * foundBoxBytes)
		}}
		_, err := b.of.ask(ctx, v, g, &r, nil)
		return err
	})
	return found, err
}

// Count is exact.
func (b Boxes) Count(ctx context.Context, q rstar.Rect) (n int, err error) {
	err = b.of.byMap(ctx, func(v *View) error {
		var groups []int
		for _, g := range v.Map.Meets(b.name, q) {
			groups = append(groups, int(g))
		}
		counts := make([]int, len(groups))
		err := b.of.fromAll(ctx, v, groups, func(ctx context.Context, i, g int) error {
			r := request{Op: opCountBoxes, Epoch: v.Map.Epoch, Collection: b.name, Box: &boxText{Rects: []rstar.Rect{q}}}
			a, err := b.of.ask(ctx, v, g, &r, nil)
			counts[i] = a.N
			return err
		})
		n = 0
		for _, c := range counts {
			n += c
		}
		return err
	})
	return n, err
}

// Nearest returns the boxes nearest to a point, at most limit, none farther than within.
func (b Boxes) Nearest(ctx context.Context, x, y, within float64, limit int, hold func(int64) error) (near []rstar.Neighbor, err error) {
	var found []FoundBox
	err = b.of.byMap(ctx, func(v *View) error {
		first, _, err := v.Map.OfBox(b.name, rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y})
		if err != nil {
			return err
		}
		all := func(int, *FoundBox) bool { return true }
		found, err = b.find(ctx, v, map[int]*boxText{int(first): {X: x, Y: y, Within: within, Limit: limit}}, hold, all)
		if err != nil {
			return err
		}
		left := within
		if len(found) >= limit {
			left = min(left, found[limit-1].Distance)
		}
		others := map[int]*boxText{}
		for _, g := range v.Map.Meets(b.name, placement.Around(x, y, left)) {
			if g != first {
				others[int(g)] = &boxText{X: x, Y: y, Within: left, Limit: limit}
			}
		}
		more, err := b.find(ctx, v, others, func(n int64) error { return hold(n + int64(len(found))*foundBoxBytes) }, all)
		found = append(found, more...)
		return err
	})
	slices.SortFunc(found, func(a, b FoundBox) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.ID, b.ID))
	})
	for _, f := range found[:min(len(found), limit)] {
		near = append(near, rstar.Neighbor{Item: f.Item, Dist: f.Distance})
	}
	return near, err
}

// Insert stores boxes, and returns how many are stored: all, or some after an error.
func (b Boxes) Insert(ctx context.Context, items []rstar.Item) (stored int, err error) {
	if v := b.of.view(); v != nil { // Those of a group together.
		items = slices.Clone(items)
		slices.SortStableFunc(items, func(x, y rstar.Item) int {
			g, _, _ := v.Map.OfBox(b.name, x.Rect)
			h, _, _ := v.Map.OfBox(b.name, y.Rect)
			return cmp.Compare(g, h)
		})
	}
	for len(items) > 0 {
		err := b.of.byMap(ctx, func(v *View) error {
			g, _, err := v.Map.OfBox(b.name, items[0].Rect)
			n := 1 // of the first that follow each other, and are of one group
			for ; err == nil && n < len(items); n++ {
				if next, _, err := v.Map.OfBox(b.name, items[n].Rect); err != nil || next != g {
					break
				}
			}
			if err != nil {
				return err
			}
			a, err := b.write(ctx, v, g, &boxText{Items: items[:n]})
			stored += a.N
			items = items[min(a.N, n):]
			return err
		})
		if err != nil {
			return stored, err
		}
	}
	return stored, nil
}

// write makes a write in a group. An error names it.
func (b Boxes) write(ctx context.Context, v *View, g placement.Index, t *boxText) (answer, error) {
	r := request{Op: opWriteBoxes, Collection: b.name, Box: t}
	a, err := b.of.ask(ctx, v, int(g), &r, nil)
	if err != nil {
		err = v.ofGroup(int(g), err)
	}
	return a, err
}

// Delete deletes a box, and reports whether it existed.
func (b Boxes) Delete(ctx context.Context, it rstar.Item) (found bool, err error) {
	err = b.of.byMap(ctx, func(v *View) error {
		g, _, err := v.Map.OfBox(b.name, it.Rect)
		if err != nil {
			return err
		}
		a, err := b.write(ctx, v, g, &boxText{Old: &it})
		found = a.N > 0
		return err
	})
	return found, err
}

// Update moves a box, and reports whether it existed.
func (b Boxes) Update(ctx context.Context, old, new rstar.Rect, id uint64) (found bool, err error) {
	from, to := rstar.Item{Rect: old, ID: id}, rstar.Item{Rect: new, ID: id}
	other := false
	err = b.of.byMap(ctx, func(v *View) error {
		g, _, err := v.Map.OfBox(b.name, old)
		if err != nil {
			return err
		}
		next, _, err := v.Map.OfBox(b.name, new)
		if other = err == nil && next != g; err != nil || other {
			return err
		}
		a, err := b.write(ctx, v, g, &boxText{Old: &from, Items: []rstar.Item{to}})
		found = a.N > 0
		return err
	})
	if err != nil || !other {
		return found, err
	}
	return b.move(ctx, from, to)
}

// move moves a box to another group. At each moment one has it. If there was none at its old
// place, it is deleted at the new one.
func (b Boxes) move(ctx context.Context, from, to rstar.Item) (found bool, err error) {
	if _, err := b.Insert(ctx, []rstar.Item{to}); err != nil {
		return false, err
	}
	found, err = b.Delete(ctx, from)
	switch {
	case found:
		return true, nil
	case errors.Is(err, fault.ErrUnknownOutcome):
		return false, fmt.Errorf("box %d was put at its new place, and may stay at its old one, too: %w", to.ID, err)
	}
	if _, left := b.Delete(context.WithoutCancel(ctx), to); left != nil {
		return false, fmt.Errorf("%w: box %d was put at its new place, and cannot be deleted there: %w", fault.ErrUnknownOutcome, to.ID, left)
	}
	return false, err
}

// boxText is what is asked about boxes.
type boxText struct {
	Rects  []rstar.Rect `json:",omitempty"` // searches; none: of a point
	Limit  int          `json:",omitempty"` // of all searches together
	X, Y   float64      `json:",omitzero"`
	Within float64      `json:",omitzero"`

	Items []rstar.Item `json:",omitempty"` // to insert
	Old   *rstar.Item  `json:",omitempty"` // to delete, or to move to Items
}
