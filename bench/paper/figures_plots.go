package paper

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

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

// finish adds the paper's values behind each line, and the axis that both
// need. A plot without a line stays empty: the paper alone is no figure of
// ours.
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

// most is the ratio of two values that an axis from zero can still show.
const most = 20

// far tells whether an axis from zero would press values flat to it.
func far(lines []report.Line) bool {
	var all []float64
	for _, l := range lines {
		for _, p := range l.Points {
			if p[1] > 0 {
				all = append(all, p[1])
			}
		}
	}
	return len(all) > 0 && slices.Max(all) > most*slices.Min(all)
}

// wide is like far, but of whole lines: the ends of one may be far apart.
func wide(lines []report.Line) bool {
	var tops []float64
	for _, l := range lines {
		top := 0.0
		for _, p := range l.Points {
			top = max(top, p[1])
		}
		if top > 0 {
			tops = append(tops, top)
		}
	}
	return len(tops) > 0 && slices.Max(tops) > most*slices.Min(tops)
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
	case d.Series == tcp40:
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

// measuredPlot also says which lines of the paper it lacks.
func (r Report) measuredPlot(f figure, panel Panel, m Metric, at place) (plot report.Plot, without []drawn) {
	plot = f.frame(m, panel, ": measured, RDMA on "+at.String())
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

// scales is the frame of figure 8: latency over the requests' scales, of
// one client.
func (f figure) scales(how string) report.Plot {
	plot := f.frame(MeanUs, Panel{Name: "scales", Title: "latency over scales"}, how)
	plot.X = "Scale of requests"
	return plot
}

// scalesPlot is of the smallest number of clients that was measured.
func (r Report) scalesPlot(f figure, e *Experiment, at place) report.Plot {
	least := 0
	for _, p := range r.Points {
		if p.Experiment == e.Name && (least == 0 || p.Row.Clients < least) {
			least = p.Row.Clients
		}
	}
	plot := f.scales(fmt.Sprintf(": measured, RDMA on %s, %s", at, clients(least)))
	for _, d := range f.series {
		line := report.Line{Name: d.Name, Series: d.Series}
		for _, panel := range e.Panels {
			points, _ := r.measured(f, panel.Name, d, at)
			if x, err := strconv.ParseFloat(panel.Scale, 64); err == nil &&
				len(points) > 0 && points[0].Row.Clients == least {
				line.Points = append(line.Points, [2]float64{x, points[0].Row.MeanUs})
			}
		}
		if ascending(line.Points); len(line.Points) > 0 {
			plot.Lines = append(plot.Lines, line)
		}
	}
	return plot
}

// simulatedScales is of one client, as the paper's figure.
func (r Report) simulatedScales(f figure, e *Experiment) report.Plot {
	plot := f.scales(", " + clients(1))
	plot.Simulated = true
	for _, d := range f.series {
		line := report.Line{Name: d.Name, Series: d.Series}
		for _, panel := range e.Panels {
			x, err := strconv.ParseFloat(panel.Scale, 64)
			if err != nil {
				continue // A power law has no place on the axis.
			}
			for _, s := range r.Simulated {
				if s.Figure == f.number && s.Series == panel.Name+"/"+d.Series && s.Metric == MeanUs && s.X == 1 {
					line.Points = append(line.Points, [2]float64{x, s.Value})
				}
			}
		}
		if ascending(line.Points); len(line.Points) > 0 {
			plot.Lines = append(plot.Lines, line)
		}
	}
	return plot
}

// figureTwo is CPU and bandwidth of a TCP server, each as a share of what
// there is: of the network of 1 Gbit/s, or of the slowest that was
// measured. Loopback has no bandwidth to be a share of.
func (r Report) figureTwo() (s report.Section, ok bool) {
	e := &Experiments[slices.IndexFunc(Experiments, func(e Experiment) bool { return e.Name == "motivation" })]
	s.Heading = "Figure 2: " + e.Title
	var points []Point
	for _, p := range r.Points {
		if p.Experiment == e.Name {
			points = append(points, p)
		}
	}
	if len(points) == 0 {
		s.Text = []string{"Not measured."}
		return s, r.shows(e)
	}
	net := slices.MinFunc(points, func(a, b Point) int { return cmp.Compare(slow(a.Network), slow(b.Network)) }).Network
	where := "loopback"
	if net.Rate > 0 {
		where = net.String()
	} else {
		s.Text = []string{"Over loopback, which has no bandwidth to be a share of."}
	}
	slices.SortFunc(points, func(a, b Point) int { return cmp.Compare(a.Row.Clients, b.Row.Clients) })
	var row []report.Plot
	for _, panel := range e.Panels {
		cpu := report.Line{Name: "CPU utilization", Series: "server CPU"}
		bandwidth := report.Line{Name: "Bandwidth", Series: "bandwidth"}
		for _, p := range points {
			if p.Panel != panel.Name || p.Network != net {
				continue
			}
			x := float64(p.Row.Clients)
			cpu.Points = append(cpu.Points, [2]float64{x, 100 * p.Row.CPUUtil})
			if net.Rate > 0 {
				bandwidth.Points = append(bandwidth.Points, [2]float64{x, 800 * BytesPerS(p) / float64(net.Rate)})
			}
		}
		if len(cpu.Points) == 0 {
			continue
		}
		row = append(row, report.Plot{
			Name: "paper-figure-2-" + panel.Name, Title: fmt.Sprintf("Figure 2, %s: measured, %s", panel.Title, where),
			X: "Number of clients", Y: "Utilization (%)", LogX: true, FromZero: true,
			Ticks: xs([]report.Line{cpu}), Lines: []report.Line{cpu, bandwidth},
		})
	}
	s.Rows = [][]report.Plot{row}
	return s, true
}

// slow orders networks by how well they stand for the paper's 1 Gbit/s:
// the slowest first, the host last.
func slow(n Network) int64 {
	if n.Rate == 0 {
		return maxRate + 1
	}
	return n.Rate
}
