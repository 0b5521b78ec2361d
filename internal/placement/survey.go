package placement

import (
	"iter"
	"math/rand/v2"

	"github.com/catfish-index/catfish/rstar"
)

// SurveySample is how many boxes a Survey keeps: shares of 64 groups are then even to some
// percent.
const SurveySample = 16 << 10

// Survey looks at boxes before they are placed. The zero value has seen none.
type Survey struct {
	Boxes  int        // seen
	Extent rstar.Rect // of all

	sample []rstar.Rect // each box equally likely (Vitter, ACM TOMS 1985, Algorithm R)
	random *rand.Rand
}

// Add looks at a valid box.
func (s *Survey) Add(box rstar.Rect) {
	if s.Boxes == 0 {
		s.Extent, s.random = box, rand.New(rand.NewPCG(1, 1)) // The same files give the same ranges.
	}
	s.Boxes++
	s.Extent = s.Extent.Union(box)
	if len(s.sample) < SurveySample {
		s.sample = append(s.sample, box)
	} else if i := s.random.IntN(s.Boxes); i < SurveySample {
		s.sample[i] = box
	}
}

// Positions are those of the sample on the curve through a world.
func (s *Survey) Positions(world rstar.Rect) []uint64 {
	all := make([]uint64, len(s.sample))
	for i, box := range s.sample {
		all[i] = Position(world, box)
	}
	return all
}

// BoundBoxes returns the map in which each range of a collection takes boxes that are as large as
// the largest of some that are in it, wherever they are; a range that has none of these, as the
// largest of all. ErrUnknown.
func (m *Map) BoundBoxes(collection string, boxes iter.Seq[rstar.Rect]) (*Map, error) {
	i, err := m.curve(collection)
	if err != nil {
		return nil, err
	}
	n := m.next()
	ranges, all := n.ranges(i), Largest(0, 0)
	for j := range ranges {
		ranges[j].Bounds = nil
	}
	for box := range boxes {
		r, err := n.rangeOf(collection, box)
		if err != nil {
			return nil, err
		}
		b := BoundsOf(box)
		if all = all.Union(b); r.Bounds == nil {
			none := Largest(0, 0)
			r.Bounds = &none
		}
		*r.Bounds = r.Bounds.Union(b)
	}
	for j := range ranges {
		if ranges[j].Bounds == nil {
			ranges[j].Bounds = &all
		}
	}
	return n.checked()
}
