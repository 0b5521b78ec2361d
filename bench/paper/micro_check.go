package paper

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/catfish-index/catfish/bench/micro"
	"github.com/catfish-index/catfish/bench/netns"
)

const (
	// small and large are sizes, in bytes: up to small a request's cost is its
	// fixed one, from large on that of its bytes, a thousand times as much.
	small = 64
	large = micro.MaxBytes
	// consistent is the share by which throughput and mean latency of a closed
	// loop may disagree, beside the fraction of a ns that a mean lacks.
	consistent = 0.001
	roundedUs  = 1e-3
)

// CheckMicro tests the properties of figure 9 on any machine, as Check does
// for the others.
func CheckMicro(points map[string]MicroPoint) (tests int, failed []string) {
	test := func(ok bool, format string, args ...any) {
		tests++
		if !ok {
			failed = append(failed, fmt.Sprintf(format, args...))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(points)) {
		p := points[key]
		r := p.Row
		test(r.Count > 0 && r.P50Us > 0 && r.P50Us <= r.P99Us, "%s: figures %+v", key, r)
		test(r.Compared == int64(r.Bytes)*int64(len(r.Runs)) && len(r.Runs) == p.Settings.Repeat,
			"%s: %d bytes compared in %d runs, want %d in each of %d",
			key, r.Compared, len(r.Runs), r.Bytes, p.Settings.Repeat)
		test(math.Abs(r.OpsPerS*r.MeanUs/1e6-1) <= consistent+roundedUs/r.MeanUs && math.Abs(r.MBPerS-float64(r.Bytes)*r.OpsPerS/1e6) <= consistent*r.MBPerS,
			"%s: %.0f requests/s, mean %.3f us and %.3f MB/s belong to no closed loop of one request", key, r.OpsPerS, r.MeanUs, r.MBPerS)
		if rate := p.Network.Rate; rate > 0 {
			moved, most := float64(r.Count)*float64(r.Bytes), float64(rate)/8*r.DurationS+float64(netns.Burst(rate))
			test(moved <= most, "%s: %.0f bytes in %.3f s, want at most %.0f", key, moved, r.DurationS, most)
		}
		at := func(op micro.Op, transport string, size int) (micro.Row, bool) {
			q, ok := points[MicroCell{Network: p.Network, Op: op, Transport: transport}.Key(size)]
			return q.Row, ok
		}
		checkMicroOrder(p, at, test)
	}
	return tests, failed
}

// checkMicroOrder compares the medians of a point with those of others in its
// network, where they are far apart.
func checkMicroOrder(p MicroPoint, at func(op micro.Op, transport string, size int) (micro.Row, bool),
	test func(bool, string, ...any)) {
	r := p.Row
	if r.Bytes >= large {
		for size := 1; size <= small; size *= 2 {
			if q, ok := at(r.Op, r.Transport, size); ok {
				test(r.P50Us > q.P50Us, "%s: takes %.2f us, %d bytes take %.2f", p.Key, r.P50Us, size, q.P50Us)
			}
		}
	}
	// Only where no processor carries bytes for another process.
	if p.Network.Rate == 0 && r.Op != micro.TCP && r.Bytes <= small {
		if q, ok := at(micro.TCP, tcp.Name, r.Bytes); ok {
			test(r.P50Us < q.P50Us, "%s: takes %.2f us, tcp %.2f", p.Key, r.P50Us, q.P50Us)
		}
	}
}
