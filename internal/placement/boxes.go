package placement

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/internal/hilbert"
	"github.com/catfish-index/catfish/rstar"
)

// Curve places a collection of boxes: groups have ranges of positions.
type Curve struct {
	Collection string `json:"collection"`
	// World is the rectangle through which the curve runs, fixed for ever. Centres beyond
	// it count as on its border.
	World rstar.Rect `json:"world"`
	// Ranges are sorted by Start. The first starts at 0, each ends where the next starts.
	Ranges []Range `json:"ranges"`
}

// Range is a part of a collection of boxes.
type Range struct {
	Start uint64 `json:"start,string"` // the first position
	Group Index  `json:"group"`
	// Bounds of the boxes, nil: they may be anywhere. They go with the range, whatever group
	// has it, and no group takes a box beyond them.
	Bounds *Bounds `json:"bounds,omitempty"`
}

// Position returns where the centre of a valid box is on the curve through a valid world.
// All processors compute the same.
func Position(world, box rstar.Rect) uint64 {
	return hilbert.Of(
		cell(float64(box.MinX/4)+float64(box.MaxX/4), world.MinX, world.MaxX),
		cell(float64(box.MinY/4)+float64(box.MaxY/4), world.MinY, world.MaxY))
}

// cell of a coordinate, given as its half, among 2^32 from lo to hi. A greater coordinate
// has no lesser cell. Halves do not overflow, and are exact unless they are below 2^-1022,
// which counts for nothing in a world of which the side is not below 2^-900. The conversions
// forbid a fused multiply-add.
func cell(half, lo, hi float64) uint32 {
	lo = float64(lo / 2)
	side := float64(hi/2) - lo
	if !(side > 0x1p-900) {
		return 0
	}
	return uint32(min(max((half-lo)/side, 0), 1) * math.MaxUint32)
}

// at returns the number of the range that has a position.
func (c *Curve) at(position uint64) int {
	i, found := slices.BinarySearchFunc(c.Ranges, position, compareStart)
	if !found {
		i-- // the first starts at 0
	}
	return i
}

func compareStart(r Range, start uint64) int {
	switch {
	case r.Start < start:
		return -1
	case r.Start > start:
		return 1
	}
	return 0
}

// curve returns the number of a collection of boxes. ErrUnknown.
func (m *Map) curve(collection string) (int, error) {
	i, found := slices.BinarySearchFunc(m.Boxes, collection, func(c Curve, name string) int { return strings.Compare(c.Collection, name) })
	if !found {
		return i, fmt.Errorf("%w: no boxes %q", ErrUnknown, collection)
	}
	return i, nil
}

// ranged returns the numbers of a collection and of the range that starts there. ErrUnknown.
func (m *Map) ranged(collection string, start uint64) (curve, at int, err error) {
	curve, err = m.curve(collection)
	if err != nil {
		return 0, 0, err
	}
	at, found := slices.BinarySearchFunc(m.Boxes[curve].Ranges, start, compareStart)
	if !found {
		return 0, 0, fmt.Errorf("%w: no range of %q starts at %d", ErrUnknown, collection, start)
	}
	return curve, at, nil
}

// OfBox returns the group that has a box, and the range. ErrUnknown: the collection is
// not placed by ranges. An error that wraps rstar.ErrBadRect.
func (m *Map) OfBox(collection string, box rstar.Rect) (Index, Part, error) {
	r, err := m.rangeOf(collection, box)
	if err != nil {
		return 0, Part{}, err
	}
	return r.Group, Part{Collection: collection, Start: r.Start}, nil
}

func (m *Map) rangeOf(collection string, box rstar.Rect) (*Range, error) {
	i, err := m.curve(collection)
	if err != nil {
		return nil, err
	}
	if err := box.Validate(); err != nil {
		return nil, fmt.Errorf("placement: %q: %w", collection, err)
	}
	c := &m.Boxes[i]
	return &c.Ranges[c.at(Position(c.World, box))], nil
}

// FitsBox is nil if a box is within the bounds of its range, as all must be that a group
// adds; its errors are those of OfBox, and ErrBounds.
func (m *Map) FitsBox(collection string, box rstar.Rect) error {
	r, err := m.rangeOf(collection, box)
	if err == nil && r.Bounds != nil {
		err = r.Bounds.fits(box)
	}
	return err
}

