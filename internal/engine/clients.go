package engine

import (
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/web"
)

// buckets of a histogram end at 2^0 to 2^24 us, 17 s; the last one counts
// longer times.
const buckets = 26

// Sample is what one client did in an interval.
type Sample struct {
	Elapsed  time.Duration         `json:"elapsed_ns"`
	Fast     uint64                `json:"fast"`      // searches by messages
	Offload  uint64                `json:"offloaded"` // searches by offloading
	FellBack uint64                `json:"fell_back"` // offloads finished by messages
	Reads    uint64                `json:"reads"`
	Restarts uint64                `json:"restarts"`
	Torn     uint64                `json:"torn_reads"`
	Latency  *latency.Distribution `json:"latency"`
}

// since returns what came after o; the latencies are those of s.
func (s Sample) since(o Sample) Sample {
	return Sample{
		Elapsed: s.Elapsed - o.Elapsed, Fast: s.Fast - o.Fast, Offload: s.Offload - o.Offload, FellBack: s.FellBack - o.FellBack,
		Reads: s.Reads - o.Reads, Restarts: s.Restarts - o.Restarts, Torn: s.Torn - o.Torn, Latency: s.Latency,
	}
}

// clients returns the figures of each client.
func (r *run) clients(samples []Sample) []web.EngineClient {
	all := make([]web.EngineClient, 0, len(samples))
	for i, s := range samples {
		rate := func(n uint64) float64 { return ratio(float64(n), s.Elapsed.Seconds()) }
		us := func(q float64) float64 { return float64(s.Latency.Quantile(q)) / 1e3 }
		all = append(all, web.EngineClient{
			Name: fmt.Sprintf("load-%d", i+1), Transport: r.transport, Policy: r.policy,
			Messages: rate(s.Fast), Offloaded: rate(s.Offload), FellBack: rate(s.FellBack),
			Share: ratio(float64(s.Offload), float64(s.Fast+s.Offload)),
			Reads: rate(s.Reads), Restarts: rate(s.Restarts), Torn: rate(s.Torn),
			P50: us(0.5), P99: us(0.99), Histogram: s.Latency.PowersOfTwo(buckets),
		})
	}
	return all
}

// ratio is a/b, and 0 if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
