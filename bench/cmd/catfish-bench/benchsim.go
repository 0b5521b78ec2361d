package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/micro"
	"github.com/catfish-index/catfish/bench/paper"
	"github.com/catfish-index/catfish/bench/report"
	"github.com/catfish-index/catfish/bench/sim"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/rstar"
)

// simFlags are the flags of bench sim.
type simFlags struct {
	cluster  string
	set      []string
	schemes  []string
	clients  []int
	inFlight int
	spec     sim.Spec
	mix      string
	inserts  bench.Inserts
	duration time.Duration
	warmup   time.Duration
	seed     uint64
	json     string
	sample   time.Duration
	plots    string
	joinAt   time.Duration
	first    int
	answers  bool
	table    bool
	asPaper  bool
	scaleOut bool
	groups   int
	placing  string
	figure   string
	fit      string
	check    string
	strategy rstar.Strategy
	chosen   func(flag string) bool // typed, not a default
	insert   bool
	backoff  policy.Backoff
	printed  string
}

func newBenchSim(a *app) *cobra.Command {
	var f simFlags
	c := &cobra.Command{
		Use:   "sim",
		Short: "Simulate schemes on a cluster that is not here",
		Long: `Simulate schemes on a cluster that is not here: the real policies and real
searches of a real tree, on cores, cards and links that a file describes.
Every figure is simulated. The clusters that come with the program are
paper (the paper's nine nodes), thismachine (two cores, shared memory), modern
(a 400 Gbit/s card) and connectx3 (RFP's, see bench rfp); --cluster also takes a file of the same form,
and --print-cluster prints one to begin from.

With --table it prints the paper's numbers beside the simulated ones, and
with --json FILE writes the rows that 'catfish bench paper --simulated FILE'
puts into its report; figure 9 is printed as well. --figure 9 prints it
alone, in an instant: what one request takes by its bytes. With --fit it searches for the cluster's costs that
explain rows of 'catfish bench run --json', or with --fit paper the paper's
marked numbers, and prints them as lines for the cluster's file. --check
compares such rows with what the cluster, as it is, gives. Rows of one set-up
count as their median.

With --groups several servers have a part of the data each, by boxes' places or by
features' ids, and a client asks those that may have an answer. --scale-out prints
throughput with 1, 2, 3, 4 and 8 groups, for small searches, features and gets by id.`,
		Example: `  catfish bench sim --cluster paper --scheme fast,offload,paper --clients 32,64,128,256
  catfish bench sim --cluster modern --scale 1e-2 --clients 10,100,1000,10000 --json -
  catfish bench sim --clients 256 --first 16 --join-at 200ms --sample 10ms --plots out
  catfish bench sim --as-paper --clients 32,64,128,256
  catfish bench sim --table --json simulated.jsonl
  catfish bench sim --print-cluster modern > mine.toml
  catfish bench sim --cluster ./mine.toml --scheme fast,cost
  catfish bench sim --cluster modern --figure 9
  catfish bench sim --groups 3 --scheme fast,offload,cost --clients 1024
  catfish bench sim --scale-out --json scale-out.jsonl
  catfish bench sim --cluster thismachine --fit rows.jsonl`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.chosen = cmd.Flags().Changed
			return a.benchSim(cmd.Context(), cmd, &f)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.cluster, "cluster", "paper", "paper, thismachine, modern, connectx3 or a file")
	fs.StringArrayVar(&f.set, "set", nil, "change a number of the cluster, as in server.cores=4; repeatable")
	fs.StringSliceVar(&f.schemes, "scheme", bench.DefaultSchemes, "schemes to simulate, in this order")
	fs.IntSliceVar(&f.clients, "clients", []int{32, 64, 128, 256}, "connections, a list")
	fs.IntVar(&f.inFlight, "in-flight", 0, "calls under way per connection, 0: as the cluster says")
	fs.StringVar(&f.spec.Dataset, "dataset", "uniform", "uniform, skewed, rea02-like, california or a file")
	fs.IntVar(&f.spec.Objects, "objects", 2_000_000, "how many objects a generator makes")
	fs.StringVar(&f.spec.Scale, "scale", "1e-5",
		"longest query edge as a share of the data's extent (1e-5, 1e-2), power, squares around objects (0.01deg), QR0 to QR3 of the rea02 benchmark, or 50-150")
	fs.StringVar(&f.mix, "mix", "search=100", "operations in percent: search, insert")
	insertsFlag(c, &f.inserts)
	fs.DurationVar(&f.duration, "duration", time.Second, "simulated time that is measured; with --table, --fit and --check 200ms unless given")
	fs.DurationVar(&f.warmup, "warmup", 200*time.Millisecond, "simulated time before it")
	fs.Uint64Var(&f.seed, "seed", 1, "of data, queries and chance")
	fs.StringVar(&f.json, "json", "", "write one JSON object per row to this file, - for standard output; with --table what bench paper --simulated reads")
	fs.DurationVar(&f.sample, "sample", 0, "with --json: add throughput, latency, offload share and server CPU of each such interval")
	fs.StringVar(&f.plots, "plots", "", "directory for plots over time, as SVG; needs --sample and one number of clients")
	fs.DurationVar(&f.joinAt, "join-at", 0, "all but --first clients begin so long after the warm-up")
	fs.IntVar(&f.first, "first", 1, "clients that are there from the beginning, with --join-at")
	fs.BoolVar(&f.answers, "answers", false, "heartbeats announce how long a message will take, and clients of schemes paper, paper-literal and cost offload while that is quicker, in place of the scheme's policy")
	fs.IntVar(&f.groups, "groups", 1, "groups of one server each that have a part of the data, 1 to 64; searches only")
	fs.StringVar(&f.placing, "place", string(sim.Boxes), "with --groups: boxes, by place, or features, by id")
	fs.BoolVar(&f.scaleOut, "scale-out", false, fmt.Sprintf("throughput by the number of groups; of %d objects unless --objects says otherwise", sim.ScaleOutObjects))
	cli.Complete(c, "place", string(sim.Boxes), string(sim.Features))
	fs.BoolVar(&f.table, "table", false, "compare with every number of the paper, ours and with --as-paper")
	fs.BoolVar(&f.asPaper, "as-paper", false, "everything as 'bench paper --as-paper' has it: the schemes of the paper, Algorithm 1 to the letter, an inserted original R*-tree with as many children in a node as objects in a leaf")
	fs.StringVar(&f.figure, "figure", "", "9: latency and throughput of TCP/IP, RDMA Read and RDMA Write by bytes, as --table writes it")
	fs.StringVar(&f.fit, "fit", "", "file with rows of bench run --json, or paper: fit the cluster to them")
	fs.StringVar(&f.check, "check", "", "file with rows of bench run --json: simulate them and compare")
	fs.StringVar(&f.printed, "print-cluster", "", "print the file of paper, thismachine, modern or connectx3, to begin one of your own from, and do nothing else")
	cli.Complete(c, "print-cluster", sim.Clusters()...)
	treeFlags(c, &f.strategy, &f.insert)
	cli.BackoffFlags(c, &f.backoff)
	cli.CompleteList(c, "scheme", cli.Policies()[1:]...)
	cli.CompleteData(c, "dataset")
	cli.Complete(c, "scale", "1e-5", "1e-2", "power", "QR2")
	cli.Complete(c, "cluster", sim.Clusters()...)
	return c
}

