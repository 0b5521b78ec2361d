package paper

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/report"
	library "github.com/catfish-index/catfish/catfish"
)

// Every scheme, and every other name in plots, has a look of its own.
func TestLooks(t *testing.T) {
	series := append(library.Schemes()[1:], tcp40.Name, "tcp-10g", "limit", "server CPU", "bandwidth")
	for _, s := range series {
		if _, known := report.Rank(s); !known {
			t.Errorf("%s has no look: add one to bench/report/looks.go", s)
		}
	}
	for n, want := range map[string]string{"host": "tcp", "1g": "tcp", "40g": tcp40.Name, "100m": "tcp"} {
		g := group{network: Network{Name: n}}
		if got := g.look(tcp.Name); got != want {
			t.Errorf("tcp over %s looks like %s, want %s", n, got, want)
		}
		if got := g.look(fast.Name); got != fast.Name {
			t.Errorf("fast over %s looks like %s", n, got)
		}
	}
}

// The paper's values stand behind the lines of their series, and only in
// plots of their figure, panel and metric; the axis reaches them.
func TestPaperValuesInPlots(t *testing.T) {
	e := experimentNamed("search")
	g := Report{Points: points(
		point("search", "1e-5", "paper", 1, 100e3), point("search", "1e-5", "paper", 8, 200e3),
		point("search", "1e-5", "cost", 8, 300e3),
	)}.groups(e)[0]
	for _, p := range g.plots() {
		var papers []string
		for i, l := range p.Lines {
			if l.Paper {
				papers = append(papers, fmt.Sprint(l.Series, l.Points, p.Lines[i-1].Series))
			}
		}
		var want []string
		switch p.Y {
		case "Kops/s":
			want = []string{"paper[[256 1239.35]]paper"}
		case "us":
			want = []string{"paper[[256 140.73]]paper"}
		}
		if !slices.Equal(papers, want) {
			t.Errorf("%s: the paper's values are %q, want %q", p.Name, papers, want)
		}
		if want != nil && !slices.Equal(p.Ticks, []float64{1, 8, 256}) {
			t.Errorf("%s: ticks %v", p.Name, p.Ticks)
		}
		if p.Y == "Kops/s" && !slices.Equal(p.Lines[0].Points, [][2]float64{{1, 100}, {8, 200}}) {
			t.Errorf("%s: %v", p.Name, p.Lines[0].Points)
		}
	}
}

// in moves a point into a network.
func in(n Network, p Point) Point {
	p.Network = n
	p.Key = strings.Replace(p.Key, "/host/", "/"+n.Name+"/", 1)
	if p.Row.Transport == "shm" {
		p.Row.Transport = "soft"
		p.Key = strings.Replace(p.Key, "/shm/", "/soft/", 1)
	}
	return p
}

// lines are those of a plot in the report's figures.
func lines(t *testing.T, s report.Section, plot string) string {
	t.Helper()
	for _, part := range s.Parts {
		for _, row := range part.Rows {
			for _, p := range row {
				if p.Name != plot || p.Simulated != strings.Contains(t.Name(), "Simulated") {
					continue
				}
				var text []string
				for _, l := range p.Lines {
					name := l.Name
					if l.Paper {
						name += "*"
					}
					text = append(text, fmt.Sprint(name, l.Points))
				}
				return strings.Join(text, "; ")
			}
		}
	}
	return "none"
}

