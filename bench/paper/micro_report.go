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
	title := map[micro.Op]string{micro.TCP: "TCP/IP", micro.Read: "RDMA Read", micro.Write: "RDMA Write"}[op]
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
	for _, row := range [][]report.Plot{r.microAsPaper(), r.microSimulated()} {
		if len(row) > 0 {
			s.Rows = append(s.Rows, row)
		}
	}
	return s, len(s.Rows) > 0
}

// microNetworks are the points, network by network, the host first, by line
// and bytes.
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
// and Write where they are one-sided, in shared memory.
func (r Report) microAsPaper() []report.Plot {
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
	if len(lines) < len(paperLooks) {
		return nil // Some were not measured.
	}
	return microPair("", "TCP/IP through 1 and 40 Gbit/s, RDMA over shm", false, lines)
}

// microSimulated is the paper's figure out of the file of simulated values.
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

// microClaims are what the paper says of figure 9, as ratios of medians.
func (r Report) microClaims() report.Table {
	const flat = 2 << 10 // "below 2 KB"
	t := report.Table{
		Caption: "What the paper says of figure 9, as ratios of median latencies: Write has the lowest, Read is" +
			" above it while requests are small; below 2 KB latency hardly depends on the size.",
		Head: []string{"network", "transport", "at bytes", "Read by Write", "TCP/IP by Read",
			"2 KiB by that, TCP/IP", "Read", "Write"},
	}
	for _, points := range r.microNetworks() {
		least := slices.MinFunc(points, func(a, b MicroPoint) int { return a.Row.Bytes - b.Row.Bytes }).Row.Bytes
		n := points[0].Network
		p50 := func(op micro.Op, transport string, size int) float64 {
			return r.Micro[MicroCell{Network: n, Op: op, Transport: transport}.Key(size)].Row.P50Us
		}
		ratio := func(a, b float64) string {
			if a == 0 || b == 0 {
				return "not measured"
			}
			return fmt.Sprintf("%.2f", a/b)
		}
		var seen []string
		for _, p := range points {
			over := p.Row.Transport
			if p.Row.Op == micro.TCP || slices.Contains(seen, over) {
				continue
			}
			seen = append(seen, over)
			read, write, sockets := p50(micro.Read, over, least), p50(micro.Write, over, least), p50(micro.TCP, tcp.Name, least)
			t.Rows = append(t.Rows, []string{
				n.String(), over, fmt.Sprint(least), ratio(read, write), ratio(sockets, read),
				ratio(p50(micro.TCP, tcp.Name, flat), sockets), ratio(p50(micro.Read, over, flat), read),
				ratio(p50(micro.Write, over, flat), write),
			})
		}
	}
	return t
}
