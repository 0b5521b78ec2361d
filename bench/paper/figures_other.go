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

// scalesPlot is for the smallest measured number of clients.
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

// simulatedScales is for one client, like the paper's figure.
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

// figureTwo is CPU and bandwidth of a TCP server, each as a share of the
// total: of the network of 1 Gbit/s, or of the slowest measured one. Loopback
// has no total bandwidth. The values of the paper's text have no number of
// clients, so they stand in the title.
func (r Report) figureTwo() (s report.Section, ok bool) {
	e := experimentNamed("motivation")
	s.Heading = "Figure 2: " + e.Title
	var points []Point
	for _, p := range r.Points {
		if p.Experiment == e.Name {
			points = append(points, p)
		}
	}
	var rows [2][]report.Plot // measured, simulated
	if len(points) > 0 {
		net := slices.MinFunc(points, func(a, b Point) int { return cmp.Compare(slow(a.Network), slow(b.Network)) }).Network
		where := "loopback"
		if net.Rate > 0 {
			where = net.String()
		} else {
			s.Text = []string{"Over loopback, which has no bandwidth to be a share of."}
		}
		slices.SortFunc(points, func(a, b Point) int { return cmp.Compare(a.Row.Clients, b.Row.Clients) })
		for _, panel := range e.Panels {
			var cpu, bandwidth [][2]float64
			for _, p := range points {
				if p.Panel != panel.Name || p.Network != net {
					continue
				}
				x := float64(p.Row.Clients)
				cpu = append(cpu, [2]float64{x, 100 * p.Row.CPUUtil})
				if net.Rate > 0 {
					bandwidth = append(bandwidth, [2]float64{x, 800 * BytesPerS(p) / float64(net.Rate)})
				}
			}
			rows[0] = append(rows[0], utilisation(panel, ": measured, "+where, cpu, bandwidth))
		}
	}
	for _, panel := range e.Panels {
		curve := func(m Metric) (points [][2]float64) {
			for _, row := range r.Simulated {
				if row.Figure == "2" && row.Series == panel.Name+"/"+tcp.Name && row.Metric == m {
					points = append(points, [2]float64{row.X, row.Value})
				}
			}
			return ascending(points)
		}
		plot := utilisation(panel, "", curve(CPUShare), curve(NetShare))
		plot.Simulated = true
		rows[1] = append(rows[1], plot)
	}
	for _, row := range rows {
		if row = slices.DeleteFunc(row, func(p report.Plot) bool { return len(p.Ticks) == 0 }); len(row) > 0 {
			s.Rows = append(s.Rows, row)
		}
	}
	if len(s.Rows) == 0 {
		s.Text = []string{"Neither measured nor simulated."}
	}
	return s, len(s.Rows) > 0 || r.shows(e)
}

// utilisation is a panel of figure 2.
func utilisation(panel Panel, how string, cpu, bandwidth [][2]float64) report.Plot {
	says := map[string]string{
		"1e-2": "network full at 28 % CPU or less", "1e-5": "CPU full at 65.8 % of the network",
	}[panel.Name]
	lines := []report.Line{
		{Name: "CPU utilization", Series: "server CPU", Points: cpu},
		{Name: "Bandwidth", Series: "bandwidth", Points: bandwidth},
	}
	return report.Plot{
		Name: "paper-figure-2-" + panel.Name, Title: fmt.Sprintf("Figure 2, %s%s (paper: %s)", panel.Title, how, says),
		X: "Number of clients", Y: "Utilization (%)", LogX: true, FromZero: true,
		Ticks: xs(lines), Lines: lines,
	}
}

// slow orders networks by how well they stand for the paper's 1 Gbit/s: that
// first, then the slowest, the host last.
func slow(n Network) int64 {
	switch n.Rate {
	case ethernet1G:
		return 0
	case 0:
		return maxRate + 1
	}
	return n.Rate
}
