package whole

import (
	"math"

	"github.com/catfish-index/catfish/rstar"
)

// Sample says which boxes of features are looked at: those larger than Width or Height, and of
// the others one in Every, by a hash of the box alone. So each group takes the same ones.
type Sample struct {
	Every         int // 0: all
	Width, Height float64
}

// Large reports whether a box is always looked at.
func (s *Sample) Large(r rstar.Rect) bool { return r.MaxX-r.MinX > s.Width || r.MaxY-r.MinY > s.Height }

// Has reports whether a box is one of those that stand for all.
func (s *Sample) Has(r rstar.Rect) bool {
	h := uint64(0)
	for _, v := range [...]float64{r.MinX, r.MinY, r.MaxX, r.MaxY} {
		h = (h ^ math.Float64bits(v+0)) * 0x9e3779b97f4a7c15 // not -0
		h ^= h >> 32
	}
	return h%uint64(s.Every) == 0
}

// none reports whether all boxes are looked at.
func (s *Sample) none() bool { return s == nil || s.Every == 0 }

// Wants reports whether a box is looked at.
func (s *Sample) Wants(r rstar.Rect) bool { return s.Large(r) || s.Has(r) }

// sampleText is a Sample whose sizes may be infinite.
type sampleText struct {
	Every         int
	Width, Height uint64 // bits
}

func (s *Sample) text() *sampleText {
	if s == nil {
		return nil
	}
	return &sampleText{s.Every, math.Float64bits(s.Width), math.Float64bits(s.Height)}
}

func (t *sampleText) sample() *Sample {
	return &Sample{t.Every, math.Float64frombits(t.Width), math.Float64frombits(t.Height)}
}
