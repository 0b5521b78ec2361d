package paper

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/bench"
)

// ErrFigure is wrapped for an unknown figure.
var ErrFigure = errors.New("no such figure")

// Experiment is a set of runs that one or two figures of the paper show.
type Experiment struct {
	Name    string   // part of each point's key
	Figures []string // numbers in the paper
	Title   string
	Assumed string // what the paper leaves open, or we know too little of
	Panels  []Panel
	Series  []Series
	// PerConnection: the server has a worker for each connection, like the
	// paper's threads.
	PerConnection bool
	Paper         []int // numbers of clients in the paper; those between its ends are assumed
	Clients       []int // and here, unless others are requested
}

// Panel is one workload: a sub-figure.
type Panel struct {
	Name    string // part of each point's key
	Title   string
	Dataset string // of package datasets; rea02: the one in Settings
	Scale   string // of queries; empty: the file in Settings
	Mix     bench.Mix
}

// Series is one line.
type Series struct {
	Name   string // of the scheme, as in bench.Row
	Title  string
	Scheme string // that is run, if another one has Name's place in the figures
}

func (s Series) scheme() string { return cmp.Or(s.Scheme, s.Name) }

// rea02 stands for the street segments, real or similar.
const rea02 = "rea02"

var (
	searches = bench.SearchOnly
	// inserts is the paper's hybrid workload.
	inserts = bench.Mix{bench.Search: 90, bench.Insert: 10}

	tcp     = Series{Name: "tcp", Title: "TCP/IP"}
	polling = Series{Name: "fast-polling", Title: "fast messaging, polling"}
	fast    = Series{Name: "fast", Title: "fast messaging, event-driven"}
	single  = Series{Name: "offload-single", Title: "offloading, single-issue"}
	offload = Series{Name: "offload", Title: "offloading, multi-issue"}
	catfish = Series{Name: "paper", Title: "Catfish (Algorithm 1)"}
	cached  = Series{Name: "offload-cached", Title: "offloading, cached nodes (not in the paper)"}
	cost    = Series{Name: "cost", Title: "policy cost (not in the paper)"}

	// all are the schemes that the paper compares in figures 10 to 14: its
	// base lines, of which "fast messaging" and "RDMA offloading" are FaRM's
	// (section V), and Catfish. Then Catfish's own two paths alone, which are
	// stronger base lines, and schemes newer than the paper.
	all = []Series{tcp, polling, single, catfish, fast, offload, cached, cost}

	// Section V-A: 4 to 32 clients on each of 8 nodes.
	toSaturation = []int{32, 64, 128, 256}
	here         = []int{1, 2, 4, 8, 16, 32, 64}
)

// panels of the paper's scales (section V-A). Data sets are uniform.
func panels(mix bench.Mix, scales ...string) []Panel {
	titles := map[string]string{
		"1e-5": "scale 0.00001", "1e-4": "scale 0.0001", "1e-3": "scale 0.001", "1e-2": "scale 0.01",
		"power": "scales of a power law",
	}
	p := make([]Panel, len(scales))
	for i, s := range scales {
		p[i] = Panel{Name: s, Title: titles[s], Dataset: "uniform", Scale: s, Mix: mix}
	}
	return p
}

