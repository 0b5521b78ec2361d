package paper

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/bench/micro"
	"github.com/catfish-index/catfish/bench/report"
)

// microLook is a line's name in the plots of figure 9, and in the table of
// looks.
type microLook struct{ name, series string }

// microLine names a line. The paper's own figure has one transport for Read
// and Write.
func microLine(op micro.Op, transport string) microLook {
	title := map[micro.Op]string{micro.TCP: "TCP/IP", micro.Read: "RDMA Read", micro.Write: "RDMA Write",
		micro.OneWay: "RDMA Write one way"}[op]
	if op == micro.TCP {
		return microLook{title, tcp.Name}
	}
	series := string(op)
	if transport == "ofi" {
		series += "-ofi"
	}
	return microLook{title + ", " + transport, series}
}

// microSection is figure 9.
func (r Report) microSection(e *Experiment) report.Section {
	s := report.Section{
		Heading: fmt.Sprintf("Figure %s: %s", strings.Join(e.Figures, " and "), e.Title),
		Text:    []string{"Assumed: " + e.Assumed},
	}
	if len(r.Micro) == 0 {
		s.Text = append(s.Text, "No point of this figure was measured.")
	} else {
		s.Text = append(s.Text, fmt.Sprintf("Each size was measured for %v.", microDuration(r.Settings))+
			" One request was outstanding; its latency is the time from one completion to the"+
			" next, its throughput the bytes of requests per second. A token bucket limits the rate of a network,"+
			" but adds no time to a packet that finds it full, as the wire of a card of that rate would. All"+
			" requests move the same bytes, so over shared memory small ones come from a processor's caches.")
	}
	for _, points := range r.microNetworks() {
		s.Plots = append(s.Plots, microPlots(points)...)
		s.Tables = append(s.Tables, microTable(points))
	}
	if t := r.microClaims(); len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	return s
}

// microFigure is figure 9 as the paper draws it, measured and simulated.
func (r Report) microFigure() (s report.Section, ok bool) {
	s.Heading = "Figure 9: Latency and throughput of one request"
	measured, missing := r.microAsPaper()
	for _, row := range [][]report.Plot{measured, r.microSimulated()} {
		if len(row) > 0 {
			s.Rows = append(s.Rows, row)
		}
	}
	if len(measured) > 0 && len(missing) > 0 {
		s.Text = []string{"Not measured: " + strings.Join(missing, ", ") + "."}
	}
	if len(s.Rows) == 0 {
		s.Text = []string{"Neither measured nor simulated."}
	}
	return s, len(s.Rows) > 0 || r.shows(experimentNamed(microName))
}

// microNetworks returns the points, network by network, the host first, by
// line and bytes.
func (r Report) microNetworks() [][]MicroPoint {
	all := slices.SortedFunc(maps.Values(r.Micro), func(a, b MicroPoint) int {
		return cmp.Or(cmp.Compare(a.Network.Rate, b.Network.Rate), strings.Compare(a.Network.Name, b.Network.Name),
			slices.Index(micro.Ops, a.Row.Op)-slices.Index(micro.Ops, b.Row.Op),
			strings.Compare(a.Row.Transport, b.Row.Transport), a.Row.Bytes-b.Row.Bytes)
	})
	var networks [][]MicroPoint
	for _, p := range all {
		if n := len(networks); n > 0 && networks[n-1][0].Network == p.Network {
			networks[n-1] = append(networks[n-1], p)
		} else {
			networks = append(networks, []MicroPoint{p})
		}
	}
	return networks
}

// microPair is the two plots of figure 9: latency and throughput over the
// bytes of a request. Lines hold bytes and mean us.
func microPair(name, where string, simulated bool, lines []report.Line) []report.Plot {
	plot := func(kind, what, unit string, value func(bytes, us float64) float64) report.Plot {
		p := report.Plot{
			Name: "figure-9-" + name + kind, Title: what + " of one request, " + where, Simulated: simulated,
			X: "bytes", Y: unit, LogX: true, LogY: true,
		}
		for _, l := range lines {
			points := make([][2]float64, len(l.Points))
			for i, q := range l.Points {
				points[i] = [2]float64{q[0], value(q[0], q[1])}
			}
			l.Points = points
			p.Lines = append(p.Lines, l)
		}
		return p
	}
	return []report.Plot{
		plot("latency", "Mean latency", "us", func(_, us float64) float64 { return us }),
		plot("throughput", "Throughput", "MB/s", func(bytes, us float64) float64 { return bytes / us }),
	}
}

