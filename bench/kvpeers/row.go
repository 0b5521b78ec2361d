//go:build linux

package kvpeers

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/datasets/ycsb"
)

// Row is what was measured of one peer. Columns that `catfish bench run --json`
// has, too, have its names and meanings; Keys, ValueBytes, Dist, Theta, Ordered
// and Version are of key-value stores. With repeats every figure is the median
// of the runs, and Spread has the smallest and the largest.
type Row struct {
	Scheme    string `json:"scheme"` // the peer
	Version   string `json:"version"`
	Transport string `json:"transport"`
	Mix       string `json:"mix"`
	Dist      string `json:"dist"`
	// Theta is of zipf and latest.
	Theta      float64 `json:"theta,omitempty"`
	Ordered    bool    `json:"ordered,omitempty"`
	Keys       uint64  `json:"keys"`
	ValueBytes int     `json:"value_bytes"`
	// LargestValueBytes, if sizes differ.
	LargestValueBytes int `json:"largest_value_bytes,omitempty"`

	Clients    int    `json:"clients"`
	InFlight   int    `json:"in_flight"`
	Batch      int    `json:"batch"` // keys per GetMany
	ServerCPUs string `json:"server_cpus"`
	ClientCPUs string `json:"client_cpus"`

	OpsPerS    float64 `json:"ops_per_s"` // keys, not batches
	MeanUs     float64 `json:"mean_us"`   // latencies: of all operations
	P50Us      float64 `json:"p50_us"`
	P99Us      float64 `json:"p99_us"`
	P999Us     float64 `json:"p999_us"`
	CPUUtil    float64 `json:"server_cpu_util"` // of its cores, 0 to 1
	ClientUtil float64 `json:"client_cpu_util"`

	Simulated bool    `json:"simulated"` // always false here
	Seed      uint64  `json:"seed"`
	WarmupS   float64 `json:"warmup_s"`
	DurationS float64 `json:"duration_s"`
	Repeat    int     `json:"repeat"`
	Commit    string  `json:"commit"`

	Runs   []float64                  `json:"runs_ops_per_s"`
	ByOp   map[string]bench.OpFigures `json:"by_op"`
	Spread map[string][2]float64      `json:"spread,omitempty"`
}

// newRow turns the runs of one peer, at least one, into its row.
func newRow(c *Config, name, version string, runs []*outcome) Row {
	w := &c.Workload
	row := Row{
		Scheme: name, Version: version, Transport: c.Transport, Mix: w.Mix.String(), Dist: w.Dist.String(),
		Ordered: w.Ordered, Keys: w.Keys, ValueBytes: w.ValueBytes, LargestValueBytes: w.LargestValueBytes,
		Clients: c.Clients, InFlight: c.InFlight, Batch: c.Batch,
		ServerCPUs: c.ServerCPUs.String(), ClientCPUs: c.ClientCPUs.String(), Seed: w.Seed,
		WarmupS: c.Warmup.Seconds(), DurationS: c.Duration.Seconds(), Repeat: c.Repeat, Commit: c.Commit,
		ByOp: map[string]bench.OpFigures{},
	}
	if w.Dist != ycsb.Uniform {
		row.Theta = w.Theta
	}
	byKind, figures := newOutcome(), map[string][]float64{}
	for _, o := range runs {
		all := bench.NewLatency()
		for k, l := range o.latency {
			all.Merge(l)
			byKind.latency[k].Merge(l)
		}
		f := all.Figures()
		for name, v := range map[string]float64{
			"ops_per_s": o.opsPerS, "mean_us": f.MeanUs, "p50_us": f.P50Us, "p99_us": f.P99Us, "p999_us": f.P999Us,
			"server_cpu_util": share(o.serverCores, len(c.ServerCPUs)),
			"client_cpu_util": share(o.clientCores, len(c.ClientCPUs)),
		} {
			figures[name] = append(figures[name], v)
		}
	}
	row.Runs = figures["ops_per_s"]
	for name, value := range map[string]*float64{
		"ops_per_s": &row.OpsPerS, "mean_us": &row.MeanUs, "p50_us": &row.P50Us, "p99_us": &row.P99Us,
		"p999_us": &row.P999Us, "server_cpu_util": &row.CPUUtil, "client_cpu_util": &row.ClientUtil,
	} {
		*value = stats.Median(figures[name])
		if len(runs) > 1 {
			if row.Spread == nil {
				row.Spread = map[string][2]float64{}
			}
			row.Spread[name] = [2]float64{slices.Min(figures[name]), slices.Max(figures[name])}
		}
	}
	for k, l := range byKind.latency {
		if l.Count() > 0 {
			row.ByOp[ycsb.Kind(k).String()] = l.Figures()
		}
	}
	return row
}

// share of so many cores, all of the machine's if there are none.
func share(busy float64, cores int) float64 {
	if cores == 0 {
		cores = runtime.NumCPU()
	}
	return min(1, busy/float64(cores)) // Clock ticks are coarse.
}

// WriteJSON writes the row as one line.
func (r Row) WriteJSON(w io.Writer) error {
	if err := json.NewEncoder(w).Encode(r); err != nil {
		return fmt.Errorf("kvpeers: writing a row: %w", err)
	}
	return nil
}
