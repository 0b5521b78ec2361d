package mongo

import (
	"context"
	"fmt"

	"github.com/catfish-index/catfish/bench/features"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/child"
)

// Row is one work, at one point of a figure, over one transport. Figures are medians of the
// rounds.
type Row struct {
	Figure    int     `json:"figure"`
	Work      string  `json:"work"`
	Transport string  `json:"transport"`
	Threads   int     `json:"threads"`
	Records   int     `json:"records"`
	Seconds   float64 `json:"seconds"` // the paper's T
	Ops       float64 `json:"ops_per_s"`
	Mean      float64 `json:"mean_us"`
	P99       float64 `json:"p99_us"`
	// Times is Ops by those of the first transport, within rounds, and its standard error;
	// 0 with fewer than two rounds.
	Times  float64   `json:"times,omitempty"`
	StdErr float64   `json:"times_stderr,omitempty"`
	Runs   []float64 `json:"runs"` // Ops of each round
	Commit string    `json:"commit"`
}

// Run measures all points, and calls done with each row.
func Run(ctx context.Context, cfg Config, spawn child.Spawn, note func(string), done func(Row)) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	server, addr, err := harness.Start[string](ctx, spawn, ServerRole, cfg.ServerCPUs, serverJob{cfg.Transports}, note)
	if err != nil {
		return err
	}
	defer server.Stop()
	job := clientJob{DataJob: features.DataJob{Source: cfg.Source, Features: cfg.most(), Seed: cfg.Seed}, Addr: addr}
	client, _, err := harness.Start[any](ctx, spawn, ClientRole, cfg.ClientCPUs, job, note)
	if err != nil {
		return err
	}
	defer client.Stop()
	for _, s := range cfg.sizes() {
		all := map[string][][]float64{} // by work: ops of each transport's rounds
		told := func(what string) { note(fmt.Sprintf("figure %d, %d x %d: %s", s.figure, s.threads, s.each, what)) }
		err := harness.Measure(cfg.Rounds, cfg.Transports, told, func(transport string) (map[string]*Sample, error) {
			return harness.Ask[map[string]*Sample](ctx, client, command{transport, s.threads, s.each})
		}, func(transport string, runs []map[string]*Sample) {
			for _, work := range Works {
				r := newRow(s, work, transport, runs)
				r.Commit = cfg.Commit
				all[work] = append(all[work], r.Runs)
				r.Times, r.StdErr, _ = harness.Within(r.Runs, all[work][0])
				done(r)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func newRow(s size, work, transport string, runs []map[string]*Sample) Row {
	r := Row{Figure: s.figure, Work: work, Transport: transport, Threads: s.threads, Records: s.threads * s.each}
	var seconds, mean, p99 []float64
	for _, run := range runs {
		one := run[work]
		seconds = append(seconds, one.Elapsed.Seconds())
		r.Runs = append(r.Runs, float64(r.Records)/one.Elapsed.Seconds())
		mean = append(mean, stats.Micros(one.Latency.Mean()))
		p99 = append(p99, stats.Micros(one.Latency.Quantile(.99)))
	}
	r.Seconds, r.Ops, r.Mean, r.P99 = stats.Median(seconds), stats.Median(r.Runs), stats.Median(mean), stats.Median(p99)
	return r
}