// microLines has one line for each operation and transport of points.
func microLines(points []MicroPoint, look func(MicroPoint) (microLook, bool)) []report.Line {
	var lines []report.Line
	for _, p := range points {
		l, ok := look(p)
		if !ok {
			continue
		}
		i := slices.IndexFunc(lines, func(have report.Line) bool { return have.Name == l.name })
		if i < 0 {
			i = len(lines)
			lines = append(lines, report.Line{Name: l.name, Series: l.series})
		}
		lines[i].Points = append(lines[i].Points, [2]float64{float64(p.Row.Bytes), p.Row.MeanUs})
	}
	return lines
}

func microPlots(points []MicroPoint) []report.Plot {
	n := points[0].Network
	return microPair(n.Name+"-", n.String(), false, microLines(points, func(p MicroPoint) (microLook, bool) {
		return microLine(p.Row.Op, p.Row.Transport), true
	}))
}

// paperLooks are the four lines of the paper's figure 9.
var paperLooks = map[string]microLook{
	tcp1G: {"TCP/IP-1G", tcp.Name}, tcp40.Name: {"TCP/IP-40G", tcp40.Name},
	"read": {"RDMA Read", "read"}, "write": {"RDMA Write", "write"},
}

// microAsPaper is the paper's figure: sockets through 1 and 40 Gbit/s, Read
// and Write where they are one-sided, in shared memory. It also names the lines
// that were not measured.
func (r Report) microAsPaper() (plots []report.Plot, missing []string) {
	var lines []report.Line
	for _, points := range r.microNetworks() {
		lines = append(lines, microLines(points, func(p MicroPoint) (microLook, bool) {
			key := ""
			switch {
			case p.Row.Op == micro.TCP && p.Network.Rate > 0:
				key = "tcp-" + p.Network.Name
			case p.Row.Op != micro.TCP && p.Network.Rate == 0:
				key = string(p.Row.Op)
			}
			l, ok := paperLooks[key]
			return l, ok
		})...)
	}
	for _, s := range microSeries {
		if name := paperLooks[s.name].name; !slices.ContainsFunc(lines, func(l report.Line) bool { return l.Name == name }) {
			missing = append(missing, name)
		}
	}
	if len(lines) == 0 {
		return nil, missing
	}
	return microPair("", "TCP/IP through 1 and 40 Gbit/s, RDMA over shm", false, lines), missing
}

// microSimulated is the paper's figure from the file of simulated values.
func (r Report) microSimulated() []report.Plot {
	var lines []report.Line
	for _, row := range r.Simulated {
		l, ok := paperLooks[row.Series]
		if row.Figure != "9" || row.Metric != MeanUs || !ok {
			continue
		}
		i := slices.IndexFunc(lines, func(have report.Line) bool { return have.Name == l.name })
		if i < 0 {
			i = len(lines)
			lines = append(lines, report.Line{Name: l.name, Series: l.series})
		}
		lines[i].Points = append(lines[i].Points, [2]float64{row.X, row.Value})
	}
	if len(lines) == 0 {
		return nil
	}
	return microPair("", "without load", true, lines)
}

// microTable has all figures of a network.
func microTable(points []MicroPoint) report.Table {
	t := report.Table{
		Caption: "Rows, " + points[0].Network.String(),
		Head: []string{"operation", "transport", "bytes", "requests", "mean us", "p50", "p99",
			"requests/s", "MB/s", "limited by"},
	}
	for _, p := range points {
		r := p.Row
		t.Rows = append(t.Rows, []string{
			string(r.Op), r.Transport, fmt.Sprint(r.Bytes), fmt.Sprint(r.Count), fmt.Sprintf("%.2f", r.MeanUs),
			fmt.Sprintf("%.2f", r.P50Us), fmt.Sprintf("%.2f", r.P99Us), fmt.Sprintf("%.0f", r.OpsPerS),
			fmt.Sprintf("%.4g", r.MBPerS), LimitOfMicro(p).String(),
		})
	}
	return t
}

// microClaims is the table of the paper's claims about figure 9.
func (r Report) microClaims() report.Table {
	columns := microColumns(r.Micro)
	t := report.Table{Caption: "What the text claims of figure 9, by median latencies", Head: []string{"claim", "simulated"}}
	for _, c := range columns {
		t.Head = append(t.Head, "real, "+c.String())
	}
	simulated, least, found := microSimulatedView(r.Simulated)
	for _, claim := range microClaims {
		row := []string{claim.text, ""}
		if found {
			if v, ok := claim.judge(simulated, least); ok {
				row[1] = v.String()
			}
		}
		for _, c := range columns {
			said := notMeasured
			if v, ok := claim.judge(c.us, c.least); ok {
				said = v.String()
			}
			row = append(row, said)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