// open reads the cluster, with --set applied.
func (f *simFlags) open() (*sim.Cluster, error) {
	cl, err := sim.Open(f.cluster)
	if err != nil {
		return nil, err
	}
	for _, s := range f.set {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, cli.BadUsage("--set %q, want KEY=NUMBER", s)
		}
		var v float64
		if _, err := fmt.Sscan(value, &v); err != nil {
			return nil, cli.BadUsage("--set %q, want KEY=NUMBER", s)
		}
		if err := cl.Set(key, v); err != nil {
			return nil, err
		}
	}
	if f.asPaper || f.chosen("strategy") {
		cl.Tree.Strategy = f.strategy
	}
	if f.insert {
		cl.Tree.Inserted = 1
	}
	return cl, cl.Validate()
}

// preset sets what --as-paper decides.
func (f *simFlags) preset(fs *pflag.FlagSet) error {
	if !f.asPaper {
		return nil
	}
	if f.special() {
		return cli.BadUsage("--as-paper with --scale-out, --figure, --fit, --check or --table, which prints both")
	}
	f.schemes, f.strategy, f.insert = paper.PresetSchemes(), rstar.OriginalDoubles, true
	return cli.NoUse(fs, "with --as-paper, which sets it", append([]string{"scheme"}, presetFlags...)...)
}

