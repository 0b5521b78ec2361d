package rstar

import (
	"cmp"
	"math"
	"slices"
)

// Sorting for the bulk load: by one coordinate of the centers, ties by id.
// Coordinates are scaled to unsigned integers over their range, and a radix
// sort orders (integer, index) pairs; where neighbours have the same integer,
// a comparison sort orders them by coordinate and id. So the order is exact,
// and the sort is fast where coordinates differ, as they usually do.
//
//	pair  integer u32 <<32 | index u32

// sorter sorts indexes of items; each goroutine has its own.
type sorter struct {
	pairs, tmp []uint64
}

const (
	radixBits   = 11 // 2048 counters of three passes stay in the first cache
	radixSize   = 1 << radixBits
	radixPasses = 3 // 33 bits, more than an integer has
	smallBits   = 8 // for fewer pairs the counters cost more than the passes
	smallSize   = 1 << smallBits
	smallPasses = 2
	smallSort   = 1 << 12
)

// coordinate is what is sorted by.
type coordinate func(*Rect) float64

// sort returns the pairs of items, ordered by c and id. The result is
// valid until the next call.
func (s *sorter) sort(items []Item, c coordinate) []uint64 {
	n := len(items)
	s.pairs, s.tmp = slices.Grow(s.pairs[:0], n)[:n], slices.Grow(s.tmp[:0], n)[:n]
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range items {
		v := c(&items[i].Rect)
		lo, hi = min(lo, v), max(hi, v)
	}
	// (v-lo) * 2^bits / (hi-lo), without leaving float64's range: computed
	// with the halves, scaled by powers of two in two steps.
	width := 32
	if n <= smallSort {
		width = smallBits * smallPasses
	}
	scale := hi/2 - lo/2
	_, exp := math.Frexp(scale)
	a, b := math.Ldexp(1, -exp/2), math.Ldexp(1, -(exp-exp/2))
	top := math.Ldexp(1, width) - 1
	if scale = scale * a * b; scale > 0 {
		scale = top / scale
	}
	for i := range items {
		v := (c(&items[i].Rect)/2 - lo/2) * a * b * scale
		s.pairs[i] = uint64(min(v, top))<<32 | uint64(i)
	}
	if n <= smallSort {
		s.small()
	} else {
		s.large()
	}
	s.settle(items, c)
	return s.pairs
}

// large sorts by 32 bits.
func (s *sorter) large() {
	var counts [radixPasses][radixSize]uint32
	for _, p := range s.pairs {
		k := p >> 32
		counts[0][k%radixSize]++
		counts[1][k>>radixBits%radixSize]++
		counts[2][k>>(2*radixBits)]++
	}
	for pass := range counts {
		s.scatter(counts[pass][:], 32+pass*radixBits, radixSize-1)
	}
}

// small sorts by 16 bits.
func (s *sorter) small() {
	var counts [smallPasses][smallSize]uint32
	for _, p := range s.pairs {
		k := p >> 32
		counts[0][k%smallSize]++
		counts[1][k>>smallBits%smallSize]++
	}
	for pass := range counts {
		s.scatter(counts[pass][:], 32+pass*smallBits, smallSize-1)
	}
}

// scatter is one pass: it orders the pairs by the digit at shift.
func (s *sorter) scatter(counts []uint32, shift int, mask uint64) {
	sum := uint32(0)
	for i, n := range counts {
		counts[i] = sum
		sum += n
	}
	for _, p := range s.pairs {
		d := p >> shift & mask
		s.tmp[counts[d]] = p
		counts[d]++
	}
	s.pairs, s.tmp = s.tmp, s.pairs
}

// settle orders runs of pairs with the same integer.
func (s *sorter) settle(items []Item, c coordinate) {
	p := s.pairs
	for i := 1; i < len(p); i++ {
		if p[i]>>32 != p[i-1]>>32 {
			continue
		}
		from := i - 1
		for i++; i < len(p) && p[i]>>32 == p[from]>>32; i++ {
		}
		slices.SortFunc(p[from:i], func(a, b uint64) int {
			x, y := &items[uint32(a)], &items[uint32(b)]
			return cmp.Or(cmp.Compare(c(&x.Rect), c(&y.Rect)), cmp.Compare(x.ID, y.ID))
		})
	}
}
