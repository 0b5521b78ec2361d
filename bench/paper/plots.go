package paper

import (
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/bench/report"
)

// plots of one group: over the number of clients, then in depth for the
// largest number. Throughput and latency have the paper's values with ours.
func (g group) plots() []report.Plot {
	over := func(kind, what, unit string, log bool, lines []report.Line) report.Plot {
		return report.Plot{
			Name: g.name(kind), Title: g.title(what), X: "clients", Y: unit,
			LogX: true, LogY: log, FromZero: !log, Ticks: xs(lines), Lines: lines,
		}
	}
	bandwidth := "Bandwidth, both ways"
	if g.network.Rate > 0 {
		bandwidth = "Bandwidth, busier direction"
	}
	kops, us := g.beside(KopsS), g.beside(MeanUs)
	plots := []report.Plot{
		over("throughput", "Throughput", "Kops/s", wide(kops), kops),
		over("latency", "Mean latency", "us", true, us),
		over("cpu", "CPU of the server's cores", "%", false,
			g.lines(func(p Point) float64 { return 100 * p.Row.CPUUtil })),
		over("bandwidth", bandwidth, "Mbit/s", true,
			g.lines(func(p Point) float64 { return 8 * BytesPerS(p) / 1e6 })),
	}
	if g.network.Rate > 0 { // The network's capacity.
		last := &plots[len(plots)-1]
		rate := report.Line{Name: "limit"}
		for _, x := range g.clients() {
			rate.Points = append(rate.Points, [2]float64{x, float64(g.network.Rate) / 1e6})
		}
		last.Lines = append(last.Lines, rate)
	}
	plots = append(plots, g.cdf())
	if slices.Contains(g.series(), catfish.Name) {
		plots = append(plots, g.shares())
	}
	return plots
}

// look names a series in the table of looks: TCP has one for each Ethernet
// of the paper.
func (g group) look(series string) string {
	if series == tcp.Name {
		if _, known := report.Rank(tcp.Name + "-" + g.network.Name); known {
			return tcp.Name + "-" + g.network.Name
		}
	}
	return series
}

// beside returns lines of a metric, each followed by the paper's values of it.
func (g group) beside(m Metric) []report.Line {
	var lines []report.Line
	for i, l := range g.lines(m.of) {
		lines = append(lines, l)
		series := g.series()[i]
		if points := printed(g.experiment.Name, g.panel.Name, series, m); len(points) > 0 {
			lines = append(lines, report.Line{Name: l.Name, Series: l.Series, Points: points, Paper: true})
		}
	}
	return lines
}

func (g group) clients() []float64 {
	var x []float64
	for _, p := range g.points {
		if v := float64(p.Row.Clients); !slices.Contains(x, v) {
			x = append(x, v)
		}
	}
	return x
}

// lines has one line for each series, in the order of legends.
func (g group) lines(value func(Point) float64) []report.Line {
	var lines []report.Line
	for _, s := range g.series() {
		l := report.Line{Name: titleOf(s), Series: g.look(s)}
		for _, p := range g.points {
			if p.Series == s {
				l.Points = append(l.Points, [2]float64{float64(p.Row.Clients), value(p)})
			}
		}
		lines = append(lines, l)
	}
	return lines
}

func (g group) series() []string {
	var names []string
	for _, p := range g.points {
		if !slices.Contains(names, p.Series) {
			names = append(names, p.Series)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return names
}

// largest returns the points of the largest number of clients.
func (g group) largest() []Point {
	last := g.points[len(g.points)-1].Row.Clients
	return slices.DeleteFunc(slices.Clone(g.points), func(p Point) bool {
		return p.Row.Clients != last || p.Row.Detail == nil
	})
}

// cdf is the distribution of latencies at the largest number of clients.
func (g group) cdf() report.Plot {
	plot := report.Plot{
		Name: g.name("cdf"), X: "latency, us", Y: "share of calls", LogX: true, FromZero: true,
	}
	for _, p := range g.largest() {
		plot.Title = g.title(fmt.Sprintf("Latency of %d clients", p.Row.Clients))
		plot.Lines = append(plot.Lines, report.Line{
			Name: titleOf(p.Series), Series: g.look(p.Series), Points: p.Row.Detail.CDF,
		})
	}
	return plot
}

// shares is the share that adaptive clients offloaded over time, and the
// utilisation of the server as they observed it.
func (g group) shares() report.Plot {
	plot := report.Plot{
		Name: g.name("offload"), X: "time, s", Y: "%", FromZero: true,
		Title: g.title("Offloaded searches over time"),
	}
	for _, p := range g.largest() {
		if p.Series != catfish.Name {
			continue
		}
		plot.Title = g.title(fmt.Sprintf("Offloaded searches over time, %d clients", p.Row.Clients))
		share := report.Line{Name: "offloaded by Catfish", Series: catfish.Name}
		util := report.Line{Name: "server CPU as observed", Series: "server CPU"}
		for _, m := range p.Row.Detail.Moments {
			at := m.At.Seconds()
			if n := m.Fast + m.Offloaded; n > 0 {
				share.Points = append(share.Points, [2]float64{at, 100 * float64(m.Offloaded) / float64(n)})
			}
			util.Points = append(util.Points, [2]float64{at, 100 * m.Util})
		}
		plot.Lines = append(plot.Lines, share, util)
	}
	return plot
}

// table has all figures of the group, and each point's limit.
func (g group) table() report.Table {
	t := report.Table{
		Caption: g.title("Rows"),
		Head: []string{"clients", "series", "transport", "calls", "calls/s", "mean us", "p50", "p99",
			"bytes a call", "Mbit/s", "offloaded", "results", "limited by"},
	}
	for _, p := range g.points {
		r := p.Row
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(r.Clients), p.Series, r.Transport, Calls(p), fmt.Sprintf("%.0f", r.OpsPerS),
			fmt.Sprintf("%.1f", r.MeanUs), fmt.Sprintf("%.1f", r.P50Us), fmt.Sprintf("%.1f", r.P99Us),
			fmt.Sprintf("%.0f", r.Bytes), fmt.Sprintf("%.1f", 8*BytesPerS(p)/1e6),
			fmt.Sprintf("%.1f %%", 100*r.Offload), fmt.Sprintf("%.1f", r.Results), LimitOf(p).String(),
		})
	}
	return t
}

// Calls is the number of calls of a point, over all runs, and the requested
// number if that is more.
func Calls(p Point) string {
	asked := int64(p.Row.Requests) * int64(p.Row.Clients) * int64(p.Row.Repeat)
	if p.Row.Cut == 0 {
		return fmt.Sprint(asked)
	}
	return fmt.Sprintf("%d of %d", asked-p.Row.Cut, asked)
}
