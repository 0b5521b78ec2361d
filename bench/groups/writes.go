package groups

import (
	"context"
	"fmt"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/stats"
)

// load is some clients that write a kind.
type load struct {
	kind    string
	clients int
}

func (l *lab) loads() (all []load) {
	for _, kind := range l.cfg.Kinds {
		for _, n := range l.cfg.Clients {
			all = append(all, load{kind, n})
		}
	}
	return all
}

// writes measures all loads, in rounds of all set-ups.
func (l *lab) writes(ctx context.Context, c cell) error {
	setups := map[string]setup{}
	var names []string
	for _, s := range l.cfg.setups() {
		setups[s.String()] = s
		names = append(names, s.String())
	}
	alone := map[load][]Round{}
	note := func(what string) { l.note(fmt.Sprintf("writes over %v: %s", c, what)) }
	return harness.Measure(l.cfg.Rounds, names, note, func(name string) (run map[load]*Sample, err error) {
		err = l.with(ctx, c, setups[name], func(g *group) error {
			run, err = l.all(ctx, g)
			return err
		})
		return run, err
	}, func(name string, runs []map[load]*Sample) {
		for _, o := range l.loads() {
			w := &WritesRow{Kind: o.kind, Members: setups[name].members, Level: setups[name].level, Clients: o.clients}
			for _, run := range runs {
				w.Runs = append(w.Runs, roundOf(run[o]))
			}
			if w.Members == 0 {
				alone[o] = w.Runs
			}
			w.sum(alone[o])
			r := l.row(Writes, c)
			r.Writes = w
			l.done(r)
		}
	})
}

// all measures each load, after a warm-up.
func (l *lab) all(ctx context.Context, g *group) (map[load]*Sample, error) {
	out := map[load]*Sample{}
	primary, err := g.primary(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range l.loads() {
		do := command{Do: doMeasure, Kind: o.kind, Clients: o.clients, Duration: l.cfg.Warmup}
		if _, err := harness.Ask[Sample](ctx, g.clients, do); err != nil {
			return nil, err
		}
		before, err := cpu(primary)
		if err != nil {
			return nil, err
		}
		do.Duration = l.cfg.Duration
		s, err := harness.Ask[Sample](ctx, g.clients, do)
		if err != nil {
			return nil, err
		}
		after, err := cpu(primary)
		if err != nil {
			return nil, err
		}
		s.CPU = after - before
		out[o] = &s
	}
	return out, nil
}

func roundOf(s *Sample) Round {
	n := float64(s.Latency.Count())
	return Round{
		Ops: n / s.Elapsed.Seconds(), Mean: stats.Micros(s.Latency.Mean()), P50: stats.Micros(s.Latency.Quantile(.5)),
		P99: stats.Micros(s.Latency.Quantile(.99)), CPU: stats.Ratio(stats.Micros(s.CPU), n),
	}
}

// sum sets the medians, and those of the ratios to the rounds of the server alone.
func (w *WritesRow) sum(alone []Round) {
	for _, f := range []struct {
		of          func(Round) float64
		value, time *float64
	}{
		{func(r Round) float64 { return r.Ops }, &w.Ops, &w.OpsTimes},
		{func(r Round) float64 { return r.Mean }, &w.Mean, &w.MeanTimes},
		{func(r Round) float64 { return r.P50 }, &w.P50, &w.P50Times},
		{func(r Round) float64 { return r.P99 }, &w.P99, &w.P99Times},
		{func(r Round) float64 { return r.CPU }, &w.CPU, &w.CPUTimes},
	} {
		var values, times []float64
		for i, r := range w.Runs {
			values = append(values, f.of(r))
			times = append(times, stats.Ratio(f.of(r), f.of(alone[i])))
		}
		*f.value, *f.time = stats.Median(values), stats.Median(times)
	}
}
