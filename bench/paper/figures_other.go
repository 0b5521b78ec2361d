package paper

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/catfish-index/catfish/bench/report"
)

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
	plot := f.scales(fmt.Sprintf(": measured (RDMA: %s), %s", at, clients(least)))
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
	e := experimentNamed("motivation")
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