// special reports whether the call compares, instead of only simulating.
func (f *simFlags) special() bool {
	return f.table || f.scaleOut || f.figure != "" || f.fit != "" || f.check != ""
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// benchSim is one call of bench sim. It opens the output of the rows first, as
// bench run does.
func (a *app) benchSim(ctx context.Context, cmd *cobra.Command, f *simFlags) error {
	if btoi(f.table)+btoi(f.scaleOut)+btoi(f.figure != "")+btoi(f.fit != "")+btoi(f.check != "") > 1 {
		return cli.BadUsage("--table, --scale-out, --figure, --fit and --check are five things, want one of them")
	}
	if f.figure != "" && f.figure != "9" {
		return cli.BadUsage("--figure is %q, want 9: --table has the others", f.figure)
	}
	if err := cli.FirstOf(f.preset(cmd.Flags()), f.checkKnobs(cmd.Flags()), f.noUse(cmd.Flags())); err != nil {
		return err
	}
	if f.printed != "" {
		text, err := sim.Text(f.printed)
		if err != nil {
			return err
		}
		return a.Printf("%s", text)
	}
	cl, err := f.open()
	if err != nil {
		return err
	}
	f.spec = cl.Spec(f.spec.Dataset, f.spec.Objects, f.spec.Scale, f.seed)
	if f.groups < 1 || f.groups > placement.MaxGroups {
		return cli.BadUsage("--groups is %d, want 1 to %d", f.groups, placement.MaxGroups)
	}
	if f.groups > 1 {
		f.spec.Groups, f.spec.Placing = f.groups, sim.Placing(f.placing)
	}
	if cmd.Flags().Changed("inserts") {
		f.spec.Inserts = f.inserts
	}
	if f.spec.Objects < 1 {
		return cli.BadUsage("--objects is %d, want 1 or more", f.spec.Objects)
	}
	if !cmd.Flags().Changed("duration") && f.special() {
		f.duration = 200 * time.Millisecond
	}
	if f.plots != "" && (f.sample <= 0 || len(f.clients) != 1 || f.special()) {
		return cli.BadUsage("--plots needs --sample and one number of --clients, and none of --table, --scale-out, --figure, --fit and --check")
	}
	var configs []sim.Config
	if !f.special() {
		if configs, err = f.configs(cl); err != nil {
			return err
		}
	}
	o, err := harness.OpenOutput(a.Out, a.Err, f.json)
	if err != nil {
		return err
	}
	defer o.Close()
	switch {
	case f.scaleOut:
		return a.simScaleOut(ctx, cmd, f, cl, o)
	case f.table:
		return a.simTable(ctx, f, cl, o)
	case f.figure != "":
		return simMicro(cl, o)
	case f.check != "":
		return a.simCheck(ctx, f, cl, o)
	case f.fit != "":
		return a.simFit(ctx, f, cl, o)
	}
	return a.simRows(ctx, f, configs, o)
}

// noUse refuses flags that would do nothing in this call.
func (f *simFlags) noUse(fs *pflag.FlagSet) error {
	if f.printed != "" {
		var why error
		fs.Visit(func(typed *pflag.Flag) {
			if typed.Name != "print-cluster" && why == nil {
				why = cli.BadUsage("--%s does nothing with --print-cluster", typed.Name)
			}
		})
		return why
	}
	var errs []error
	if f.special() {
		errs = append(errs, cli.NoUse(fs, "with --table, --scale-out, --figure, --fit or --check", "scheme", "clients", "in-flight",
			"dataset", "scale", "mix", "warmup", "sample", "join-at", "first", "groups", "answers"))
	}
	if f.groups == 1 {
		errs = append(errs, cli.NoUse(fs, "without --groups", "place"))
	}
	if f.scaleOut {
		errs = append(errs, cli.NoUse(fs, "with --scale-out", "duration", "backoff-n", "threshold", "predictor"))
	}
	if f.figure != "" || f.check != "" || f.fit != "" && f.fit != "paper" {
		errs = append(errs, cli.NoUse(fs, "with --figure, --check or --fit FILE", "objects", "seed"))
	}
	if f.figure != "" {
		errs = append(errs, cli.NoUse(fs, "with --figure, which searches nothing", "duration"))
	}
	if f.joinAt == 0 {
		errs = append(errs, cli.NoUse(fs, "without --join-at", "first"))
	}
	if f.json == "" && f.plots == "" {
		errs = append(errs, cli.NoUse(fs, "without --json or --plots", "sample"))
	}
	return cli.FirstOf(append(errs, noObjects(fs, f.spec.Dataset))...)
}

// checkKnobs checks the flags that configure trees and Algorithm 1. Measured rows
// carry their own configuration.
func (f *simFlags) checkKnobs(fs *pflag.FlagSet) error {
	if f.check != "" || f.fit != "" && f.fit != "paper" {
		for _, flag := range []string{"strategy", "insert", "backoff-n", "threshold", "predictor"} {
			if fs.Changed(flag) {
				return cli.BadUsage("--%s with --check or --fit FILE: the rows say what they were measured with", flag)
			}
		}
	}
	if f.special() && fs.Changed("inserts") {
		return cli.BadUsage("--inserts with --table, --scale-out, --figure, --fit or --check: the paper's figures and the rows say what is inserted")
	}
	if f.figure != "" {
		for _, flag := range []string{"strategy", "insert", "backoff-n", "threshold", "predictor"} {
			if fs.Changed(flag) {
				return cli.BadUsage("--%s with --figure %s, which searches nothing", flag, f.figure)
			}
		}
	}
	if f.special() {
		return cli.CheckBackoff(fs, f.backoff)
	}
	return cli.CheckBackoff(fs, f.backoff, f.schemes...)
}

// configs returns the requested simulations, all checked before one runs.
func (f *simFlags) configs(cl *sim.Cluster) ([]sim.Config, error) {
	mix, err := bench.ParseMix(f.mix)
	if err != nil {
		return nil, fmt.Errorf("--mix: %w", err)
	}
	if f.chosen("inserts") && mix[bench.Insert] == 0 {
		return nil, cli.BadUsage("--inserts does nothing with --mix %v", mix)
	}
	shares, err := sim.MixOf(mix)
	if err != nil {
		return nil, fmt.Errorf("--mix: %w", err)
	}
	var configs []sim.Config
	for _, n := range f.clients {
		for _, scheme := range f.schemes {
			cfg := sim.Config{
				Cluster: cl, Scheme: scheme, Clients: n, InFlight: f.inFlight, Mix: shares,
				Duration: f.duration, Warmup: f.warmup, Seed: f.seed,
				JoinAt: f.joinAt, First: f.first, Sample: f.sample, Backoff: f.backoff, Answers: f.answers,
			}
			if err := cfg.Validate(); err != nil {
				return nil, err
			}
			configs = append(configs, cfg)
		}
	}
	if len(configs) == 0 {
		return nil, cli.BadUsage("--clients or --scheme is empty, want at least one of each")
	}
	return configs, nil
}

// simRows simulates the configurations in order.
func (a *app) simRows(ctx context.Context, f *simFlags, configs []sim.Config, o *harness.Output) error {
	w, err := new(sim.Cache).Get(f.spec, a.note)
	if err != nil {
		return err
	}
	p := newShares(a.Err, cli.IsTerminal(a.Err))
	defer p.end()
	var rows []sim.Row
	for i, cfg := range configs {
		p.label(fmt.Sprintf("simulating %s, %d clients (%d of %d)", cfg.Scheme, cfg.Clients, i+1, len(configs)))
		cfg.Progress = p.share
		r, runErr := sim.Run(ctx, cfg, w)
		if err = runErr; err != nil {
			break
		}
		row := sim.NewRow(cfg, w, r, cli.Commit())
		rows = append(rows, row)
		if err = o.Row(row); err != nil {
			break
		}
	}
	p.end()
	if len(rows) > 0 {
		if e := sim.WriteRows(o.Table, configs[0].Cluster, w, rows); err == nil {
			err = e
		}
	}
	if err == nil && f.plots != "" {
		err = writePlots(f.plots, sim.SeriesPlots(configs[0].Cluster.Name, rows))
	}
	return err
}

// writePlots writes files whose names say whether they are simulated.
func writePlots(dir string, plots []report.Plot) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--plots: %w", err)
	}
	for i := range plots {
		svg, err := plots[i].SVG()
		if err != nil {
			return fmt.Errorf("--plots: %s: %w", plots[i].Name, err)
		}
		name := plots[i].Name + ".svg"
		if plots[i].Simulated {
			name = plots[i].Name + "-simulated.svg"
		}
		if err := os.WriteFile(filepath.Join(dir, name), svg, 0o644); err != nil {
			return fmt.Errorf("--plots: %w", err)
		}
	}
	return nil
}

