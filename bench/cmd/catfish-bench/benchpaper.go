package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/micro"
	"github.com/catfish-index/catfish/bench/paper"
	"github.com/catfish-index/catfish/bench/report"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cli"
)

// paperFlags are the flags as the user typed them.
type paperFlags struct {
	figures, networks  []string
	series             []string // replaces the figures' own
	clients            []int
	set                paper.Settings
	out, sim           string
	quick, fresh, json bool
	check, asPaper     bool

	fs      *pflag.FlagSet
	chosen  func(flag string) bool // typed, not a default
	command string                 // the typed command
}

// The parameters of --quick: seconds instead of hours, the same code.
const (
	quickObjects  = 100_000
	quickRequests = 1_000
)

var (
	quickClients = []int{1, 4, 16}
	allNetworks  = []string{paper.Host.Name, "1g", "10g", "40g"}
	// quickNetworks leaves out the networks that differ from 1g only when full.
	quickNetworks = []string{paper.Host.Name, "1g"}
)

func newBenchPaper(a *app) *cobra.Command {
	var f paperFlags
	c := &cobra.Command{
		Use:   "paper",
		Short: "Repeat the paper's experiments",
		Long: `Repeat the experiments of the Catfish paper (ICDCS 2019) at the size of one
machine, and report them: ` + report.HTMLFile + `, ` + report.MarkdownFile + ` and plots in --out.

Server and clients are processes of their own, pinned to different cores.
On the host they use shared memory, and loopback for tcp; in the networks 1g,
10g and 40g they sit in namespaces of their own, joined by a virtual Ethernet
with a token bucket of so many bits per second. At 40g the processors that
carry the bytes may be the limit before the bucket is; the report says what
limited each point. Networks need root and iproute2. Where it cannot be had, networks are skipped and the output and the
report say why; networks named by --network must be there.

A run measures by count: --requests calls of each client, as the paper
does; --duration bounds what a slow point may take. Figure 9 is TCP/IP, RDMA
Read and RDMA Write by the bytes of a request: each size is measured for 200
ms, or for --duration if that is less, and kept in --out/` + paper.MicroFile + `. Each finished point is kept in --out/` + paper.PointsFile + `, and the same
command goes on where it was interrupted. Points under other settings
(another commit, machine, tree, back-off, number of objects, ...) are refused unless --fresh
discards them.`,
		Example: `  catfish bench paper --out results
  catfish bench paper --figure 10,11 --clients 1,8,64 --network host --out results
  catfish bench paper --quick --figure 2 --network 1g
  catfish bench paper --figure 9 --network host,1g,40g --out figure9
  catfish bench paper --network 1g,10g --duration 5s --out networks
  catfish bench paper --figure 10 --series fast,fetch --network 1g --duration 5s --out fetched
  catfish bench paper --as-paper --out as-paper
  catfish bench paper --strategy original --insert --out paper-tree
  catfish bench paper --figure 14 --data rea02.rec --queries rea02.QR2`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.fs, f.chosen, f.command = cmd.Flags(), cmd.Flags().Changed, typed(cmd)
			if err := cli.CheckBackoff(cmd.Flags(), f.set.Backoff); err != nil {
				return err
			}
			return a.benchPaper(cmd.Context(), f)
		},
	}
	fs := c.Flags()
	fs.StringSliceVar(&f.figures, "figure", []string{"all"},
		"figures of the paper: all, or some of "+strings.Join(paper.Figures(), ", "))
	fs.StringVar(&f.out, "out", "paper-report", "directory of points and report")
	fs.BoolVar(&f.quick, "quick", false,
		fmt.Sprintf("a small run: defaults of %d objects, %d requests, fewer clients, networks and sizes", quickObjects, quickRequests))
	fs.BoolVar(&f.fresh, "fresh", false, "discard the points in --out")
	fs.IntSliceVar(&f.clients, "clients", nil,
		"numbers of clients; without it figure 2 has 2 to 32, figure 7 3 to 12, figure 8 one, the others 1 to 64; with --quick 1, 4 and 16")
	fs.StringSliceVar(&f.networks, "network", allNetworks, "host, or rates such as 1g and 40g")
	fs.StringSliceVar(&f.series, "series", nil,
		"series to measure in place of each figure's own: some of "+strings.Join(paper.SeriesNames(), ", "))
	fs.IntVar(&f.set.Objects, "objects", paper.Objects, "how many objects a generator makes")
	fs.IntVar(&f.set.Requests, "requests", paper.Requests, "calls of each client")
	fs.DurationVar(&f.set.Duration, "duration", 0,
		"end each run after this long, however many calls it has made; 0: never; rows say what was cut")
	fs.IntVar(&f.set.InFlight, "in-flight", 1, "calls under way per client")
	fs.IntVar(&f.set.Repeat, "repeat", 1, "runs of each point; it holds medians")
	fs.Uint64Var(&f.set.Seed, "seed", 1, "of data and queries")
	fs.StringVar(&f.set.Data, "data", "rea02-like", "data of figure 14: rea02-like or a file")
	fs.StringVar(&f.set.Queries, "queries", "", "queries of figure 14: a file of rectangles; empty: the set "+
		paper.QuerySet+" of --data")
	coreFlags(c, &f.set.ServerCPUs, &f.set.ClientCPUs)
	fs.IntVar(&f.set.NodeBytes, "node-bytes", 0, "size of a tree node, 0: default")
	insertsFlag(c, &f.set.Inserts)
	treeFlags(c, &f.set.Strategy, &f.set.Inserted)
	cli.BackoffFlags(c, &f.set.Backoff)
	fs.StringVar(&f.sim, "simulated", "", "file of simulated values to print beside, of"+
		" 'bench sim --table --json FILE'")
	fs.BoolVar(&f.asPaper, "as-paper", false,
		"everything as the paper has it, as far as it can be: an inserted original R*-tree, a worker for each connection,"+
			" Algorithm 1 to the letter, the paper's series alone; the output lists what is not")
	fs.BoolVar(&f.check, "check", false,
		"say which of the paper's claims hold here; fail if an ordering or a count is not as it must be on any machine")
	fs.BoolVar(&f.json, "json", false, "print each new point as a JSON object, too")
	cli.CompleteList(c, "figure", append([]string{"all"}, paper.Figures()...)...)
	cli.CompleteList(c, "network", allNetworks...)
	cli.CompleteList(c, "series", paper.SeriesNames()...)
	cli.CompleteData(c, "data")
	return c
}

