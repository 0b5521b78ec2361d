package paper

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/bench/report"
)

// figure is one of the paper's, drawn like in the paper: its axes, its series
// under its names, the values that its text prints, and ours.
type figure struct {
	number     string
	experiment string
	title      string
	metrics    []Metric // KopsS, MeanUs: a plot of each
	series     []drawn
}

// drawn is a line of the paper's figures.
type drawn struct {
	Series string // our scheme; tcp40 is scheme tcp in another network
	Name   string // the paper's
}

// compared are the lines of figures 10 to 14. The paper's base lines are
// those of FaRM (section V): a server that polls, and one read at a time.
var compared = []drawn{
	{tcp.Name, "TCP/IP-1G"}, {tcp40.Name, "TCP/IP-40G"}, {polling.Name, "Fast messaging"},
	{single.Name, "RDMA offloading"}, {catfish.Name, "Catfish"},
}

// figures are those whose series are schemes: not figure 2, which has none,
// and 9, which searches nothing.
var figures = []figure{
	{"7", "events", "Polling-based and event-based fast messaging", []Metric{MeanUs},
		[]drawn{{polling.Name, "Polling-based"}, {fast.Name, "Event-based"}}},
	{"8", "multi-issue", "Single-issue and multi-issue offloading, one client", []Metric{MeanUs},
		[]drawn{{single.Name, "Single-issue"}, {offload.Name, "Multi-issue"}}},
	{"10", "search", "Throughput of searches", []Metric{KopsS}, compared},
	{"11", "search", "Latency of searches", []Metric{MeanUs}, compared},
	{"12", "hybrid", "Throughput with 10 % inserts", []Metric{KopsS}, compared},
	{"13", "hybrid", "Latency with 10 % inserts", []Metric{MeanUs}, compared},
	{"14", "rea02", "Throughput and latency on rea02", []Metric{KopsS, MeanUs}, compared},
}

// overScales reports whether the x axis has scales, not clients.
func (f figure) overScales() bool { return f.experiment == "multi-issue" }

// of is a point's value of a metric that figures draw.
func (m Metric) of(p Point) float64 {
	if m == KopsS {
		return p.Row.OpsPerS / 1e3
	}
	return searchUs(p)
}

// axis is a metric's title, as in the paper, and in names of files.
func (m Metric) axis() (title, kind string) {
	if m == KopsS {
		return "Throughput (Kops/s)", "throughput"
	}
	return "Latency (us)", "latency"
}

// printed are the values of a curve that the paper's text prints.
func printed(experiment, panel, series string, m Metric) [][2]float64 {
	var points [][2]float64
	for _, n := range Numbers {
		if n.Experiment == experiment && n.Panel == panel && n.Series == series && n.Metric == m && n.X > 0 {
			points = append(points, [2]float64{float64(n.X), n.Value})
		}
	}
	return ascending(points)
}

// ascending sorts points by x.
func ascending(points [][2]float64) [][2]float64 {
	slices.SortStableFunc(points, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	return points
}

// place is a place of RDMA measurements.
type place struct {
	network   Network
	transport string
}

// best is the place that stands for the paper's InfiniBand: the host, or
// the fastest network.
func (r Report) best() (best place, ok bool) {
	for _, p := range r.Points {
		if p.Series == tcp.Name {
			continue
		}
		at := place{p.Network, p.Row.Transport}
		if !ok || at.before(best) {
			best, ok = at, true
		}
	}
	return best, ok
}

func (a place) before(b place) bool {
	if (a.network.Rate == 0) != (b.network.Rate == 0) {
		return a.network.Rate == 0
	}
	return cmp.Or(cmp.Compare(b.network.Rate, a.network.Rate), strings.Compare(a.transport, b.transport)) < 0
}

// figures has those of the paper that were measured or simulated.
func (r Report) figures() report.Section {
	s := report.Section{
		Heading: "The figures, drawn as the paper draws them",
		Text: []string{
			"Axes and names are the paper's. Its fast messaging and RDMA offloading are those of FaRM (section V):" +
				" a server that polls (scheme fast-polling), and one read at a time (offload-single). Catfish is" +
				" scheme paper. Hollow marks are the values that the paper's text prints. Our other schemes, networks" +
				" and transports are in the sections that follow.",
		},
	}
	at, measured := r.best()
	if measured {
		s.Text = append(s.Text, "Measured: the RDMA schemes on "+at.String()+". TCP/IP-1G and TCP/IP-40G are TCP through"+
			" networks of 1 and 40 Gbit/s; where neither was measured, TCP over loopback.")
	}
	if part, ok := r.figureTwo(); ok {
		s.Parts = append(s.Parts, part)
	}
	for _, f := range figures {
		if part, ok := r.figure(f, at); ok {
			s.Parts = append(s.Parts, part)
		}
		if f.number != "8" {
			continue
		}
		if part, ok := r.microFigure(); ok { // Figure 9 is next.
			s.Parts = append(s.Parts, part)
		}
	}
	return s
}

// figure has measured values in the first row and simulated ones in the
// second; ok is false if it was not requested and has neither.
func (r Report) figure(f figure, at place) (s report.Section, ok bool) {
	e := experimentNamed(f.experiment)
	s.Heading = fmt.Sprintf("Figure %s: %s", f.number, f.title)
	var ours, simulated []report.Plot
	missing := map[string]bool{}
	for _, m := range f.metrics {
		if f.overScales() {
			ours = append(ours, r.scalesPlot(f, e, at))
			simulated = append(simulated, r.simulatedScales(f, e))
			continue
		}
		for _, p := range e.Panels {
			plot, without := r.measuredPlot(f, p, m, at)
			if ours = append(ours, plot); len(plot.Lines) > 0 {
				for _, d := range without {
					missing[d.Name] = true
				}
			}
			simulated = append(simulated, r.simulatedPlot(f, p, m))
		}
	}
	for _, row := range [][]report.Plot{ours, simulated} {
		if row = slices.DeleteFunc(row, func(p report.Plot) bool { return len(p.Lines) == 0 }); len(row) > 0 {
			s.Rows = append(s.Rows, row)
		}
	}
	if len(missing) > 0 {
		s.Text = append(s.Text, "Not measured, or not in every panel: "+strings.Join(slices.Sorted(maps.Keys(missing)), ", ")+".")
	}
	if len(s.Rows) == 0 {
		s.Text = append(s.Text, "Neither measured nor simulated.")
	}
	return s, len(s.Rows) > 0 || r.shows(e)
}

func (a place) String() string {
	if a.network.Rate == 0 {
		return "one host, " + a.transport
	}
	return a.network.String() + ", " + a.transport
}
