package placement

import (
	"math/rand/v2"

	"github.com/catfish-index/catfish/rstar"
)

// SurveySample is how many boxes a Survey keeps: shares of 64 groups are then even to some
// percent.
const SurveySample = 16 << 10

// Survey looks at boxes before they are placed. The zero value has seen none.
type Survey struct {
	Boxes         int        // seen
	Extent        rstar.Rect // of all
	Width, Height float64    // the greatest of all

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
	s.Width, s.Height = max(s.Width, box.MaxX-box.MinX), max(s.Height, box.MaxY-box.MinY)
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
