package bench

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/catfish-index/catfish/bench/stats"
)

// Latency is a distribution of call durations. Quantiles are off by at
// most 1 %, the mean is exact. Not safe for concurrent use.
type Latency struct {
	hist *hdrhistogram.Histogram // ns
	sum  time.Duration
}

const (
	// maxLatency is the largest duration that is distinguished. Calls that take
	// longer count as this long in quantiles; the dial and request
	// timeouts are far below.
	maxLatency = 100 * time.Second
	// latencyDigits: two significant digits keep a histogram at 32 KiB, of
	// which a run touches a few hundred bytes; three would take eight times as
	// much cache from the measured code.
	latencyDigits = 2
)

// NewLatency returns an empty distribution.
func NewLatency() *Latency {
	return &Latency{
		hist: hdrhistogram.New(1, maxLatency.Nanoseconds(), latencyDigits),
	}
}

// Record adds one duration.
func (l *Latency) Record(d time.Duration) { l.RecordMany(d, 1) }

// RecordMany adds the same duration n times.
func (l *Latency) RecordMany(d time.Duration, n int) {
	// Clamped, so that RecordValues cannot fail.
	_ = l.hist.RecordValues(min(max(d, 1), maxLatency).Nanoseconds(), int64(n))
	l.sum += d * time.Duration(n)
}

// Merge adds the durations of o.
func (l *Latency) Merge(o *Latency) {
	l.hist.Merge(o.hist)
	l.sum += o.sum
}

// Reset empties the distribution.
func (l *Latency) Reset() {
	l.hist.Reset()
	l.sum = 0
}

// Count returns how many durations were recorded.
func (l *Latency) Count() int64 { return l.hist.TotalCount() }

// Mean returns the mean, 0 without any durations.
func (l *Latency) Mean() time.Duration {
	if n := l.Count(); n > 0 {
		return l.sum / time.Duration(n)
	}
	return 0
}

// Quantile returns the duration that a share q, from 0 to 1, of the
// calls did not exceed; 0 without any durations.
func (l *Latency) Quantile(q float64) time.Duration {
	if l.Count() == 0 {
		return 0
	}
	return time.Duration(l.hist.ValueAtQuantile(q * 100))
}

// Figures summarises the distribution.
func (l *Latency) Figures() OpFigures {
	return OpFigures{
		Count: l.Count(), MeanUs: stats.Micros(l.Mean()), P50Us: stats.Micros(l.Quantile(0.5)),
		P99Us: stats.Micros(l.Quantile(0.99)), P999Us: stats.Micros(l.Quantile(0.999)),
	}
}

// latencyJSON is a distribution's form between processes.
type latencyJSON struct {
	SumNs int64  `json:"sum_ns"`
	Hdr   []byte `json:"hdr"` // HdrHistogram V2, compressed, base64
}

// MarshalJSON keeps everything that UnmarshalJSON needs.
func (l *Latency) MarshalJSON() ([]byte, error) {
	b, err := l.hist.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, fmt.Errorf("bench: encoding latencies: %w", err)
	}
	return json.Marshal(latencyJSON{SumNs: int64(l.sum), Hdr: b})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (l *Latency) UnmarshalJSON(b []byte) error {
	var w latencyJSON
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("bench: decoding latencies: %w", err)
	}
	h, err := hdrhistogram.Decode(w.Hdr)
	if err != nil {
		return fmt.Errorf("bench: decoding latencies: %w", err)
	}
	*l = Latency{hist: h, sum: time.Duration(w.SumNs)}
	return nil
}

// PowersOfTwo returns how many durations were at most 2^i us, or within 1 % of it,
// but more than the power before; the last of the n counts has all longer ones.
func (l *Latency) PowersOfTwo(n int) []int64 {
	counts := make([]int64, n)
	i := 0
	for _, b := range l.hist.Distribution() {
		for i < n-1 && b.From > time.Microsecond.Nanoseconds()<<i {
			i++
		}
		counts[i] += b.Count
	}
	return counts
}
