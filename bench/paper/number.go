package paper

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Metric says what a Number is of.
type Metric string

// Metrics. A ratio compares the series with Against at each number of
// clients; Catfish "up to 3.28 times" is the largest.
const (
	MeanUs Metric = "mean_us"
	KopsS  Metric = "kops_per_s"
	Times  Metric = "times" // throughput by Against's, the largest
	Saves  Metric = "saves" // latency below Against's, percent, the mean
)

// Number is a figure that the paper prints.
type Number struct {
	Figure     string
	Experiment string
	Panel      string // empty: the best of all
	Series     string
	Against    string // of Times and Saves
	X          int    // clients; 0: all
	Metric     Metric
	Value      float64
	Guess      string // what of this row the paper's text leaves open
}

// Name identifies a number in files of simulated values: PANEL/SERIES,
// ANY for all panels, and what it is compared with.
func (n Number) Name() string {
	panel := n.Panel
	if panel == "" {
		panel = "any"
	}
	name := panel + "/" + n.Series
	if n.Against != "" {
		name += "/" + n.Against
	}
	return name
}

// Numbers that the paper prints about its figures.
var Numbers = []Number{
	{"7", "events", "1e-5", "fast-polling", "", 80, MeanUs, 203.96, ""},
	{"7", "events", "1e-5", "fast-polling", "", 320, MeanUs, 3712.35, ""},
	{"7", "events", "1e-5", "fast", "", 80, MeanUs, 152.50, ""},
	{"7", "events", "1e-5", "fast", "", 320, MeanUs, 680.47, ""},
	{"8", "multi-issue", "1e-2", "offload", "offload-single", 0, Saves, 15.13, "clients: the mean of all"},
	{"10", "search", "1e-5", "paper", "", 256, KopsS, 1239.35, ""},
	{"10", "search", "1e-2", "paper", "", 256, KopsS, 779.89, ""},
	{"10", "search", "power", "paper", "", 256, KopsS, 1124.84, ""},
	{"10", "search", "", "paper", "fast", 0, Times, 3.28, ""},
	{"10", "search", "", "paper", "offload", 0, Times, 3.09, ""},
	{"10", "search", "", "paper", "tcp", 0, Times, 16.46, "which Ethernet"},
	{"11", "search", "1e-5", "paper", "", 256, MeanUs, 140.73, ""},
	{"11", "search", "1e-2", "paper", "", 256, MeanUs, 180.66, ""},
	{"11", "search", "power", "paper", "", 256, MeanUs, 161.58, ""},
	{"11", "search", "1e-5", "fast", "", 256, MeanUs, 299.10, ""},
	{"11", "search", "1e-2", "fast", "", 256, MeanUs, 321.52, ""},
	{"11", "search", "power", "fast", "", 256, MeanUs, 302.91, ""},
	{"12", "hybrid", "", "paper", "fast", 0, Times, 3.3, "order of the three factors"},
	{"12", "hybrid", "", "paper", "offload", 0, Times, 13.67, "order of the three factors"},
	{"12", "hybrid", "", "paper", "tcp", 0, Times, 14.22, "order of the three factors"},
	{"14", "rea02", "rea02", "paper", "fast", 0, Times, 2.23, "order of the three factors"},
	{"14", "rea02", "rea02", "paper", "offload", 0, Times, 4.28, "order of the three factors"},
	{"14", "rea02", "rea02", "paper", "tcp", 0, Times, 27.25, "order of the three factors"},
}

// What says the number in words.
func (n Number) What() string {
	panel := n.Panel
	if panel == "" {
		panel = "any scale"
	}
	at := ""
	if n.X > 0 {
		at = ", " + clients(n.X)
	}
	switch n.Metric {
	case Times:
		return fmt.Sprintf("%s: %s, times %s, at most%s", panel, titleOf(n.Series), titleOf(n.Against), at)
	case Saves:
		return fmt.Sprintf("%s: %s, latency below %s%s, %%", panel, titleOf(n.Series), titleOf(n.Against), at)
	case KopsS:
		return fmt.Sprintf("%s: %s%s, Kops/s", panel, titleOf(n.Series), at)
	case MeanUs:
		return fmt.Sprintf("%s: %s%s, mean us", panel, titleOf(n.Series), at)
	}
	return string(n.Metric)
}

// Ours is a number's counterpart in our points.
type Ours struct {
	Value float64
	Panel string // where the best of all panels was found
	X     int    // clients
}

func (o Ours) String() string {
	s := fmt.Sprintf("%.4g (%s", o.Value, clients(o.X))
	if o.Panel != "" {
		s += ", " + o.Panel
	}
	return s + ")"
}

func clients(n int) string {
	if n == 1 {
		return "1 client"
	}
	return fmt.Sprintf("%d clients", n)
}

// Find computes the counterpart of a number over one network and
// transport. Where the paper has more clients than we ran, our largest
// number stands in, and is named.
func (n Number) Find(points []Point, network, transport string) (Ours, bool) {
	type at struct {
		panel string
		x     int
	}
	own, other := map[at]Point{}, map[at]Point{}
	for _, p := range points {
		if p.Experiment != n.Experiment || p.Network.Name != network ||
			n.Panel != "" && p.Panel != n.Panel ||
			p.Series != tcp.Name && p.Row.Transport != transport {
			continue
		}
		where := at{p.Panel, p.Row.Clients}
		if p.Series == n.Series {
			own[where] = p
		}
		if p.Series == n.Against {
			other[where] = p
		}
	}
	// In a fixed order, so that equals always give the same answer.
	order := slices.SortedFunc(maps.Keys(own), func(a, b at) int {
		return cmp.Or(cmp.Compare(a.x, b.x), strings.Compare(a.panel, b.panel))
	})
	var best Ours
	found := 0
	for _, where := range order {
		p := own[where]
		o := Ours{X: where.x}
		if n.Panel == "" {
			o.Panel = where.panel
		}
		switch n.Metric {
		case MeanUs, KopsS:
			if n.X > 0 && where.x > n.X {
				continue
			}
			if o.Value = p.Row.MeanUs; n.Metric == KopsS {
				o.Value = p.Row.OpsPerS / 1e3
			}
			best = o // The largest number of clients, for order ascends.
		case Times, Saves:
			q, ok := other[where]
			if !ok || q.Row.OpsPerS == 0 || q.Row.MeanUs == 0 {
				continue
			}
			if n.Metric == Saves { // The mean over clients, as a running one.
				v := 100 * (1 - p.Row.MeanUs/q.Row.MeanUs)
				o.Value = best.Value + (v-best.Value)/float64(found+1)
				best = o
			} else if o.Value = p.Row.OpsPerS / q.Row.OpsPerS; o.Value > best.Value {
				best = o
			}
		}
		found++
	}
	return best, found > 0
}
