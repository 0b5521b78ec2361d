package ycsb

import (
	"fmt"
	"math"
)

// Zipf draws ranks 0 to n-1, where rank i has a probability proportional to
// (i+1)^-theta.
//
// The generator of YCSB (Gray et al., SIGMOD 1994, section 3.2) is exact for
// the first two ranks and approximate for the others, does not work for theta
// >= 1, and sums n powers first. This one is rejection-inversion (Hörmann and
// Derflinger, ACM TOMACS 6(3), 1996): a point is drawn under the curve
// x^-theta by inversion of its integral H and rounded to a rank, and is
// rejected where the curve over a rank's unit holds more than the rank's
// share. What is left has the exact law, for every theta >= 0.
//
//	H(x) = (x^(1-theta) - 1) / (1-theta), log x for theta = 1
//
//	       |*
//	       | *            rank k has the curve's last k^-theta before k+1/2;
//	       |  **          what begins before that belongs to no rank
//	       |    ****
//	       +--|--|--|--
//	          k-1/2 k+1/2
//
// It needs a few words, for any n: 60 million keys need no preparation, it
// takes no cache line from what is measured, and n may grow at each draw for
// the price of one H. A table of cumulative probabilities would be 480 MB, and
// would have to grow.
//
// Not safe for concurrent use.
type Zipf struct {
	n        uint64
	theta    float64
	first    float64 // H(3/2) - 1: where the share of rank 1 begins
	last     float64 // H(n + 1/2)
	accepted float64 // points at most this far below their rank need no test
}

// MaxTheta is the largest skew: beyond it all but the first ranks are too rare
// for 53 random bits to distinguish.
const MaxTheta = 10

// NewZipf draws from n ranks, 1 to MaxKeys. Theta is 0 (uniform) to MaxTheta.
// Errors wrap ErrConfig.
func NewZipf(n uint64, theta float64) (*Zipf, error) {
	if n < 1 || n > MaxKeys {
		return nil, fmt.Errorf("%w: %d keys, want 1 to %d", ErrConfig, n, uint64(MaxKeys))
	}
	if !(theta >= 0 && theta <= MaxTheta) {
		return nil, fmt.Errorf("%w: theta %v, want 0 to %v", ErrConfig, theta, MaxTheta)
	}
	z := &Zipf{theta: theta}
	z.first = z.integral(1.5) - 1
	z.accepted = 2 - z.inverse(z.integral(2.5)-z.weight(2))
	z.Grow(n)
	return z, nil
}

// Grow sets the number of ranks, which must be 1 to 2^52.
func (z *Zipf) Grow(n uint64) {
	if n != z.n {
		z.n, z.last = n, z.integral(float64(n)+0.5)
	}
}

// Next draws a rank.
func (z *Zipf) Next(r *Random) uint64 {
	for {
		u := z.last + float64(r.positive()*(z.first-z.last))
		x := z.inverse(u)
		k := math.Floor(min(max(x+0.5, 1), float64(z.n)))
		if k-x <= z.accepted || u >= z.integral(k+0.5)-z.weight(k) {
			return uint64(k) - 1
		}
	}
}

// weight returns k^-theta.
func (z *Zipf) weight(k float64) float64 { return exp(float64(-z.theta * log(k))) }

// integral returns H(x).
func (z *Zipf) integral(x float64) float64 {
	l := log(x)
	return float64(l * expm1Over(float64((1-z.theta)*l)))
}

// inverse returns the x with H(x) = u.
func (z *Zipf) inverse(u float64) float64 {
	// For theta > 1, H has a limit, which rounding must not exceed.
	t := max(float64((1-z.theta)*u), -1+0x1p-53)
	return exp(float64(u * log1pOver(t)))
}
