package ycsb

import (
	"math/bits"
	"math/rand/v2"
)

// Random is a sequence of random numbers, the same on every machine: see
// datasets/random.go, which it follows. Not safe for concurrent use.
type Random struct{ pcg rand.PCG }

// NewRandom returns the stream of a seed with this number.
func NewRandom(seed, number uint64) *Random {
	r := new(Random)
	r.pcg.Seed(mix(seed), mix(mix(number)+ycsbStreams))
	return r
}

// ycsbStreams keeps these streams apart from those of package datasets with
// the same seed, which count their purposes from 1.
const ycsbStreams = 0x79637362 // "ycsb"

// mix is the output function of SplitMix64 (Steele, Lea, Flood, OOPSLA
// 2014). It is a bijection, and neighbours become unrelated.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// positive returns a number in (0, 1], of 53 random bits.
func (r *Random) positive() float64 {
	return 1 - float64(r.pcg.Uint64()>>11)*0x1p-53 // exact: a power of two
}

// below returns a number in [0, n), n > 0. The relative error of probabilities
// is less than n/2^64.
func (r *Random) below(n uint64) uint64 {
	hi, _ := bits.Mul64(r.pcg.Uint64(), n)
	return hi
}

// permutation is a bijection of [0, n) that separates neighbours.
//
// On the next power of two, each step is a bijection: a sum, a product with an
// odd number, and an exclusive or with the number's own upper bits. Where the
// result is not below n it is permuted again (cycle walking): the walk ends,
// since a permutation's cycle returns to its start, and on average after fewer
// than two steps, since more than half of the power is below n.
type permutation struct {
	n, mask, offset uint64
	shift           uint
}

func newPermutation(n, seed uint64) permutation {
	width := bits.Len64(n - 1)
	return permutation{
		n: n, mask: 1<<width - 1, offset: mix(seed), shift: uint(width+1) / 2,
	}
}

func (p *permutation) at(i uint64) uint64 {
	if p.n == 1 {
		return 0
	}
	for {
		i = (i + p.offset) * 0xbf58476d1ce4e5b9 & p.mask
		i ^= i >> p.shift
		i = i * 0x94d049bb133111eb & p.mask
		i ^= i >> p.shift
		i = i * 0x9e3779b97f4a7c15 & p.mask
		if i < p.n {
			return i
		}
	}
}
