package placement

import (
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/internal/names"
	"github.com/catfish-index/catfish/rstar"
)

// Validate returns an error that wraps ErrMap and names the first value that breaks a rule
// or a limit.
func (m *Map) Validate() error {
	if m.Version == 0 {
		return fmt.Errorf("%w: version 0, want 1 or more", ErrMap)
	}
	if m.Epoch == 0 || m.Epoch > m.Version {
		return fmt.Errorf("%w: epoch %d of version %d, want 1 or more, and not above it", ErrMap, m.Epoch, m.Version)
	}
	if err := checkGroups(m.Groups); err != nil {
		return err
	}
	for i, g := range m.Slots {
		if int(g) >= len(m.Groups) {
			return fmt.Errorf("%w: slot %d has group %d of %d", ErrMap, i, g, len(m.Groups))
		}
	}
	if n := len(m.Boxes); n > MaxCollections {
		return fmt.Errorf("%w: %d collections of boxes, at most %d", ErrMap, n, MaxCollections)
	}
	for i := range m.Boxes {
		if err := m.Boxes[i].check(len(m.Groups)); err != nil {
			return err
		}
		if i > 0 && m.Boxes[i-1].Collection >= m.Boxes[i].Collection {
			return fmt.Errorf("%w: boxes %q come after %q", ErrMap, m.Boxes[i].Collection, m.Boxes[i-1].Collection)
		}
	}
	return m.checkMoves()
}

func checkGroups(groups []Group) error {
	if n := len(groups); n < 1 || n > MaxGroups {
		return fmt.Errorf("%w: %d groups, want 1 to %d", ErrMap, n, MaxGroups)
	}
	weights := 0
	for i := range groups {
		g := &groups[i]
		if err := names.Check(g.Name); err != nil {
			return fmt.Errorf("%w: group %d: %w", ErrMap, i, err)
		}
		if first := slices.IndexFunc(groups, func(o Group) bool { return o.Name == g.Name }); first != i {
			return fmt.Errorf("%w: groups %d and %d are both %q", ErrMap, first, i, g.Name)
		}
		if g.Weight > MaxWeight {
			return fmt.Errorf("%w: group %q has weight %d, at most %d", ErrMap, g.Name, g.Weight, MaxWeight)
		}
		weights += int(g.Weight)
		for j, e := range g.Extents {
			if err := checkExtent(e.Collection, e.Box); err != nil {
				return fmt.Errorf("group %q: %w", g.Name, err)
			}
			if j > 0 && g.Extents[j-1].Collection >= e.Collection {
				return fmt.Errorf("%w: group %q: the extent of %q comes after that of %q", ErrMap, g.Name, e.Collection, g.Extents[j-1].Collection)
			}
		}
	}
	if weights == 0 {
		return fmt.Errorf("%w: all %d groups have weight 0", ErrMap, len(groups))
	}
	return nil
}

func checkExtent(collection string, box rstar.Rect) error {
	if err := names.CheckLength(collection); err != nil {
		return fmt.Errorf("%w: %w", ErrMap, err)
	}
	if err := box.Validate(); err != nil {
		return fmt.Errorf("%w: rectangle of %q: %w", ErrMap, collection, err)
	}
	return nil
}

func (c *Curve) check(groups int) error {
	if err := checkExtent(c.Collection, c.World); err != nil {
		return err
	}
	if n := len(c.Ranges); n < 1 || n > MaxRanges {
		return fmt.Errorf("%w: %q has %d ranges, want 1 to %d", ErrMap, c.Collection, n, MaxRanges)
	}
	if first := c.Ranges[0].Start; first != 0 {
		return fmt.Errorf("%w: the first range of %q starts at %d, not at 0", ErrMap, c.Collection, first)
	}
	for i, r := range c.Ranges {
		if i > 0 && r.Start <= c.Ranges[i-1].Start {
			return fmt.Errorf("%w: a range of %q at %d comes after one at %d", ErrMap, c.Collection, r.Start, c.Ranges[i-1].Start)
		}
		if int(r.Group) >= groups {
			return fmt.Errorf("%w: the range of %q at %d has group %d of %d", ErrMap, c.Collection, r.Start, r.Group, groups)
		}
		if r.Bounds == nil {
			continue
		}
		if err := r.Bounds.check(); err != nil {
			return fmt.Errorf("%w: the range of %q at %d: %w", ErrMap, c.Collection, r.Start, err)
		}
	}
	return nil
}

func (m *Map) checkMoves() error {
	if n := len(m.Moves); n > MaxMoves {
		return fmt.Errorf("%w: %d moves, at most %d", ErrMap, n, MaxMoves)
	}
	for i, v := range m.Moves {
		owner, err := m.owner(v.Part)
		if err != nil {
			return fmt.Errorf("%w: move %d: %w", ErrMap, i, err)
		}
		if v.Collection == "" && v.Start != 0 || v.Collection != "" && v.Slot != 0 {
			return fmt.Errorf("%w: move %d is of slot %d and of %v", ErrMap, i, v.Slot, v.Part)
		}
		if first := m.moving(v.Part); first != i {
			return fmt.Errorf("%w: moves %d and %d are both of %v", ErrMap, first, i, v.Part)
		}
		if int(v.Step) >= len(steps) {
			return fmt.Errorf("%w: the move of %v is at %v, of %d", ErrMap, v.Part, v.Step, len(steps))
		}
		for _, g := range []Index{v.From, v.To} {
			if int(g) >= len(m.Groups) {
				return fmt.Errorf("%w: the move of %v has group %d of %d", ErrMap, v.Part, g, len(m.Groups))
			}
		}
		has := v.From
		if !v.Step.Undoable() {
			has = v.To
		}
		if v.From == v.To || *owner != has {
			return fmt.Errorf("%w: the move of %v from group %d to %d is at %v, and group %d has it", ErrMap, v.Part, v.From, v.To, v.Step, *owner)
		}
		if v.Until != 0 && v.Step < Freeze {
			return fmt.Errorf("%w: the move of %v is at %v, and has a revision %d", ErrMap, v.Part, v.Step, v.Until)
		}
	}
	return nil
}
