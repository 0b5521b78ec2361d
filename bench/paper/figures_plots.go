package paper

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/bench/report"
)

// frame is a figure's plot without lines.
func (f figure) frame(m Metric, panel Panel, how string) report.Plot {
	axis, kind := m.axis()
	return report.Plot{
		Name:  fmt.Sprintf("paper-figure-%s-%s-%s", f.number, kind, panel.Name),
		Title: fmt.Sprintf("Figure %s, %s%s", f.number, panel.Title, how),
		X:     "Number of clients", Y: axis, LogX: true, FromZero: true,
	}
}

// finish adds the paper's values after each line, and the axis that both need.
// A plot without a line stays empty: the paper's values alone make no figure.
func (f figure) finish(plot *report.Plot, m Metric, panel Panel) {
	if len(plot.Lines) == 0 {
		return
	}
	for _, d := range f.series {
		points := printed(f.experiment, panel.Name, d.Series, m)
		if len(points) == 0 {
			continue
		}
		line := report.Line{Name: d.Name, Series: d.Series, Points: points, Paper: true}
		at := slices.IndexFunc(plot.Lines, func(l report.Line) bool { return l.Series == d.Series })
		if at < 0 {
			at = len(plot.Lines) - 1
		}
		plot.Lines = slices.Insert(plot.Lines, at+1, line)
	}
	plot.Ticks = xs(plot.Lines)
	plot.LogY = m == MeanUs && far(plot.Lines) || wide(plot.Lines)
}

// xs are the lines' places on the x axis.
func xs(lines []report.Line) []float64 {
	var x []float64
	for _, l := range lines {
		for _, p := range l.Points {
			x = append(x, p[0])
		}
	}
	slices.Sort(x)
	return slices.Compact(x)
}

// far reports whether an axis from zero would flatten some values.
func far(lines []report.Line) bool {
	var all []float64
	for _, l := range lines {
		for _, p := range l.Points {
			all = append(all, p[1])
		}
	}
	return ratio(all) > 20
}

// wide is like far, but for whole lines: the ends of one may be far apart. 50,
// since in the paper's figures Catfish has up to 27 times TCP's throughput.
func wide(lines []report.Line) bool {
	tops := make([]float64, len(lines))
	for i, l := range lines {
		for _, p := range l.Points {
			tops[i] = max(tops[i], p[1])
		}
	}
	return ratio(tops) > 50
}

// ratio is the largest value divided by the smallest, of those above zero.
func ratio(values []float64) float64 {
	values = slices.DeleteFunc(values, func(v float64) bool { return v <= 0 })
	if len(values) == 0 {
		return 1
	}
	return slices.Max(values) / slices.Min(values)
}

// measured finds the points of a line of the paper, in ascending order of
// clients, and its name here.
func (r Report) measured(f figure, panel string, d drawn, at place) (points []Point, name string) {
	var ethernet bool
	for _, p := range r.Points {
		if p.Experiment == f.experiment && p.Panel == panel && p.Series == tcp.Name &&
			(p.Network.Name == "1g" || p.Network.Name == "40g") {
			ethernet = true
		}
	}
	want, series, name := at.network.Name, d.Series, d.Name
	switch {
	case d.Series == tcp40.Name:
		want, series = "40g", tcp.Name
	case d.Series == tcp.Name && ethernet:
		want = "1g"
	case d.Series == tcp.Name:
		want, name = Host.Name, "TCP/IP, loopback"
	}
	for _, p := range r.Points {
		if p.Experiment == f.experiment && p.Panel == panel && p.Series == series && p.Network.Name == want &&
			(series == tcp.Name || p.Row.Transport == at.transport) {
			points = append(points, p)
		}
	}
	slices.SortFunc(points, func(a, b Point) int { return cmp.Compare(a.Row.Clients, b.Row.Clients) })
	return points, name
}

// measuredPlot also returns the paper's lines that it lacks.
func (r Report) measuredPlot(f figure, panel Panel, m Metric, at place) (plot report.Plot, without []drawn) {
	plot = f.frame(m, panel, ": measured (RDMA: "+at.String()+")")
	for _, d := range f.series {
		points, name := r.measured(f, panel.Name, d, at)
		if len(points) == 0 {
			without = append(without, d)
			continue
		}
		line := report.Line{Name: name, Series: d.Series}
		for _, p := range points {
			line.Points = append(line.Points, [2]float64{float64(p.Row.Clients), m.of(p)})
		}
		plot.Lines = append(plot.Lines, line)
	}
	f.finish(&plot, m, panel)
	return plot, without
}

// simulatedPlot has the curves of the file of simulated values. Single
// values are no curve: they are in the table of numbers.
func (r Report) simulatedPlot(f figure, panel Panel, m Metric) report.Plot {
	plot := f.frame(m, panel, "")
	plot.Simulated = true
	curve := false
	for _, d := range f.series {
		line := report.Line{Name: d.Name, Series: d.Series}
		for _, s := range r.Simulated {
			if s.Figure == f.number && s.Series == panel.Name+"/"+d.Series && s.Metric == m && s.X > 0 {
				line.Points = append(line.Points, [2]float64{s.X, s.Value})
			}
		}
		if ascending(line.Points); len(line.Points) > 0 {
			plot.Lines = append(plot.Lines, line)
			curve = curve || len(line.Points) > 1
		}
	}
	if !curve {
		plot.Lines = nil
	}
	f.finish(&plot, m, panel)
	return plot
}
