package sim

import (
	"fmt"

	"github.com/catfish-index/catfish/bench/report"
)

// SeriesPlots draws watched runs (Config.Sample) over time, a line for each
// row: throughput, share of offloading, latency and the server's cores. The
// titles and names of files say "simulated".
func SeriesPlots(name string, rows []Row) []report.Plot {
	var plots []report.Plot
	for _, p := range []struct {
		name, title, unit string
		log               bool
		value             func(*Sample) float64
	}{
		{"throughput", "Searches", "searches/s", false, func(s *Sample) float64 { return s.OpsPerS }},
		{"offload-share", "Share of searches offloaded", "share", false, func(s *Sample) float64 { return s.Offload }},
		{"latency", "Mean latency", "us", true, func(s *Sample) float64 { return s.MeanUs }},
		{"server-cpu", "Server's cores busy", "share", false, func(s *Sample) float64 { return s.CPU }},
	} {
		plot := report.Plot{
			Name: name + "-" + p.name, Title: p.title, X: "time, s", Y: p.title + ", " + p.unit,
			LogY: p.log, FromZero: !p.log, Simulated: true,
		}
		for i := range rows {
			r := &rows[i]
			if i == 0 {
				plot.Title = fmt.Sprintf("%s, cluster %s, %d clients, scale %s", p.title, r.Cluster, r.Clients, r.Scale)
				if r.JoinAtS > 0 {
					plot.Title += fmt.Sprintf(" (%d until %g s)", r.First, r.JoinAtS)
				}
			}
			line := report.Line{Name: r.Scheme}
			for j := range r.Series {
				line.Points = append(line.Points, [2]float64{r.Series[j].AtS, p.value(&r.Series[j])})
			}
			if len(line.Points) > 0 {
				plot.Lines = append(plot.Lines, line)
			}
		}
		plots = append(plots, plot)
	}
	return plots
}