// Figures have the paper's series under its names: TCP of both Ethernets,
// FaRM's base lines and Catfish, at the place that stands for InfiniBand.
func TestFigures(t *testing.T) {
	gig, forty := Network{"1g", 1e9}, Network{"40g", 4e10}
	for _, c := range []struct {
		name, plot string
		points     []Point
		want       string
	}{
		{
			"all", "paper-figure-10-throughput-1e-5",
			[]Point{
				point("search", "1e-5", "tcp", 8, 1e3), in(gig, point("search", "1e-5", "tcp", 8, 2e3)),
				in(forty, point("search", "1e-5", "tcp", 8, 3e3)), point("search", "1e-5", "fast-polling", 8, 4e3),
				point("search", "1e-5", "fast", 8, 9e3), point("search", "1e-5", "offload-single", 8, 5e3),
				point("search", "1e-5", "paper", 8, 6e3), point("search", "1e-5", "paper", 1, 7e3),
				in(gig, point("search", "1e-5", "paper", 8, 9e3)), point("search", "1e-2", "paper", 8, 9e3),
			},
			"TCP/IP-1G[[8 2]]; TCP/IP-40G[[8 3]]; Fast messaging[[8 4]]; RDMA offloading[[8 5]];" +
				" Catfish[[1 7] [8 6]]; Catfish*[[256 1239.35]]",
		},
		{
			"no network", "paper-figure-13-latency-1e-5",
			[]Point{point("hybrid", "1e-5", "tcp", 8, 1e6), point("hybrid", "1e-5", "paper", 8, 4e6)},
			"TCP/IP, loopback[[8 8]]; Catfish[[8 2]]",
		},
		{
			"only networks", "paper-figure-14-throughput-rea02",
			[]Point{in(gig, point("rea02", "rea02", "paper", 8, 1e3)), in(forty, point("rea02", "rea02", "paper", 8, 2e3))},
			"Catfish[[8 2]]",
		},
		{
			"events", "paper-figure-7-latency-1e-5",
			[]Point{point("events", "1e-5", "fast", 8, 8e6), point("events", "1e-5", "fast-polling", 8, 4e6)},
			"Polling-based[[8 2]]; Polling-based*[[80 203.96] [320 3712.35]]; Event-based[[8 1]];" +
				" Event-based*[[80 152.5] [320 680.47]]",
		},
		{
			"one client", "paper-figure-8-latency-scales",
			[]Point{
				point("multi-issue", "1e-2", "offload", 1, 1e6), point("multi-issue", "1e-5", "offload", 1, 5e5),
				point("multi-issue", "1e-2", "offload", 8, 1e6), point("multi-issue", "1e-2", "offload-single", 1, 2.5e5),
				point("multi-issue", "1e-5", "offload-single", 8, 1e6),
			},
			"Single-issue[[0.01 4]]; Multi-issue[[1e-05 2] [0.01 1]]",
		},
		{
			"utilisation", "paper-figure-2-1e-2",
			[]Point{
				point("motivation", "1e-2", "tcp", 8, 1e3), in(forty, point("motivation", "1e-2", "tcp", 8, 1e3)),
				busy(in(gig, point("motivation", "1e-2", "tcp", 8, 1e3))),
			},
			"CPU utilization[[8 50]]; Bandwidth[[8 80]]",
		},
		{"nothing", "paper-figure-10-throughput-1e-5", nil, "none"},
	} {
		if got := lines(t, Report{Points: points(c.points...)}.figures(), c.plot); got != c.want {
			t.Errorf("%s: %s has\n%s, want\n%s", c.name, c.plot, got, c.want)
		}
	}
}

// busy sends 100 MB/s.
func busy(p Point) Point {
	p.Row.NetOut = 1e8
	return p
}

// Simulated curves are drawn in plots of their own; a single value is no
// curve.
func TestFiguresSimulated(t *testing.T) {
	r := Report{Simulated: []Simulated{
		{Figure: "10", Series: "1e-5/paper", X: 256, Metric: KopsS, Value: 2},
		{Figure: "10", Series: "1e-5/tcp-40g", X: 64, Metric: KopsS, Value: 3},
		{Figure: "10", Series: "1e-5/paper", X: 32, Metric: KopsS, Value: 1},
		{Figure: "10", Series: "1e-5/paper/fast", X: 64, Metric: Times, Value: 9},
		{Figure: "10", Series: "1e-2/paper", X: 256, Metric: KopsS, Value: 9},
		{Figure: "8", Series: "1e-2/offload", X: 1, Metric: MeanUs, Value: 4},
		{Figure: "8", Series: "1e-2/offload", X: 8, Metric: MeanUs, Value: 9},
	}}
	for plot, want := range map[string]string{
		"paper-figure-10-throughput-1e-5": "TCP/IP-40G[[64 3]]; Catfish[[32 1] [256 2]]; Catfish*[[256 1239.35]]",
		"paper-figure-10-throughput-1e-2": "none",
		"paper-figure-8-latency-scales":   "Multi-issue[[0.01 4]]",
	} {
		if got := lines(t, r.figures(), plot); got != want {
			t.Errorf("%s has\n%s, want\n%s", plot, got, want)
		}
	}
}

// The report names requested but missing figures, and every figure has its part.
func TestFiguresMissing(t *testing.T) {
	s := Report{Experiments: Experiments}.figures()
	if want := 2 + len(figures); len(s.Parts) != want {
		t.Errorf("%d parts, want %d", len(s.Parts), want)
	}
	for _, part := range s.Parts {
		if len(part.Rows) > 0 || !strings.Contains(strings.ToLower(fmt.Sprint(part.Text)), "measured") {
			t.Errorf("%s: %d rows, says %q", part.Heading, len(part.Rows), part.Text)
		}
	}
	s = Report{Points: points(point("search", "1e-5", "paper", 8, 1e3))}.figures()
	if len(s.Parts) != 2 || !strings.Contains(fmt.Sprint(s.Parts[0].Text), "Fast messaging, RDMA offloading") {
		t.Errorf("parts %+v", s.Parts)
	}
}

// Axes are logarithmic where an axis from zero would show nothing.
func TestAxes(t *testing.T) {
	for _, c := range []struct {
		tcp, paper          float64 // ops/s of one client
		throughput, latency bool    // logarithmic
	}{
		{100e3, 900e3, false, true}, // the paper's 140 us and ours
		{10e3, 10e3, true, false},   // the paper's 1,239 Kops/s and ours
	} {
		s := Report{Points: points(
			point("search", "1e-5", "tcp", 1, c.tcp), point("search", "1e-5", "paper", 1, c.paper),
		)}.figures()
		for i, want := range []bool{c.throughput, c.latency} {
			if p := s.Parts[i].Rows[0][0]; p.LogY != want {
				t.Errorf("%s, %v: logarithmic %v", p.Name, c, p.LogY)
			}
		}
	}
}