// base is the configuration that the simulations of the paper's numbers share.
func (f *simFlags) base(cl *sim.Cluster) sim.Config {
	return sim.Config{Cluster: cl, Duration: f.duration, Seed: f.seed, Backoff: f.backoff}
}

// simScaleOut prints throughput by the number of groups.
func (a *app) simScaleOut(ctx context.Context, cmd *cobra.Command, f *simFlags, cl *sim.Cluster, o *harness.Output) error {
	objects := sim.ScaleOutObjects
	if cmd.Flags().Changed("objects") {
		objects = f.spec.Objects
	}
	rows, err := sim.ScaleOut(ctx, cl, new(sim.Cache), objects, "", f.seed, a.note)
	err = errors.Join(err, sim.WriteScaleOutJSON(o.Rows, rows))
	if err != nil {
		return err
	}
	return sim.WriteScaleOut(o.Table, rows)
}

// simTable prints the paper's numbers beside simulated ones.
func (a *app) simTable(ctx context.Context, f *simFlags, cl *sim.Cluster, o *harness.Output) error {
	s, err := paper.Predict(ctx, f.base(cl), new(sim.Cache), f.spec.Objects,
		a.note)
	err = errors.Join(err, s.WriteJSON(o.Rows))
	if len(s.Numbers) > 0 {
		err = errors.Join(err, paper.WritePredictions(o.Table, cl, s))
	}
	if err == nil {
		fmt.Fprintln(o.Table)
		err = simMicro(cl, o)
	}
	return err
}