// typed returns the command in a form that can be repeated.
func typed(cmd *cobra.Command) string {
	var b strings.Builder
	b.WriteString(cmd.CommandPath())
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		fmt.Fprintf(&b, " --%s=%s", f.Name, value)
	})
	return b.String()
}

// presetFlags are what --as-paper sets.
var presetFlags = []string{"series", "strategy", "insert", "inserts", "node-bytes", "in-flight", "backoff-n", "threshold", "predictor"}

// paperPlan is the plan of a run, checked as far as possible in advance.
type paperPlan struct {
	set         paper.Settings
	experiments []paper.Experiment
	networks    []paper.Network
	clients     []int
	sizes       []int // of figure 9
	simulated   []paper.Simulated
}

func (f paperFlags) plan() (paperPlan, error) {
	p := paperPlan{set: f.set, clients: f.clients, sizes: micro.Sizes()}
	var err error
	if p.experiments, err = paper.Select(f.figures); err != nil {
		return p, err
	}
	if f.asPaper {
		if err := cli.NoUse(f.fs, "with --as-paper, which sets it", presetFlags...); err != nil {
			return p, err
		}
		p.set, p.experiments = paper.AsPaper(p.set, p.experiments)
	}
	if f.chosen("series") {
		if len(f.series) == 0 {
			return p, cli.BadUsage("--series names none")
		}
		if p.experiments, err = paper.WithSeries(p.experiments, f.series); err != nil {
			return p, fmt.Errorf("--series: %w", err)
		}
	}
	if !slices.ContainsFunc(p.experiments, func(e paper.Experiment) bool { return slices.Contains(e.Figures, "14") }) {
		for _, flag := range []string{"data", "queries"} {
			if f.chosen(flag) {
				return p, cli.BadUsage("--%s does nothing without figure 14", flag)
			}
		}
	}
	names := f.networks
	if f.quick && !f.chosen("network") {
		names = quickNetworks
	}
	for _, n := range names {
		network, err := paper.ParseNetwork(n)
		if err != nil {
			return p, fmt.Errorf("--network: %w", err)
		}
		if slices.Contains(p.networks, network) {
			return p, cli.BadUsage("--network lists %s twice", n)
		}
		p.networks = append(p.networks, network)
	}
	if f.quick {
		p.sizes = micro.FewSizes()
		for flag, set := range map[string]func(){
			"objects":  func() { p.set.Objects = quickObjects },
			"requests": func() { p.set.Requests = quickRequests },
			"clients":  func() { p.clients = quickClients },
		} {
			if !f.chosen(flag) {
				set()
			}
		}
	}
	if err := cli.WantMore(f.fs, "objects", "requests", "in-flight", "repeat", "clients", "network", "data", "out"); err != nil {
		return p, err
	}
	server, client, err := splitCores(f.set.ServerCPUs, f.set.ClientCPUs)
	if err != nil {
		return p, err
	}
	p.set.ServerCPUs, p.set.ClientCPUs = server.String(), client.String()
	p.set.Commit, p.set.Machine = cli.Commit(), bench.ThisMachine()
	if p.set.Queries == "" {
		p.set.Queries = paper.QuerySet
	} else if _, err := os.Stat(p.set.Queries); err != nil {
		return p, fmt.Errorf("--queries: %w", err)
	}
	if f.sim != "" {
		file, err := os.Open(f.sim)
		if err != nil {
			return p, fmt.Errorf("--simulated: %w", err)
		}
		defer file.Close()
		if p.simulated, err = paper.ReadSimulated(file); err != nil {
			return p, fmt.Errorf("--simulated: %s: %w", f.sim, err)
		}
	}
	return p, paper.Validate(p.set, p.experiments, p.networks, p.clients, catfish.Schemes()[1:])
}
