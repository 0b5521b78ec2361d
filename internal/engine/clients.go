package engine

import (
	"fmt"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/web"
)

// buckets of a histogram end at 2^0 to 2^24 us, 17 s; the last one counts
// longer times.
const buckets = 26

// clients returns a frame's figures of each client.
func (r *run) clients(f *bench.Frame) []web.EngineClient {
	all := make([]web.EngineClient, 0, len(f.Each))
	for i := range f.Each {
		c := &f.Each[i]
		n, took := c.Counters, c.Elapsed.Seconds()
		rate := func(n uint64) float64 { return stats.Ratio(float64(n), took) }
		all = append(all, web.EngineClient{
			Name: fmt.Sprintf("load-%d", i+1), Transport: r.info.Transport, Policy: r.info.Policy,
			Messages: rate(n.Fast), Offloaded: rate(n.Offloaded), FellBack: rate(n.FellBack),
			Share: stats.Ratio(float64(n.Offloaded), float64(n.Fast+n.Offloaded)),
			Reads: rate(n.Reads), Restarts: rate(n.Restarts), Torn: rate(n.TornReads),
			P50: stats.Micros(c.Latency.Quantile(0.5)), P99: stats.Micros(c.Latency.Quantile(0.99)),
			Histogram: c.Latency.PowersOfTwo(buckets),
		})
	}
	return all
}
