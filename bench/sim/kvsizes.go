package sim

import (
	"cmp"
	"fmt"
	"math"
	"sort"

	"github.com/catfish-index/catfish/bench/harness"
)

// KVSizes are the bytes of values: all equal, or by a law. A key's value has
// one size, whichever client writes it.
type KVSizes struct {
	Bytes int // of all values, if Law is nil
	Law   *LogNormal
}

// LogNormal is a law of sizes between two ends, both included.
type LogNormal struct {
	Mu, Sigma float64 // of the logarithm of bytes
	Min, Max  int
	upTo      []float64 // by size from Min on: the share of sizes that are not larger
}

// maxValueBytes: the capacity of the service's slots.
const maxValueBytes = 1 << 15

// NewLogNormal returns a law. Errors wrap harness.ErrConfig.
func NewLogNormal(mu, sigma float64, minBytes, maxBytes int) (*LogNormal, error) {
	if err := cmp.Or(harness.CheckRange("smallest value in bytes", minBytes, 1, maxValueBytes),
		harness.CheckRange("largest value in bytes", maxBytes, minBytes, maxValueBytes)); err != nil {
		return nil, err
	}
	// Written so that a NaN is out of range.
	if !(sigma > 0 && sigma <= 10) || !(math.Abs(mu) <= 100) {
		return nil, fmt.Errorf("%w: logarithms of sizes with mean %v and deviation %v, want -100 to 100 and more than 0 to 10",
			harness.ErrConfig, mu, sigma)
	}
	l := &LogNormal{Mu: mu, Sigma: sigma, Min: minBytes, Max: maxBytes}
	below := func(bytes float64) float64 { return math.Erfc(-(math.Log(bytes)-mu)/(sigma*math.Sqrt2)) / 2 }
	from, to := 0.0, below(float64(maxBytes)+0.5)
	if minBytes > 1 {
		from = below(float64(minBytes) - 0.5)
	}
	for b := minBytes; b <= maxBytes; b++ {
		l.upTo = append(l.upTo, (below(float64(b)+0.5)-from)/(to-from))
	}
	return l, nil
}

// Above is the share of sizes above bytes.
func (l *LogNormal) Above(bytes int) float64 {
	switch {
	case bytes < l.Min:
		return 1
	case bytes >= l.Max:
		return 0
	}
	return 1 - l.upTo[bytes-l.Min]
}

// Mean is the mean size.
func (l *LogNormal) Mean() float64 {
	mean, before := 0.0, 0.0
	for i, p := range l.upTo {
		mean += float64(float64(l.Min+i) * (p - before))
		before = p
	}
	return mean
}

func (z *KVSizes) validate() error {
	if z.Law == nil {
		return harness.CheckRange("bytes of a value", z.Bytes, 1, maxValueBytes)
	}
	if z.Law.upTo == nil {
		return fmt.Errorf("%w: a law of sizes that NewLogNormal did not make", harness.ErrConfig)
	}
	return nil
}

// of is the size of a key's value, drawn by the key's hash.
func (z *KVSizes) of(hash uint64) int {
	if z.Law == nil {
		return z.Bytes
	}
	u := float64(hash>>11) * 0x1p-53
	i := sort.SearchFloat64s(z.Law.upTo, u)
	return z.Law.Min + min(i, len(z.Law.upTo)-1)
}
