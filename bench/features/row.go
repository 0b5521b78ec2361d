package features

import (
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/latency"
)

// Row is one work done in one way: medians over the rounds. Figures that a
// work or a way lacks are 0.
type Row struct {
	Work string `json:"work"`
	Way  string `json:"way"`
	// What was measured: number of features, connections, calls in flight over
	// all of them.
	Features int `json:"features"`
	Clients  int `json:"clients"`
	InFlight int `json:"in_flight"`

	Figures

	Memory *MemoryState `json:"memory,omitempty"`
	// MemoryRatio is resident memory divided by the features' own bytes.
	MemoryRatio float64            `json:"memory_ratio,omitempty"`
	More        map[string]float64 `json:"more,omitempty"`

	// Runs are the rates of the rounds: features/s of SearchHundred and Load,
	// ops/s of all other works.
	Runs   []float64             `json:"runs,omitempty"`
	Spread map[string][2]float64 `json:"spread,omitempty"` // with several rounds

	Wrong int64  `json:"wrong"` // answers, of all rounds
	First string `json:"first,omitempty"`
	// Differs is the difference of another server's answers: features found
	// divided by those that Catfish finds, minus 1.
	Differs float64 `json:"differs,omitempty"`

	Seed       uint64        `json:"seed"`
	DurationS  float64       `json:"duration_s"`
	Repeat     int           `json:"repeat"`
	ServerCPUs string        `json:"server_cpus"`
	ClientCPUs string        `json:"client_cpus"`
	Version    string        `json:"version,omitempty"` // of another server
	Commit     string        `json:"commit"`
	Machine    bench.Machine `json:"machine"`
}

// Figures are the measured numbers of a row.
type Figures struct {
	OpsPerS float64 `json:"ops_per_s"`
	// OpsPerCore is operations per second that a server's cores were busy: it
	// excludes the time of other programs.
	OpsPerCore   float64 `json:"ops_per_core"`
	FeaturesPerS float64 `json:"features_per_s"` // in answers, or written
	Results      float64 `json:"results"`        // features per operation
	MeanUs       float64 `json:"mean_us"`
	P50Us        float64 `json:"p50_us"`
	P99Us        float64 `json:"p99_us"`
	ServerCPU    float64 `json:"server_cpu"` // busy cores
	ClientCPU    float64 `json:"client_cpu"`
	Trips        float64 `json:"trips"` // round trips per operation
	Reads        float64 `json:"reads"`
	Bytes        float64 `json:"bytes"`
	Offloaded    float64 `json:"offloaded"` // share, 0 to 1
	Seconds      float64 `json:"seconds"`   // of loading, restarting
}

// run is one round of a row.
type run struct {
	sample *Sample
	server float64 // cores
}

// newRow summarises the rounds.
func (r *runner) newRow(work, way string, inFlight int, runs []run) Row {
	row := r.rowOf(work, way)
	row.InFlight = inFlight
	var figures [][]stats.Figure
	found, wanted := int64(0), int64(0)
	for i := range runs {
		s := runs[i].sample
		one := Row{Figures: Figures{ServerCPU: runs[i].server}}
		one.fill(s)
		figures = append(figures, stats.Figures(&one.Figures))
		row.Runs = append(row.Runs, one.rate(work))
		found, wanted = found+s.Found, wanted+s.Wanted
		row.More = s.More
		if row.Wrong += s.Wrong; row.First == "" {
			row.First = s.First
		}
	}
	if way == Tile38 && wanted > 0 {
		row.Differs = stats.Ratio(float64(found), float64(wanted)) - 1
	}
	if way == Tile38 {
		row.Version = r.version
	}
	row.Spread = stats.Summarize(stats.Figures(&row.Figures), figures)
	return row
}

// rowOf is a row without figures.
func (r *runner) rowOf(work, way string) Row {
	c := &r.cfg
	return Row{
		Work: work, Way: way, Features: c.Features, Clients: c.Clients, Seed: c.Seed, DurationS: c.Duration.Seconds(),
		Repeat: c.Repeat, ServerCPUs: c.ServerCPUs.String(), ClientCPUs: c.ClientCPUs.String(),
		Commit: c.Commit, Machine: r.machine,
	}
}

func (r *Row) fill(s *Sample) {
	seconds := s.Elapsed.Seconds()
	ops := float64(s.Ops)
	r.OpsPerS, r.FeaturesPerS = stats.Ratio(ops, seconds), stats.Ratio(float64(s.Features), seconds)
	r.Results = stats.Ratio(float64(s.Features), ops)
	r.ClientCPU = stats.Ratio(s.CPU.Seconds(), seconds)
	r.OpsPerCore = stats.Ratio(r.OpsPerS, r.ServerCPU)
	r.Seconds = seconds
	f := bench.OpFiguresOf(s.Latency)
	r.MeanUs, r.P50Us, r.P99Us = f.MeanUs, f.P50Us, f.P99Us
	n := s.Counters
	searches := float64(n.Fast + n.Offloaded)
	r.Trips, r.Reads = stats.Ratio(float64(n.RoundTrips), searches), stats.Ratio(float64(n.Reads), searches)
	r.Bytes, r.Offloaded = stats.Ratio(float64(n.Bytes), searches), stats.Ratio(float64(n.Offloaded), searches)
}

// rate is the figure by which ways of a work are compared.
func (r *Row) rate(work string) float64 {
	if work == SearchHundred || work == Load {
		return r.FeaturesPerS
	}
	return r.OpsPerS
}

// timed is a sample of a single operation.
func timed(features int, took time.Duration) *Sample {
	return &Sample{Elapsed: took, Ops: int64(features), Features: int64(features), Latency: latency.New()}
}
