package datasets

import (
	"math"
	"math/rand/v2"
)

// Numbers that are the same on every machine
//
// A seed must give the same data everywhere; otherwise two measurements
// cannot be compared. Three things could differ between platforms; none is
// used.
//
//   - Fused multiply-add. Where the hardware has it, Go may compute
//     x*y+z with one rounding instead of two. The language forbids it
//     across an explicit conversion, so every product that is added to
//     something is written float64(x*y).
//   - math.Pow, Exp, Log: amd64, arm64, loong64 and s390x have assembly of
//     their own, with different last bits. The power law needs none of them
//     (see powerLaw). math.Sqrt is correctly rounded by IEEE 754.
//   - The top-level functions of math/rand/v2 and the methods of Rand,
//     whose streams may change with a Go release. Only the PCG source
//     is used: PCG-DXSM is a fixed algorithm.
//
// What remains is +, -, *, / on float64, which IEEE 754 defines to the
// last bit. A golden hash per generator pins the result.

// purpose separates streams of one seed that serve different purposes:
// queries must not repeat the coordinates of the data they search.
type purpose uint64

const (
	purposeUniform purpose = iota + 1
	purposeSkewed
	purposeQueries
	purposeRegions
	purposeStreets
	purposeShuffle
	purposeSample
)

// stream is a sequence of random numbers. Not safe for concurrent use.
type stream struct{ pcg *rand.PCG }

func newStream(seed uint64, p purpose, number uint64) *stream {
	return &stream{rand.NewPCG(mix(seed), mix(mix(number)+uint64(p)))}
}

// mix is the output function of SplitMix64 (Steele, Lea, Flood, OOPSLA
// 2014): neighbouring seeds give unrelated streams.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// halfOpen returns a number in [0, 1): 53 random bits, scaled exactly.
func (s *stream) halfOpen() float64 {
	return float64(s.pcg.Uint64()>>11) * 0x1p-53
}

// positive returns a number in (0, 1]. The subtraction is exact.
func (s *stream) positive() float64 { return 1 - s.halfOpen() }

// below returns a number in [0, n), n > 0. The bias of the remainder is less
// than n/2^64: negligible at the sizes of this package.
func (s *stream) below(n uint64) uint64 { return s.pcg.Uint64() % n }

// powerLaw draws from the density f(t) ~ t^-0.99 on (lo, hi] (the
// paper, section V-A and V-B) by inversion. The distribution function
// is (t^0.01 - lo^0.01) / (hi^0.01 - lo^0.01), so with u uniform in
// (0, 1]
//
//	t = (lo^0.01 + u (hi^0.01 - lo^0.01)) ^ 100
//
// The exponent 100 is an integer: eight multiplications replace
// math.Pow. The two roots are constants, given to 20 digits.
type powerLaw struct{ lo, hi, rootLo, rootHi float64 }

var (
	// scales of the power-law queries: (0.00001, 0.01], section V-A.
	scaleLaw = powerLaw{
		lo: 0.00001, rootLo: 0.89125093813374552995,
		hi: 0.01, rootHi: 0.95499258602143594972,
	}
	// coordinates of the skewed inserts: (0.5, 1], section V-B.
	skewLaw = powerLaw{
		lo: 0.5, rootLo: 0.99309249543703590153,
		hi: 1, rootHi: 1,
	}
)

func (l powerLaw) draw(s *stream) float64 {
	v := l.rootLo + float64(s.positive()*(l.rootHi-l.rootLo))
	t := pow100(v)
	// The power magnifies rounding a hundredfold: clamp to the interval.
	return min(max(t, math.Nextafter(l.lo, l.hi)), l.hi)
}

// pow100 returns v^100. Products alone cannot be fused.
func pow100(v float64) float64 {
	v2 := v * v
	v4 := v2 * v2
	v32 := v4 * v4
	v32 *= v32
	v32 *= v32
	return v32 * v32 * v32 * v4
}
