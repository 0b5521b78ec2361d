package paper

import (
	"fmt"
	"maps"
	"slices"

	"github.com/catfish-index/catfish/bench/micro"
)

// microView is where claims about figure 9 are looked up: latencies in us, by
// op and bytes; 0 if there is none.
type microView func(op micro.Op, size int) float64

// flatUntil is where the paper's curves bend: "below 2 KB".
const flatUntil = 2 << 10

// microClaims are the text's claims about figure 9, judged by medians. The
// text in brackets says how words are judged.
var microClaims = []struct {
	text  string
	judge func(us microView, least int) (Verdict, bool)
}{
	{"RDMA Write has the lowest latency.", func(us microView, least int) (Verdict, bool) {
		t, r, w := us(micro.TCP, least), us(micro.Read, least), us(micro.Write, least)
		return Verdict{under(w, min(r, t)), fmt.Sprintf("%.3g us, Read %.3g, TCP/IP %.3g at %d bytes", w, r, t, least)}, t > 0 && r > 0 && w > 0
	}},
	{"RDMA Read has the higher one of both while requests are small.", func(us microView, least int) (Verdict, bool) {
		r, w := us(micro.Read, least), us(micro.Write, least)
		return Verdict{under(w, r), fmt.Sprintf("%.3g and %.3g us at %d bytes", r, w, least)}, r > 0 && w > 0
	}},
	{"TCP/IP has the highest latency.", func(us microView, least int) (Verdict, bool) {
		t, r, w := us(micro.TCP, least), us(micro.Read, least), us(micro.Write, least)
		return Verdict{under(max(r, w), t), fmt.Sprintf("%.3g us, Read %.3g, Write %.3g at %d bytes", t, r, w, least)}, t > 0 && r > 0 && w > 0
	}},
	{"TCP/IP has the lowest throughput, RDMA the highest (both ways, at 8 MiB).", func(us microView, _ int) (Verdict, bool) {
		t, r, w := us(micro.TCP, micro.MaxBytes), us(micro.Read, micro.MaxBytes), us(micro.Write, micro.MaxBytes)
		mb := func(us float64) float64 { return micro.MaxBytes / us }
		return Verdict{under(max(r, w), t), fmt.Sprintf("%.4g MB/s, Read %.4g, Write %.4g", mb(t), mb(r), mb(w))}, t > 0 && r > 0 && w > 0
	}},
	{"Below 2 KB latency hardly depends on the size (less than twice).", func(us microView, least int) (Verdict, bool) {
		return microRatio(us, least, flatUntil, func(times float64) Outcome { return under(times, steady) })
	}},
	{"Large requests are bound by bandwidth (8 times the bytes take at least 4 times as long).", func(us microView, _ int) (Verdict, bool) {
		return microRatio(us, 1<<20, micro.MaxBytes, func(times float64) Outcome { return under(4, times) })
	}},
}

// microRatio judges how much longer the larger request takes, in all operations.
func microRatio(us microView, from, to int, judge func(times float64) Outcome) (Verdict, bool) {
	all, found := Verdict{Outcome: Held}, false
	for _, op := range []micro.Op{micro.TCP, micro.Read, micro.Write} {
		a, b := us(op, from), us(op, to)
		if a == 0 || b == 0 {
			continue
		}
		found = true
		all.Outcome = min(all.Outcome, judge(b/a))
		all.Why = join(all.Why, string(op), fmt.Sprintf("%.3g times", b/a))
	}
	return all, found
}

// microColumn is a network and a transport of points of figure 9.
type microColumn struct {
	network   Network
	transport string
	least     int // bytes
	us        microView
}

func (c microColumn) String() string { return c.network.Name + " over " + c.transport }

func microColumns(points map[string]MicroPoint) []microColumn {
	var all []microColumn
	for _, p := range (Report{Micro: points}).microNetworks() {
		n := p[0].Network
		least := slices.MinFunc(p, func(a, b MicroPoint) int { return a.Row.Bytes - b.Row.Bytes }).Row.Bytes
		var seen []string
		for _, q := range p {
			over := q.Row.Transport
			if q.Row.Op == micro.TCP || slices.Contains(seen, over) {
				continue
			}
			seen = append(seen, over)
			all = append(all, microColumn{n, over, least, func(op micro.Op, size int) float64 {
				by := over
				if op == micro.TCP {
					by = tcp.Name
				}
				return points[MicroCell{Network: n, Op: op, Transport: by}.Key(size)].Row.P50Us
			}})
		}
	}
	return all
}

// microSimulatedView is a view of the file of simulated values, TCP over 1 Gbit/s.
func microSimulatedView(rows []Simulated) (us microView, least int, ok bool) {
	found := map[micro.Op]map[int]float64{}
	for _, r := range rows {
		op := micro.Op(r.Series)
		if r.Series == tcp1G {
			op = micro.TCP
		}
		if r.Figure != "9" || r.Metric != MeanUs || !slices.Contains(micro.Ops, op) {
			continue
		}
		if found[op] == nil {
			found[op] = map[int]float64{}
		}
		found[op][int(r.X)] = r.Value
	}
	if len(found[micro.Read]) == 0 {
		return nil, 0, false
	}
	least = slices.Min(slices.Collect(maps.Keys(found[micro.Read])))
	return func(op micro.Op, size int) float64 { return found[op][size] }, least, true
}

// JudgeMicro returns a line for each claim about figure 9 that can be judged,
// for each network and transport of the points.
func JudgeMicro(points map[string]MicroPoint) []string {
	var lines []string
	for _, c := range microColumns(points) {
		for _, claim := range microClaims {
			if v, ok := claim.judge(c.us, c.least); ok {
				lines = append(lines, fmt.Sprintf("%s, figure 9: %s %s", c, claim.text, v))
			}
		}
	}
	return lines
}