// Places reports whether a collection of boxes is placed by ranges.
func (m *Map) Places(collection string) bool {
	_, err := m.curve(collection)
	return err == nil
}

// AddBoxes returns the map with one more collection of boxes: a range for each group, with
// a share of the sample by its weight. The sample has positions in any order; without one
// all positions count alike. bounds are those of each range, nil: boxes may be anywhere.
func (m *Map) AddBoxes(collection string, world rstar.Rect, sample []uint64, bounds *Bounds) (*Map, error) {
	i, err := m.curve(collection)
	if err == nil {
		return nil, fmt.Errorf("%w: boxes %q exist", ErrBusy, collection)
	}
	sorted := slices.Sorted(slices.Values(sample))
	c := Curve{Collection: collection, World: world}
	start := uint64(0)
	for g, end := range m.bounds(sorted) {
		// A share without a position gets no range, such as a part of equal ones.
		if end > start {
			c.Ranges = append(c.Ranges, Range{Start: start, Group: Index(g), Bounds: bounds})
		}
		start = end
	}
	n := m.next()
	n.Boxes = slices.Insert(slices.Clone(m.Boxes), i, c)
	return n.checked()
}

// bounds returns the position before which the share of each group ends; that of the last
// one is the curve's end.
func (m *Map) bounds(sorted []uint64) []uint64 {
	if len(sorted) == 0 {
		return m.shares(math.MaxUint64)
	}
	ends := m.shares(uint64(len(sorted)))
	for i, n := range ends {
		ends[i] = math.MaxUint64
		if n < uint64(len(sorted)) {
			ends[i] = sorted[n]
		}
	}
	return ends
}

// Drop returns the map without a collection of boxes. ErrBusy: a range of it is moving.
func (m *Map) Drop(collection string) (*Map, error) {
	i, err := m.curve(collection)
	if err != nil {
		return nil, err
	}
	for _, v := range m.Moves {
		if v.Collection == collection {
			return nil, fmt.Errorf("%w: %v is moving", ErrBusy, v.Part)
		}
	}
	n := m.next()
	n.Boxes = slices.Delete(slices.Clone(m.Boxes), i, i+1)
	return n, nil
}

// World is the rectangle through which the curve of a collection of boxes runs. ErrUnknown.
func (m *Map) World(collection string) (rstar.Rect, error) {
	i, err := m.curve(collection)
	if err != nil {
		return rstar.Rect{}, err
	}
	return m.Boxes[i].World, nil
}

// Span is what a range has: positions of a curve through a world, from first to last. ErrUnknown.
func (m *Map) Span(p Part) (world rstar.Rect, first, last uint64, err error) {
	curve, at, err := m.ranged(p.Collection, p.Start)
	if err != nil {
		return world, 0, 0, err
	}
	c := &m.Boxes[curve]
	last = math.MaxUint64
	if at+1 < len(c.Ranges) {
		last = c.Ranges[at+1].Start - 1
	}
	return c.World, p.Start, last, nil
}

// RangesOfOthers are those of all groups but one.
func (m *Map) RangesOfOthers(g Index) (parts []Part) {
	for i := range m.Boxes {
		for _, r := range m.Boxes[i].Ranges {
			if r.Group != g {
				parts = append(parts, Part{Collection: m.Boxes[i].Collection, Start: r.Start})
			}
		}
	}
	return parts
}

// LosesBoxes reports whether a group has positions of a collection of boxes by the map that are
// another group's by a later one, in which it has another number. By a nil map, or one that does not
// place a collection, it has all of it.
func (m *Map) LosesBoxes(g Index, next *Map, then Index) bool {
	for i := range next.Boxes {
		c := &next.Boxes[i]
		var was []Range
		if m != nil {
			if before, err := m.curve(c.Collection); err == nil {
				was = m.Boxes[before].Ranges
			}
		}
		if was == nil {
			was = []Range{{Group: g}}
		}
		old := &Curve{Ranges: was}
		for _, r := range slices.Concat(was, c.Ranges) { // Owners change at these alone.
			if old.Ranges[old.at(r.Start)].Group == g && c.Ranges[c.at(r.Start)].Group != then {
				return true
			}
		}
	}
	return false
}
