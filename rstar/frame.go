package rstar

import "math"

// The boxes of an internal node are float32, in units of the node's frame:
// a point h and a scale s, a power of two,
//
//	offset(x) = x*s - h        in float64, then rounded to float32
//	value(v)  = (v + h) / s    in float64
//
// With h near the node's center and s such that its half extent is about 1,
// an offset has 24 bits relative to the node, wherever on the map the node
// lies and however small it is. Absolute float32 would not do: objects
// centimetres apart in a national grid (5e6 m) would all get one box.
//
// A minimum v is stored rounded down, a maximum rounded up, so that value(v) is outside
// of the bounds that the box must cover. Both are found by one step from offset(x): its
// error is half a unit of float32 plus some 2^-53, so the neighbouring float32 is
// surely beyond x.
//
// # Why no hit is lost
//
// offset is monotone: each of its operations is. A search compares
// offset(q) of its query with the stored v. Let x be the minimum of an
// object below an entry, so v <= down(x) <= offset(x). If x <= q then v <=
// offset(x) <= offset(q): the entry is a hit. The same holds for maxima.
// Infinite queries give infinite offsets, NaN gives NaN and misses.
//
// # Why boxes do not creep
//
// down is monotone, too, so down(min(a, b)) = min(down(a), down(b)): an
// entry that grows with each insertion holds the very bits that it would
// get from the child's MBR at once. Check demands them.
type frame struct{ hx, hy, s float64 }

// Limits of s: its inverse is finite, too, coordinates times it are exact but for
// underflow, and extents up to the largest float64 give offsets of at most 2^25.
const (
	minFrameExp = -1000
	maxFrameExp = 1000
)

// frameFor returns the frame for a node whose MBR is r.
func frameFor(r Rect) frame {
	e := max(r.MaxX/2-r.MinX/2, r.MaxY/2-r.MinY/2)
	s := 1.0
	if e > 0 && !math.IsInf(e, 1) {
		_, exp := math.Frexp(e)
		s = math.Ldexp(1, min(max(-exp, minFrameExp), maxFrameExp))
	}
	// Whichever of the two zeros the center is, the frame is the same.
	f := frame{centerX(r)*s + 0, centerY(r)*s + 0, s}
	if !f.finite() {
		// The scale suits extents, which are far smaller than the coordinates
		// here: use a scale that suits the coordinates.
		_, exp := math.Frexp(max(math.Abs(centerX(r)), math.Abs(centerY(r))))
		f.s = math.Ldexp(1, min(max(-exp, minFrameExp), maxFrameExp))
		f.hx, f.hy = centerX(r)*f.s+0, centerY(r)*f.s+0
	}
	if !f.finite() { // an empty box has no center
		return frame{0, 0, 1}
	}
	return f
}

func (f frame) finite() bool {
	// The difference of infinities or NaN is NaN.
	return f.hx-f.hx == 0 && f.hy-f.hy == 0
}

// valid reports whether frameFor could have made f: inverse and the argument
// above, that no hit is lost, need it. The bytes of a remote side may hold
// anything.
func (f frame) valid() bool {
	const exponent = 0x7FF << 52
	b := math.Float64bits(f.s)
	e := int(b>>52) - 1023 // of a negative s beyond all limits
	return f.finite() && b&^exponent == 0 && minFrameExp <= e && e <= maxFrameExp
}

// center returns the point that the frame is relative to.
func (f frame) center() (x, y float64) { return f.hx / f.s, f.hy / f.s }

// box32 is a box in units of a frame.
type box32 struct{ minX, minY, maxX, maxY float32 }

var emptyBox32 = box32{
	float32(math.Inf(1)), float32(math.Inf(1)),
	float32(math.Inf(-1)), float32(math.Inf(-1)),
}

// value exceeds [-MaxFloat64, MaxFloat64] only by rounding outwards.
// inv is the inverse of f.s: a product is exact where the quotient is.
func (f frame) value(v float32, h, inv float64) float64 {
	x := (float64(v) + h) * inv
	if x > math.MaxFloat64 {
		return math.MaxFloat64
	}
	if x < -math.MaxFloat64 {
		return -math.MaxFloat64
	}
	return x
}

// inverse returns 1/f.s by negating the exponent.
func (f frame) inverse() float64 {
	const two = 0x7FE << 52 // the exponents of x and 1/x have this sum
	return math.Float64frombits(two - math.Float64bits(f.s))
}

// offset converts a query's coordinate. The product is exact unless it
// overflows or underflows, so that a fused multiply-add, which some
// processors have, would give the same; the conversion forbids it.
func (f frame) offset(x, h float64) float32 { return float32(float64(x*f.s) - h) }

func (f frame) down(x, h, inv float64) float32 {
	v := f.offset(x, h)
	if f.value(v, h, inv) > x {
		return before(v)
	}
	return v
}

func (f frame) up(x, h, inv float64) float32 {
	v := f.offset(x, h)
	if f.value(v, h, inv) < x {
		return -before(-v)
	}
	return v
}

// before returns the float32 below v, which is not -Inf or NaN.
func before(v float32) float32 {
	b := math.Float32bits(v)
	switch {
	case v > 0:
		return math.Float32frombits(b - 1)
	case v < 0:
		return math.Float32frombits(b + 1)
	}
	return -math.SmallestNonzeroFloat32
}

// encode rounds r outwards. ok is false if an offset exceeds float32; then
// the node needs another frame.
func (f frame) encode(r Rect) (b box32, ok bool) {
	b = encodeBox(&f, &r)
	// All of them are finite: an infinite or NaN one makes the sum of
	// differences NaN.
	return b, (b.minX-b.minX)+(b.minY-b.minY)+(b.maxX-b.maxX)+(b.maxY-b.maxY) == 0
}

// encodePlain is the reference path of encode. None of its zeros is negative.
func (f frame) encodePlain(r Rect) box32 {
	inv := f.inverse()
	return box32{
		f.down(r.MinX, f.hx, inv) + 0, f.down(r.MinY, f.hy, inv) + 0,
		f.up(r.MaxX, f.hx, inv) + 0, f.up(r.MaxY, f.hy, inv) + 0,
	}
}

// decode returns the box that b represents.
func (f frame) decode(b box32) Rect {
	inv := f.inverse()
	return Rect{
		f.value(b.minX, f.hx, inv), f.value(b.minY, f.hy, inv),
		f.value(b.maxX, f.hx, inv), f.value(b.maxY, f.hy, inv),
	}
}

func (b box32) union(c box32) box32 {
	return box32{min(b.minX, c.minX), min(b.minY, c.minY), max(b.maxX, c.maxX), max(b.maxY, c.maxY)}
}

// covers reports whether c lies inside b, borders included.
func (b box32) covers(c box32) bool {
	return b.minX <= c.minX && c.maxX <= b.maxX && b.minY <= c.minY && c.maxY <= b.maxY
}
