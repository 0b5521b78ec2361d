package cluster

import (
	"context"

	"github.com/catfish-index/catfish/internal/placement"
)

// Cut says where Split divides a range.
type Cut struct {
	// At is the first position of the new range, nil: the median of the boxes that are in the range.
	At *uint64
	// Start is that of the range, nil: the range that has At, or the most boxes.
	Start *uint64
}

// Split divides a range of a collection of boxes: both parts are of the group that has it, and no box
// moves. It returns the first position of the new range. load may be nil if the cut says where.
// placement.ErrUnknown: there is no such collection or range. placement.ErrBusy: the range is moving.
// placement.ErrMap: the position is not inside of it. placement.ErrLoad: all of its boxes are at one
// position, or it has none.
func Split(ctx context.Context, r Registry, collection string, cut Cut, load BoxLoads) (*placement.Map, uint64, error) {
	var at uint64
	m, err := change(ctx, r, func(m *placement.Map) (*placement.Map, error) {
		n, err := split(ctx, m, collection, cut, load)
		if err == nil {
			at = added(m, n, collection)
		}
		return n, err
	})
	return m, at, err
}

func split(ctx context.Context, m *placement.Map, collection string, cut Cut, load BoxLoads) (*placement.Map, error) {
	if cut.At != nil {
		start := cut.Start
		if start == nil {
			part, _, err := m.RangeAt(collection, *cut.At)
			if err != nil {
				return nil, err
			}
			start = &part.Start
		}
		return m.Split(collection, *start, *cut.At)
	}
	has, err := load(ctx, m, collection)
	if err != nil {
		return nil, err
	}
	start := cut.Start
	if start == nil {
		fullest, err := m.Fullest(collection, has.Sample)
		if err != nil {
			return nil, err
		}
		start = &fullest
	}
	return m.Halve(collection, *start, has.Sample)
}

// added is the start of the range that a map has and the one before has not.
func added(before, after *placement.Map, collection string) uint64 {
	is := curveOf(after, collection).Ranges
	for i, r := range curveOf(before, collection).Ranges {
		if is[i].Start != r.Start {
			return is[i].Start
		}
	}
	return is[len(is)-1].Start
}

func curveOf(m *placement.Map, collection string) *placement.Curve {
	for i := range m.Boxes {
		if m.Boxes[i].Collection == collection {
			return &m.Boxes[i]
		}
	}
	return nil
}
