package paper

import (
	"fmt"
	"slices"
)

// Metric is the quantity of a Number.
type Metric string

// Metrics. A ratio compares the series with Against at each number of
// clients; Catfish "up to 3.28 times" is the largest, over all panels if the
// number names none.
const (
	MeanUs    Metric = "mean_us"
	KopsS     Metric = "kops_per_s"
	Times     Metric = "times"           // throughput / Against's
	Faster    Metric = "latency_times"   // Against's mean latency / the series'
	Saves     Metric = "saves"           // mean latency below Against's, percent
	Grows     Metric = "latency_growth"  // mean latency of X clients / that of X/4
	CPUAtFull Metric = "cpu_at_full_net" // server CPU while the network is full, percent
	NetAtBusy Metric = "net_at_full_cpu" // network used while the server's CPU is full, percent
	Holds     Metric = "holds"           // of a Claim: 1 or 0
	CPUShare  Metric = "cpu"             // of the server, percent; of figure 2's curves
	NetShare  Metric = "network"         // the same of the network
)

var metrics = []Metric{MeanUs, KopsS, Times, Faster, Saves, Grows, CPUAtFull, NetAtBusy, Holds, CPUShare, NetShare}

// Number is a figure that the paper prints.
type Number struct {
	Figure     string
	Experiment string
	Panel      string // empty: the best of all
	Series     string
	Against    string // of Times, Faster and Saves
	X          int    // clients; 0: all
	Metric     Metric
	Value      float64
	Guess      string // what the paper's text leaves open about this row
}

// Name identifies a number in files of simulated values: PANEL/SERIES, ANY for
// all panels, and the series to compare with.
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

const (
	ethernet = "which Ethernet"
	neither  = "how it goes with figure 7: of 256 clients, neither of its curves has it"
)

// Numbers that the paper prints about its figures. Its base lines, fast
// messaging and offloading, are FaRM's (section V): polling, and one read at a
// time.
var Numbers = []Number{
	{"2", "motivation", "1e-2", "tcp", "", 0, CPUAtFull, 28, ""},
	{"2", "motivation", "1e-5", "tcp", "", 0, NetAtBusy, 65.8, ""},
	{"7", "events", "1e-5", "fast-polling", "", 80, MeanUs, 203.96, ""},
	{"7", "events", "1e-5", "fast-polling", "", 320, MeanUs, 3712.35, ""},
	{"7", "events", "1e-5", "fast-polling", "", 320, Grows, 18.2, "derived of the two above"},
	{"7", "events", "1e-5", "fast", "", 80, MeanUs, 152.50, ""},
	{"7", "events", "1e-5", "fast", "", 320, MeanUs, 680.47, ""},
	{"8", "multi-issue", "1e-2", "offload", "offload-single", 1, Saves, 15.13, ""},
	{"10", "search", "1e-5", "paper", "", 256, KopsS, 1239.35, ""},
	{"10", "search", "1e-2", "paper", "", 256, KopsS, 779.89, ""},
	{"10", "search", "power", "paper", "", 256, KopsS, 1124.84, ""},
	{"10", "search", "", "paper", "fast-polling", 0, Times, 3.28, ""},
	{"10", "search", "", "paper", "offload-single", 0, Times, 3.09, ""},
	{"10", "search", "", "paper", "tcp", 0, Times, 16.46, ethernet},
	{"11", "search", "1e-5", "paper", "", 256, MeanUs, 140.73, ""},
	{"11", "search", "1e-2", "paper", "", 256, MeanUs, 180.66, ""},
	{"11", "search", "power", "paper", "", 256, MeanUs, 161.58, ""},
	{"11", "search", "1e-5", "fast-polling", "", 256, MeanUs, 299.10, neither},
	{"11", "search", "1e-2", "fast-polling", "", 256, MeanUs, 321.52, neither},
	{"11", "search", "power", "fast-polling", "", 256, MeanUs, 302.91, neither},
	{"11", "search", "", "paper", "fast-polling", 0, Faster, 3.25, ""},
	{"11", "search", "", "paper", "offload-single", 0, Faster, 3.07, ""},
	{"11", "search", "", "paper", "tcp", 0, Faster, 24.46, ethernet},
	{"12", "hybrid", "", "paper", "fast-polling", 0, Times, 3.3, ""},
	{"12", "hybrid", "", "paper", "offload-single", 0, Times, 13.67, ""},
	{"12", "hybrid", "", "paper", "tcp", 0, Times, 14.22, ethernet},
	{"13", "hybrid", "", "paper", "fast-polling", 0, Faster, 7.55, ""},
	{"13", "hybrid", "", "paper", "offload-single", 0, Faster, 1.90, ""},
	{"13", "hybrid", "", "paper", "tcp", 0, Faster, 58.09, ethernet},
	{"14", "rea02", "rea02", "paper", "fast-polling", 0, Times, 2.23, ""},
	{"14", "rea02", "rea02", "paper", "offload-single", 0, Times, 4.28, ""},
	{"14", "rea02", "rea02", "paper", "tcp", 0, Times, 27.25, ethernet},
	{"14", "rea02", "rea02", "paper", "fast-polling", 0, Faster, 2.32, ""},
	{"14", "rea02", "rea02", "paper", "offload-single", 0, Faster, 3.47, ""},
	{"14", "rea02", "rea02", "paper", "tcp", 0, Faster, 56.09, ethernet},
}

