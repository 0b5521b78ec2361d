package disk

import (
	"math/bits"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/store/storestats"
)

// Histogram counts values by powers of two. Any goroutine may add and read. The zero
// value is empty.
type Histogram struct {
	buckets [histogramBuckets + 1]atomic.Uint64 // values up to 2^i; the last: all others
	sum     atomic.Uint64
}

// histogramBuckets: up to 2^23, 8 s in microseconds.
const histogramBuckets = 24

// Observe counts a value.
func (h *Histogram) Observe(v uint64) {
	i := 0
	if v > 1 {
		i = bits.Len64(v - 1)
	}
	h.buckets[min(i, histogramBuckets)].Add(1)
	h.sum.Add(v)
}

// Stats returns the counts.
func (h *Histogram) Stats() storestats.Histogram {
	s := storestats.Histogram{Sum: h.sum.Load(), Buckets: make([]uint64, histogramBuckets)}
	for i := range h.buckets {
		n := h.buckets[i].Load()
		if s.Count += n; i < histogramBuckets {
			s.Buckets[i] = n
		}
	}
	return s
}
