package feature

import "math"

// Orientation, exactly
//
// Whether a point lies left of, right of, or on a line decides all tests of
// this package. It is the sign of
//
//	(ax-cx)(by-cy) - (ay-cy)(bx-cx)
//	  = ax by - ay bx + bx cy - by cx + cx ay - cy ax
//
// The first form in float64 has an error of at most (3+16u)u times the sum of
// its products' sizes, u = 2^-53 (Shewchuk, Adaptive Precision Floating-Point
// Arithmetic, 1997, section 4.3). If the result is smaller than that, the
// second form is summed without any rounding: each product is two float64, its
// rounded value and the error of rounding, and a sum of float64 is kept as a
// list of numbers whose bits do not overlap, so that the sign is that of the
// largest. Both are exact while no product is below 2^-969 in size (denormal
// errors) or overflows; coordinates that are read are not larger than
// maxPlanar.

const orientBound = (3 + 16*0x1p-53) * 0x1p-53

// orient is 1 if c lies left of the line from a to b, -1 if right, 0 if on it.
func orient(ax, ay, bx, by, cx, cy float64) int {
	l := float64((ax - cx) * (by - cy))
	r := float64((ay - cy) * (bx - cx))
	det := l - r
	if bound := orientBound * (math.Abs(l) + math.Abs(r)); det > bound {
		return 1
	} else if det < -bound {
		return -1
	}
	return orientExact(ax, ay, bx, by, cx, cy)
}

func orientExact(ax, ay, bx, by, cx, cy float64) int {
	var s expansion
	s.product(ax, by)
	s.product(-ay, bx)
	s.product(bx, cy)
	s.product(-by, cx)
	s.product(cx, ay)
	s.product(-cy, ax)
	return s.sign()
}

// expansion is an exact sum: numbers that do not overlap, the smallest first.
type expansion struct {
	e [12]float64
	n int
}

func (s *expansion) product(a, b float64) {
	p := float64(a * b)
	s.add(math.FMA(a, b, -p))
	s.add(p)
}

// add is Shewchuk's Grow-Expansion (figure 6), without zeros.
func (s *expansion) add(b float64) {
	n := 0
	for _, e := range s.e[:s.n] {
		sum := float64(b + e)
		v := float64(sum - b)
		low := float64(b-float64(sum-v)) + float64(e-v)
		if low != 0 {
			s.e[n] = low
			n++
		}
		b = sum
	}
	if b != 0 {
		s.e[n] = b
		n++
	}
	s.n = n
}

func (s *expansion) sign() int {
	switch {
	case s.n == 0:
		return 0
	case s.e[s.n-1] > 0:
		return 1
	}
	return -1
}