// Stronger are the paper's numbers of base lines, for stronger ones that it
// lacks: event-driven fast messaging, and offloading with all reads at once.
// The values are the paper's, of its own base lines.
func Stronger() []Number {
	stronger := map[string]string{polling.Name: fast.Name, single.Name: offload.Name}
	var s []Number
	for _, n := range Numbers {
		switch {
		case n.Experiment == "events" || n.Experiment == "multi-issue":
			continue
		case stronger[n.Against] != "":
			n.Against = stronger[n.Against]
		case stronger[n.Series] != "":
			n.Series = stronger[n.Series]
		default:
			continue
		}
		s = append(s, n)
	}
	return s
}

// What describes the number in words.
func (n Number) What() string {
	panel := n.Panel
	if panel == "" {
		panel = "any scale"
	}
	at := ""
	if n.X > 0 {
		at = ", " + clients(n.X)
	}
	own, other := titleOf(n.Series), titleOf(n.Against)
	switch n.Metric {
	case Times:
		return fmt.Sprintf("%s: %s, times %s, at most%s", panel, own, other, at)
	case Faster:
		return fmt.Sprintf("%s: %s, latency of %s by its own, at most%s", panel, own, other, at)
	case Saves:
		return fmt.Sprintf("%s: %s, latency below %s%s, %%", panel, own, other, at)
	case Grows:
		return fmt.Sprintf("%s: %s, mean latency of %s by that of a quarter", panel, own, clients(n.X))
	case CPUAtFull:
		return fmt.Sprintf("%s: %s, server CPU when the network is full, %%", panel, own)
	case NetAtBusy:
		return fmt.Sprintf("%s: %s, network used when the server CPU is full, %%", panel, own)
	case KopsS:
		return fmt.Sprintf("%s: %s%s, Kops/s", panel, own, at)
	case MeanUs:
		return fmt.Sprintf("%s: %s%s, mean us", panel, own, at)
	}
	return string(n.Metric)
}

// Ours is a number's counterpart in our points.
type Ours struct {
	Value float64
	Panel string // of the best value of all panels
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

// Find computes the counterpart of a number. If the paper has more clients
// than our runs, our largest number replaces it, and is named.
func (n Number) Find(v View) (best Ours, found bool) {
	panels := []string{n.Panel}
	if n.Panel == "" {
		panels = panels[:0]
		for _, p := range experimentNamed(n.Experiment).Panels {
			panels = append(panels, p.Name)
		}
	}
	most := v.Stands(n.Experiment, n.X)
	for _, panel := range panels {
		for _, x := range v.Clients(n.Experiment) {
			if n.X > 0 && x > most {
				continue
			}
			value, ok := n.at(v, panel, x)
			if !ok {
				continue
			}
			// Of a number of clients the nearest counts, otherwise the most.
			if !found || n.X > 0 && x > best.X || n.X == 0 && value > best.Value {
				best = Ours{Value: value, X: x}
				if n.Panel == "" {
					best.Panel = panel
				}
			}
			found = true
		}
	}
	return best, found
}

// at is the number at one panel and number of clients.
func (n Number) at(v View, panel string, x int) (float64, bool) {
	own, ok := v.At(n.Experiment, panel, n.Series, x)
	if !ok || own.Kops == 0 || own.MeanUs == 0 {
		return 0, false
	}
	var other Value
	switch n.Metric {
	case Times, Faster, Saves:
		other, ok = v.At(n.Experiment, panel, n.Against, x)
	case Grows:
		if other, ok = v.At(n.Experiment, panel, n.Series, x/4); x%4 != 0 {
			return 0, false
		}
	case CPUAtFull:
		ok = own.Net >= saturated
	case NetAtBusy:
		ok = own.Net >= 0 && own.CPU >= saturated
	}
	if !ok {
		return 0, false
	}
	switch n.Metric {
	case MeanUs:
		return own.MeanUs, true
	case KopsS:
		return own.Kops, true
	case Times:
		return own.Kops / other.Kops, other.Kops > 0
	case Faster:
		return other.MeanUs / own.MeanUs, true
	case Saves:
		return 100 * (1 - own.MeanUs/other.MeanUs), other.MeanUs > 0
	case Grows:
		return own.MeanUs / other.MeanUs, other.MeanUs > 0
	case CPUAtFull:
		return 100 * own.CPU, true
	case NetAtBusy:
		return 100 * own.Net, true
	}
	return 0, false
}

func experimentNamed(name string) *Experiment {
	i := slices.IndexFunc(Experiments, func(e Experiment) bool { return e.Name == name })
	return &Experiments[i]
}
