// Package latency has distributions of durations, for quantiles.
package latency

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// The buckets are those of HdrHistogram with two significant digits: 2^8 of 1 ns, then
// 2^7 for each power of two. They occupy 32 KiB, of which a run touches a few hundred
// bytes; three digits would take eight times as much cache from the measured code.
const (
	mantissaBits = 8
	half         = 1 << (mantissaBits - 1)
	// Max is the longest duration that is distinguished. Longer ones count as Max in
	// quantiles; the dial and request timeouts are far below.
	Max = 100 * time.Second
)

var buckets = index(Max) + 1

// index returns a duration's bucket.
func index(d time.Duration) int {
	shift := max(0, bits.Len64(uint64(d))-mantissaBits)
	return shift*half + int(d>>shift)
}

// bounds returns the shortest and the longest duration of a bucket.
func bounds(i int) (from, to time.Duration) {
	shift := max(0, i/half-1)
	from = time.Duration(i-shift*half) << shift
	return from, from + 1<<shift - 1
}

// Distribution counts durations. Quantiles are off by at most 1 %, the mean is exact.
// It is not safe for concurrent use.
type Distribution struct {
	counts []int64 // by bucket
	total  int64
	sum    time.Duration
}

// New returns an empty distribution.
func New() *Distribution { return &Distribution{counts: make([]int64, buckets)} }

// Record adds one duration.
func (l *Distribution) Record(d time.Duration) { l.RecordMany(d, 1) }

// RecordMany adds the same duration n times.
func (l *Distribution) RecordMany(d time.Duration, n int) {
	l.counts[index(min(max(d, 1), Max))] += int64(n)
	l.total += int64(n)
	l.sum += d * time.Duration(n)
}

// Merge adds the durations of o.
func (l *Distribution) Merge(o *Distribution) {
	for i, n := range o.counts {
		l.counts[i] += n
	}
	l.total += o.total
	l.sum += o.sum
}

// Reset empties the distribution.
func (l *Distribution) Reset() {
	clear(l.counts)
	l.total, l.sum = 0, 0
}

// Count returns how many durations were recorded.
func (l *Distribution) Count() int64 { return l.total }

// Mean returns the mean, 0 without any durations.
func (l *Distribution) Mean() time.Duration {
	if l.total > 0 {
		return l.sum / time.Duration(l.total)
	}
	return 0
}

// Quantile returns the duration that a share q, from 0 to 1, of the calls did not
// exceed; 0 without any durations.
func (l *Distribution) Quantile(q float64) time.Duration {
	if l.total == 0 {
		return 0
	}
	left := min(max(1, int64(q*float64(l.total)+0.5)), l.total)
	for i, n := range l.counts {
		if left -= n; left <= 0 {
			from, to := bounds(i)
			if q == 0 {
				return from
			}
			return to
		}
	}
	panic("unreachable: the counts add up to total")
}

// PowersOfTwo returns how many durations were at most 2^i us, or within 1 % of it, but
// more than the power before; the last of the n counts has all longer ones.
func (l *Distribution) PowersOfTwo(n int) []int64 {
	powers := make([]int64, n)
	p := 0
	for i, count := range l.counts {
		from, _ := bounds(i)
		for p < n-1 && from > time.Microsecond<<p {
			p++
		}
		powers[p] += count
	}
	return powers
}

// wire is a distribution's form between processes.
type wire struct {
	SumNs  int64      `json:"sum_ns"`
	Counts [][2]int64 `json:"counts"` // bucket and count, of those that are not empty
}

// MarshalJSON keeps everything that UnmarshalJSON needs.
func (l *Distribution) MarshalJSON() ([]byte, error) {
	w := wire{SumNs: int64(l.sum)}
	for i, n := range l.counts {
		if n != 0 {
			w.Counts = append(w.Counts, [2]int64{int64(i), n})
		}
	}
	return json.Marshal(w)
}

var errBucket = errors.New("no such bucket")

// UnmarshalJSON reads what MarshalJSON wrote.
func (l *Distribution) UnmarshalJSON(b []byte) error {
	var w wire
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("decoding latencies: %w", err)
	}
	*l = *New()
	l.sum = time.Duration(w.SumNs)
	for _, c := range w.Counts {
		if c[0] < 0 || c[0] >= int64(len(l.counts)) || c[1] < 0 {
			return fmt.Errorf("decoding latencies: %w: %d with %d", errBucket, c[0], c[1])
		}
		l.counts[c[0]] += c[1]
		l.total += c[1]
	}
	return nil
}
