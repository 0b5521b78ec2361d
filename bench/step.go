package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/report"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/names"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/rstar"
)

// StepConfig says how Steps loads a server: each goroutine of the clients
// rests between two searches, until a moment from which it does not.
type StepConfig struct {
	DemoConfig // but for Policy and Steps
	Schemes    []string
	Rest       time.Duration // between two searches, before
	At         time.Duration // the moment, since the clients began
	Commit     string        // of this program, for the rows
}

// StepRow is the result of one scheme, as JSON.
type StepRow struct {
	Scheme    string  `json:"scheme"`
	Transport string  `json:"transport"`
	Dataset   string  `json:"dataset"`
	Objects   int     `json:"objects"`
	Scale     string  `json:"scale"`
	Clients   int     `json:"clients"`
	InFlight  int     `json:"in_flight"`
	RestUs    float64 `json:"rest_us"`
	AtS       float64 `json:"step_at_s"`
	DurationS float64 `json:"duration_s"`
	Seed      uint64  `json:"seed"`
	Server    string  `json:"server_cpus"` // empty: any
	Client    string  `json:"client_cpus"`
	// As in Row.
	Strategy  rstar.Strategy `json:"strategy,omitempty"`
	Inserted  bool           `json:"inserted,omitempty"`
	Backoff   policy.Backoff `json:"backoff,omitzero"`
	Commit    string         `json:"commit"`
	Simulated bool           `json:"simulated"` // false
	Series    []StepSample   `json:"series"`
}

// StepSample covers the time between the previous sample and AtS.
type StepSample struct {
	AtS     float64 `json:"at_s"`
	OpsPerS float64 `json:"ops_per_s"`
	MeanUs  float64 `json:"mean_us"`
	P99Us   float64 `json:"p99_us"`
	Offload float64 `json:"offload_share"`
	CPU     float64 `json:"server_cpu_util"` // of the server's cores, 0 to 1
}

// Validate checks the step; known are the schemes that exist. Errors wrap
// harness.ErrConfig.
func (c StepConfig) Validate(known []string) error {
	if len(c.Schemes) == 0 {
		return fmt.Errorf("%w: no schemes", harness.ErrConfig)
	}
	for _, v := range []struct {
		name string
		n    int
	}{{"objects", c.Objects}, {"client processes", c.Procs}, {"clients", c.Clients}, {"callers per client", c.InFlight}} {
		if v.n < 1 {
			return fmt.Errorf("%w: %d %s, want 1 or more", harness.ErrConfig, v.n, v.name)
		}
	}
	if _, err := datasets.ParseScale(c.Scale); err != nil {
		return fmt.Errorf("%w: %w", harness.ErrConfig, err)
	}
	for _, s := range c.Schemes {
		if s == "tcp" {
			return fmt.Errorf("%w: scheme tcp has no one-sided reads to choose", harness.ErrConfig)
		}
		d := c.DemoConfig
		d.Policy = s
		if err := d.Validate(known); err != nil {
			return err
		}
	}
	if c.Interval <= 0 || c.At < c.Interval || c.Duration < c.At+c.Interval {
		return fmt.Errorf("%w: a step at %v, samples of %v and a duration of %v: want a sample or more before the step and after it",
			harness.ErrConfig, c.At, c.Interval, c.Duration)
	}
	if c.Rest <= 0 {
		return fmt.Errorf("%w: a rest of %v, want more than 0", harness.ErrConfig, c.Rest)
	}
	return nil
}