// simMicro prints figure 9.
func simMicro(cl *sim.Cluster, o *harness.Output) error {
	rows, err := paper.PredictMicro(cl, micro.Sizes())
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := r.WriteJSON(o.Rows); err != nil {
			return err
		}
	}
	return paper.WriteMicro(o.Table, cl, rows)
}

// simFit fits the cluster's costs and prints them.
func (a *app) simFit(ctx context.Context, f *simFlags, cl *sim.Cluster, o *harness.Output) error {
	if f.json != "" {
		return cli.BadUsage("--json with --fit: a fit is printed as lines of TOML")
	}
	cache := new(sim.Cache)
	keys := paper.FitKeys
	goals := paper.FitGoals(f.base(cl), cache, f.spec.Objects)
	if f.fit != "paper" {
		var err error
		if goals, keys, err = a.rowGoals(f.fit, f.duration, cl, cache); err != nil {
			return fmt.Errorf("--fit: %w", err)
		}
	}
	fitted, err := sim.Fit(ctx, cl, keys, goals, a.note)
	if err != nil {
		return err
	}
	return fitted.Write(o.Table)
}

// simCheck compares measured rows with the cluster.
func (a *app) simCheck(ctx context.Context, f *simFlags, cl *sim.Cluster, o *harness.Output) error {
	goals, _, err := a.rowGoals(f.check, f.duration, cl, new(sim.Cache))
	if err != nil {
		return fmt.Errorf("--check: %w", err)
	}
	all, err := sim.Check(ctx, cl, goals)
	if err != nil {
		return err
	}
	for _, c := range all {
		if err := o.Row(c); err != nil {
			return err
		}
	}
	return sim.WriteChecked(o.Table, cl, all)
}

// rowGoals reads measured rows.
func (a *app) rowGoals(name string, duration time.Duration, cl *sim.Cluster, cache *sim.Cache) ([]sim.Goal, []string, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	rows, err := sim.ReadRows(file)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return sim.RowGoals(rows, cl, cache, duration, a.note)
}