// Experiments in the order of the paper.
var Experiments = []Experiment{
	{
		Name: "motivation", Figures: []string{"2"},
		Title: "CPU and bandwidth of a server over TCP/IP",
		Assumed: "The paper measures Ethernet cards; here it is a token bucket between" +
			" namespaces, and loopback without one.",
		Panels: panels(searches, "1e-5", "1e-2"), Series: []Series{tcp},
		Paper: []int{2, 4, 8, 16, 32}, Clients: []int{2, 4, 8, 16, 32},
	},
	{
		Name: "events", Figures: []string{"7"},
		Title: "Polling against event-driven fast messaging",
		Assumed: "The server has a thread for each connection (section IV-B implies it); so has ours, in this" +
			" figure only. The paper's 80 to 320 threads on 28 cores are 3 to 11 a core: here 3 to 12 on one core" +
			" stand for them.",
		PerConnection: true,
		Panels:        panels(searches, "1e-5", "1e-2"), Series: []Series{polling, fast},
		Paper: []int{80, 160, 240, 320}, Clients: []int{3, 6, 9, 12},
	},
	{
		Name: "multi-issue", Figures: []string{"8"},
		Title:   "Single-issue against multi-issue offloading",
		Assumed: "How many reads of one search the paper has under way at most; here 16.",
		Panels:  panels(searches, "1e-5", "1e-4", "1e-3", "1e-2"), Series: []Series{single, offload},
		Paper: []int{1}, Clients: []int{1},
	},
	{
		// No workload of searches: see micro.go.
		Name: microName, Figures: []string{"9"},
		Title: "Latency and throughput of TCP/IP, RDMA Read and RDMA Write by size",
		Assumed: "The paper measures Ethernet cards and an InfiniBand card; here sockets go through loopback or" +
			" a token bucket between namespaces, and Read and Write over shared memory or software that a" +
			" processor carries out. A latency ends with the initiator's completion, or the last byte" +
			" of the answer; a Write is also measured in one direction, as the paper's perftest does: half of a ping-pong of Writes.",
	},
	{
		Name: "search", Figures: []string{"10", "11"},
		Title: "Throughput and latency of searches",
		Assumed: "One call under way per client, as a closed loop of one thread has. Our server has a worker for" +
			" each core in every series, also where it polls; the paper's polling server, and the simulated one, have" +
			" a thread for each connection (figure 7 shows what that does).",
		Panels: panels(searches, "1e-5", "1e-2", "power"), Series: all,
		Paper: toSaturation, Clients: here,
	},
	{
		Name: "hybrid", Figures: []string{"12", "13"},
		Title: "Throughput and latency with 10 % inserts",
		Assumed: "As figures 10 and 11. Which scales belong to the paper's factors is not said: the largest of" +
			" all is taken. Latency is that of the searches alone, of which the text of section V-B speaks; rows have" +
			" that of all calls, too.",
		Panels: panels(inserts, "1e-5", "1e-2", "power"), Series: all,
		Paper: toSaturation, Clients: here,
	},
	{
		Name: "rea02", Figures: []string{"14"},
		Title: "Street segments",
		Assumed: "As figures 10 and 11. Queries have 50 to 150 results, as many of each number, unless a file is given;" +
			" the paper says so and that 100 is the average. rea02-like imitates how rea02 is built; it is not rea02.",
		Panels: []Panel{{
			Name: rea02, Title: "rea02, about 100 results", Dataset: rea02, Mix: searches,
		}},
		Series: all, Paper: toSaturation, Clients: here,
	},
}

// Figures lists all figure numbers.
func Figures() []string {
	var f []string
	for _, e := range Experiments {
		f = append(f, e.Figures...)
	}
	return f
}

// Select returns the experiments of the named figures, in the paper's
// order; "all" names all. Errors wrap ErrFigure.
func Select(figures []string) ([]Experiment, error) {
	for _, f := range figures {
		if f != "all" && !slices.Contains(Figures(), f) {
			return nil, fmt.Errorf("%w: %q, want all or some of %s",
				ErrFigure, f, strings.Join(Figures(), ", "))
		}
	}
	var sel []Experiment
	for _, e := range Experiments {
		if slices.Contains(figures, "all") || slices.ContainsFunc(e.Figures, func(f string) bool {
			return slices.Contains(figures, f)
		}) {
			sel = append(sel, e)
		}
	}
	if len(sel) == 0 {
		return nil, fmt.Errorf("%w: none is named, want all or some of %s",
			ErrFigure, strings.Join(Figures(), ", "))
	}
	return sel, nil
}