// Steps runs the schemes sequentially, each with a fresh server, and hands
// each row to done.
func Steps(ctx context.Context, cfg StepConfig, spawn child.Spawn, note func(string), done func(StepRow)) error {
	for _, scheme := range cfg.Schemes {
		d := cfg.DemoConfig
		d.Policy, d.Steps = scheme, []Step{{0, cfg.Rest}, {cfg.At, 0}}
		rec := stepRecord{note: func(s string) { note(scheme + ": " + s) }}
		rec.row = StepRow{
			Scheme: scheme, Dataset: d.Dataset, Scale: d.Scale, Clients: d.Procs * d.Clients, InFlight: d.InFlight,
			RestUs: stats.Micros(cfg.Rest), AtS: cfg.At.Seconds(), DurationS: cfg.Duration.Seconds(), Seed: d.Seed,
			Server: d.ServerCPUs.String(), Client: d.ClientCPUs.String(), Commit: cfg.Commit,
			Strategy: d.Strategy, Inserted: d.Inserted, Backoff: BackoffOf(scheme, d.Backoff),
		}
		if err := Demo(ctx, d, spawn, &rec); err != nil {
			return fmt.Errorf("scheme %s: %w", scheme, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		done(rec.row)
	}
	return nil
}

// stepRecord is a Show that keeps the frames.
type stepRecord struct {
	row  StepRow
	note func(string)
}

func (r *stepRecord) Note(s string) { r.note(s) }

func (r *stepRecord) Begin(s ServerReady, i Info, _ DemoConfig) {
	r.row.Scheme, r.row.Transport, r.row.Objects = i.Policy, i.Transport, s.Objects
	r.note("transport " + names.Transport(i.Transport))
}

func (r *stepRecord) Frame(f Frame) {
	ops := f.FastPerS + f.OffPerS
	r.row.Series = append(r.row.Series, StepSample{
		AtS: f.At.Seconds(), OpsPerS: ops, MeanUs: stats.Micros(f.Mean), P99Us: stats.Micros(f.P99),
		Offload: stats.Ratio(f.OffPerS, ops), CPU: f.ServerCPU,
	})
}

func (r *stepRecord) End(Summary) {}

// After is the mean throughput and the share offloaded from one time to
// another, both since the step; ok is false if there is no sample.
func (r *StepRow) After(from, to time.Duration) (opsPerS, offload float64, ok bool) {
	last, took := 0.0, 0.0
	for _, s := range r.Series {
		d := s.AtS - last
		last = s.AtS
		// A sample counts on the side of its middle.
		if mid := s.AtS - d/2 - r.AtS; mid > from.Seconds() && mid <= to.Seconds() {
			took += d
			opsPerS += s.OpsPerS * d
			offload += s.Offload * s.OpsPerS * d
		}
	}
	return stats.Ratio(opsPerS, took), stats.Ratio(offload, opsPerS), took > 0
}

// StepPlots draws the rows over time, one line for each scheme.
func StepPlots(rows []StepRow) []report.Plot {
	var plots []report.Plot
	for _, p := range []struct {
		name, title, unit string
		log               bool
		value             func(*StepSample) float64
	}{
		{"throughput", "Searches", "searches/s", false, func(s *StepSample) float64 { return s.OpsPerS }},
		{"offload-share", "Share of searches offloaded", "share", false, func(s *StepSample) float64 { return s.Offload }},
		{"latency", "Mean latency", "us", true, func(s *StepSample) float64 { return s.MeanUs }},
	} {
		plot := report.Plot{
			Name: "step-" + p.name, X: "time, s", Y: p.title + ", " + p.unit, LogY: p.log, FromZero: !p.log,
		}
		for i, r := range rows {
			if i == 0 {
				plot.Title = fmt.Sprintf("%s, measured: %d x %d callers over %s, full load from %g s, scale %s",
					p.title, r.Clients, r.InFlight, r.Transport, r.AtS, r.Scale)
			}
			line := report.Line{Name: r.Scheme}
			for j := range r.Series {
				line.Points = append(line.Points, [2]float64{r.Series[j].AtS, p.value(&r.Series[j])})
			}
			plot.Lines = append(plot.Lines, line)
		}
		plots = append(plots, plot)
	}
	return slices.DeleteFunc(plots, func(p report.Plot) bool { return len(p.Lines) == 0 })
}
