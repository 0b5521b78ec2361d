package micro

import (
	"cmp"
	"slices"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/stats"
)

// Row is one operation at one size.
type Row struct {
	Op        Op     `json:"op"`
	Transport string `json:"transport"`
	Device    string `json:"device"` // what carries it
	Bytes     int    `json:"bytes"`  // of a request; for tcp of the answer
	Count     int64  `json:"count"`  // requests measured
	// Compared is how many moved bytes were compared, over all runs. All were
	// right.
	Compared int64 `json:"compared_bytes"`

	MeanUs  float64 `json:"mean_us"`
	P50Us   float64 `json:"p50_us"`
	P99Us   float64 `json:"p99_us"`
	OpsPerS float64 `json:"ops_per_s"`
	MBPerS  float64 `json:"mb_per_s"` // 10^6 bytes of requests

	ServerUtil float64 `json:"server_cpu_util"` // share of its cores, 0 to 1
	ClientUtil float64 `json:"client_cpu_util"` // without spinning for a completion
	NetIn      float64 `json:"net_in_bytes_per_s"`
	NetOut     float64 `json:"net_out_bytes_per_s"` // of the server's interfaces

	DurationS float64   `json:"duration_s"` // of Count requests
	Runs      []float64 `json:"runs"`       // mean us of each run
}

// outcome is one run of one size.
type outcome struct {
	run
	from, to harness.Usage // of the server
}

// newRow takes the run whose mean is the median; of an even number the faster
// of the two in the middle. All of a row's figures but Compared are from one
// run.
func newRow(cfg Config, device string, runs []outcome) Row {
	r := Row{Op: cfg.Op, Transport: cfg.Transport, Device: device}
	for _, o := range runs {
		r.Runs = append(r.Runs, stats.Micros(o.Latency.Mean()))
		r.Compared += int64(o.Bytes)
	}
	byMean := slices.SortedFunc(slices.Values(runs), func(a, b outcome) int {
		return cmp.Compare(a.Latency.Mean(), b.Latency.Mean())
	})
	o := byMean[(len(byMean)-1)/2]
	f := bench.OpFiguresOf(o.Latency)
	r.Bytes, r.Count, r.DurationS = o.Bytes, f.Count, o.Elapsed.Seconds()
	r.MeanUs, r.P50Us, r.P99Us = f.MeanUs, f.P50Us, f.P99Us
	r.OpsPerS = float64(f.Count) / o.Elapsed.Seconds()
	r.MBPerS = r.OpsPerS * float64(o.Bytes) / 1e6
	r.ClientUtil = o.Util
	use := o.to.Since(o.from)
	r.ServerUtil, r.NetIn, r.NetOut = use.Util, use.NetIn, use.NetOut
	return r
}
