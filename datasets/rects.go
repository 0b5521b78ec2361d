package datasets

import "github.com/catfish-index/catfish/rstar"

// MaxEdge is the largest edge of a generated rectangle: both edges are
// uniform in (0, 0.0001] (the paper, section V-A).
const MaxEdge = 0.0001

// DefaultObjects is the size of the paper's uniform data set (V-A).
const DefaultObjects = 2_000_000

// unitSquare bounds all generated objects.
var unitSquare = rstar.Rect{MinX: 0, MinY: 0, MaxX: 1, MaxY: 1}

// UniformRects returns an endless sequence of rectangles, uniform in
// the unit square and entirely inside it, with edges uniform in
// (0, MaxEdge]. Equal seed and stream give equal sequences on every
// machine; give each concurrent client a stream number of its own. The
// returned function is not safe for concurrent use.
func UniformRects(seed, streamNumber uint64) func() rstar.Rect {
	s := newStream(seed, purposeUniform, streamNumber)
	return func() rstar.Rect { return s.rect(MaxEdge, unitSquare) }
}

// SkewedRects is UniformRects for the paper's skewed inserts (section
// V-B): x and y follow the power law f(t) ~ t^-0.99 on (0.5, 1], and
// the rectangle is mirrored into one of the four quadrants, all equally
// likely. (x, y) is the corner farthest from the centre of the unit
// square, so that nothing leaves it.
func SkewedRects(seed, streamNumber uint64) func() rstar.Rect {
	s := newStream(seed, purposeSkewed, streamNumber)
	return func() rstar.Rect { return s.skewed(Scale{edge: MaxEdge}) }
}

// SkewedInserts returns the rectangles that the paper inserts in its hybrid
// workload (section V-B): SkewedRects whose edges have the scale of the
// queries, uniform in (0, scale], where ScalePower draws a scale for every
// rectangle. It returns ErrOption for the zero Scale.
func SkewedInserts(scale Scale, seed, streamNumber uint64) (func() rstar.Rect, error) {
	if err := scale.check(); err != nil {
		return nil, err
	}
	s := newStream(seed, purposeSkewed, streamNumber)
	return func() rstar.Rect { return s.skewed(scale) }, nil
}

func (s *stream) skewed(scale Scale) rstar.Rect {
	quadrant := s.below(4)
	r := rstar.Rect{MaxX: skewLaw.draw(s), MaxY: skewLaw.draw(s)}
	edge := scale.draw(s)
	r.MinX = max(r.MaxX-float64(edge*s.positive()), 0) // The scale may be above 0.5.
	r.MinY = max(r.MaxY-float64(edge*s.positive()), 0)
	if quadrant&1 != 0 {
		r.MinX, r.MaxX = 1-r.MaxX, 1-r.MinX
	}
	if quadrant&2 != 0 {
		r.MinY, r.MaxY = 1-r.MaxY, 1-r.MinY
	}
	return r
}

// rect returns a rectangle inside the box with edges uniform in
// (0, edge], as fractions of the box's sides; its corner is uniform
// where it can be.
func (s *stream) rect(edge float64, box rstar.Rect) rstar.Rect {
	w, h := edge*s.positive(), edge*s.positive()
	x, y := s.halfOpen(), s.halfOpen()
	r := rstar.Rect{}
	r.MinX, r.MaxX = place(box.MinX, box.MaxX, x, w)
	r.MinY, r.MaxY = place(box.MinY, box.MaxY, y, h)
	return r
}

// place puts an interval with length share of [lo, hi] at the fraction at of
// the remaining room.
func place(lo, hi, at, share float64) (float64, float64) {
	side := hi - lo
	length := float64(side * share)
	from := lo + float64(at*(side-length))
	return from, min(from+length, hi)
}

// Uniform is the data set of the first n UniformRects of stream 0; ids count
// from 0. If n is 0 it is DefaultObjects.
func Uniform(n int64, seed uint64) *Source {
	return generated("uniform", n, func() func() rstar.Rect {
		return UniformRects(seed, 0)
	})
}

// Skewed is the data set of the first n SkewedRects of stream 0; ids count
// from 0. If n is 0 it is DefaultObjects.
func Skewed(n int64, seed uint64) *Source {
	return generated("skewed", n, func() func() rstar.Rect {
		return SkewedRects(seed, 0)
	})
}

func generated(name string, n int64, start func() func() rstar.Rect) *Source {
	n = orDefault(n, DefaultObjects)
	s := generator(name, n)
	s.pass = func(p *pass) error {
		next := start()
		for i := range n {
			p.generatedUpTo(i)
			if err := p.deliver(next(), uint64(i)); err != nil {
				return err
			}
		}
		s.done.Store(n)
		return nil
	}
	return s
}

// generator is a source of n items in the unit square.
func generator(name string, n int64) *Source {
	return &Source{
		name: name, format: Generated, unit: Objects, count: n, total: n,
		bounds: unitSquare, bounded: true,
	}
}

// generatedUpTo keeps Progress current, at negligible cost.
func (p *pass) generatedUpTo(i int64) {
	const every = 1 << 10
	if i%every == 0 {
		p.src.done.Store(i)
	}
}

// orDefault treats a negative count as 0: Open refuses it earlier.
func orDefault(n, def int64) int64 {
	if n <= 0 {
		return def
	}
	return n
}
