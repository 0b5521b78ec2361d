package placement

import (
	"fmt"
	"slices"
)

// Split returns the map in which the range that starts at start ends before at, where one
// more begins, of the same group and with the same bounds. No data moves. ErrBusy: the
// range is moving.
func (m *Map) Split(collection string, start, at uint64) (*Map, error) {
	curve, i, err := m.ranged(collection, start)
	if err != nil {
		return nil, err
	}
	if err := m.still(Part{Collection: collection, Start: start}); err != nil {
		return nil, err
	}
	ranges := m.Boxes[curve].Ranges
	if at <= start || (i+1 < len(ranges) && at >= ranges[i+1].Start) {
		return nil, fmt.Errorf("%w: %d is not inside of the range of %q at %d", ErrMap, at, collection, start)
	}
	n := m.next()
	more := n.ranges(curve)[i]
	more.Start = at
	n.Boxes[curve].Ranges = slices.Insert(n.Boxes[curve].Ranges, i+1, more)
	return n.checked()
}

// Halve is Split at the median of the positions of a sample that are in the range.
// ErrLoad: all of these are one position, or there are none.
func (m *Map) Halve(collection string, start uint64, sample []uint64) (*Map, error) {
	curve, i, err := m.ranged(collection, start)
	if err != nil {
		return nil, err
	}
	in := inside(m.Boxes[curve].Ranges, i, slices.Sorted(slices.Values(sample)))
	at, ok := cut(in, len(in)/2)
	if !ok {
		return nil, fmt.Errorf("%w: %d samples in the range of %q at %d, all of one position", ErrLoad, len(in), collection, start)
	}
	return m.Split(collection, start, at)
}

// inside returns those of sorted positions that are in a range.
func inside(ranges []Range, i int, sorted []uint64) []uint64 {
	from, _ := slices.BinarySearch(sorted, ranges[i].Start)
	to := len(sorted)
	if i+1 < len(ranges) {
		to, _ = slices.BinarySearch(sorted, ranges[i+1].Start)
	}
	return sorted[from:to]
}

// cut returns the position that divides sorted positions as evenly into n and the rest as
// equal ones permit, with both sides not empty.
func cut(sorted []uint64, n int) (at uint64, ok bool) {
	if len(sorted) < 2 || sorted[0] == sorted[len(sorted)-1] {
		return 0, false
	}
	n = min(max(n, 1), len(sorted)-1)
	below, _ := slices.BinarySearch(sorted, sorted[n])
	if above := after(sorted, sorted[n]); below == 0 || (above < len(sorted) && above-n < n-below) {
		return sorted[above], true
	}
	return sorted[below], true
}

// after returns how many sorted positions are at most p.
func after(sorted []uint64, p uint64) int {
	n, _ := slices.BinarySearchFunc(sorted, p, func(s, p uint64) int {
		if s <= p {
			return -1
		}
		return 1
	})
	return n
}

// Join returns the map in which the range that starts there is part of the one before,
// which is of the same group. ErrBusy: one of them is moving, or they have two groups.
func (m *Map) Join(collection string, start uint64) (*Map, error) {
	curve, i, err := m.ranged(collection, start)
	if err != nil {
		return nil, err
	}
	if i == 0 {
		return nil, fmt.Errorf("%w: the range of %q at 0 is the first", ErrMap, collection)
	}
	a, b := m.Boxes[curve].Ranges[i-1], m.Boxes[curve].Ranges[i]
	for _, r := range []Range{a, b} {
		if err := m.still(Part{Collection: collection, Start: r.Start}); err != nil {
			return nil, err
		}
	}
	if a.Group != b.Group {
		return nil, fmt.Errorf("%w: the ranges of %q at %d and %d are of %q and %q", ErrBusy, collection, a.Start, b.Start,
			m.Groups[a.Group].Name, m.Groups[b.Group].Name)
	}
	var both *Bounds
	if a.Bounds != nil && b.Bounds != nil {
		u := a.Bounds.Union(*b.Bounds)
		both = &u
	}
	n := m.next()
	n.ranges(curve)[i-1].Bounds = both
	n.Boxes[curve].Ranges = slices.Delete(n.Boxes[curve].Ranges, i, i+1)
	return n.checked()
}

// RangeAt returns the range of a collection of boxes that has a position, and its group. ErrUnknown.
func (m *Map) RangeAt(collection string, position uint64) (Part, Index, error) {
	i, err := m.curve(collection)
	if err != nil {
		return Part{}, 0, err
	}
	r := &m.Boxes[i].Ranges[m.Boxes[i].at(position)]
	return Part{Collection: collection, Start: r.Start}, r.Group, nil
}

// Fullest returns the start of the range that has the most of a sample. ErrUnknown.
func (m *Map) Fullest(collection string, sample []uint64) (start uint64, err error) {
	curve, err := m.curve(collection)
	if err != nil {
		return 0, err
	}
	ranges, sorted, most := m.Boxes[curve].Ranges, slices.Sorted(slices.Values(sample)), 0
	for i, r := range ranges {
		if n := len(inside(ranges, i, sorted)); n > most {
			start, most = r.Start, n
		}
	}
	return start, nil
}
