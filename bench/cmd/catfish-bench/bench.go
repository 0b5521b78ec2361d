package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/features"
	"github.com/catfish-index/catfish/bench/idle"
	"github.com/catfish-index/catfish/bench/kv"
	"github.com/catfish-index/catfish/bench/micro"
	"github.com/catfish-index/catfish/bench/replay"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/engine"
)

func newBench(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure",
		Example: `  catfish bench run --scheme fast,offload --objects 100000
  catfish bench run --help`,
	}
	cli.Group(c)
	c.AddCommand(newBenchRun(a), newBenchStep(a), newBenchPaper(a), newBenchSim(a), newBenchPolicies(a),
		newBenchKV(a), newBenchKVLocal(a), newBenchFeatures(a), newBenchIdle(a), newBenchDocs(a), newBenchRFP(a), newBenchChild(a))
	return c
}

type benchFlags struct {
	cfg                 bench.Config
	mix, server, client string
	json, profile       string
}

func newBenchRun(a *app) *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Compare schemes on one workload",
		Long: `Compare schemes on one workload. Server and clients are processes of their
own, pinned to the given cores; each scheme gets a fresh server, the same
data and the same queries. When the mix only reads, schemes that return
different objects are an error.

The table goes to standard output, or to standard error with --json -.`,
		Example: `  catfish bench run --scheme tcp,fast,offload,paper --objects 2000000 \
      --scale 1e-5 --clients 8 --server-cpus 0 --client-cpus 1 --transport shm
  catfish bench run --scheme fast,paper --dataset california --scale 1e-2 \
      --mix search=90,insert=10 --repeat 5 --json rows.jsonl
  catfish bench run --scheme fast,paper --strategy original --insert --backoff-n 16`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.config()
			if err == nil {
				fs := cmd.Flags()
				err = cli.FirstOf(cli.CheckBackoff(fs, cfg.Backoff, cfg.Schemes...), noObjects(fs, cfg.Dataset),
					noTransport(fs, cfg.Transport, cfg.Schemes), noWrites(fs, cfg.Mix), noBatch(fs, cfg.Mix))
			}
			if err != nil {
				return err
			}
			return a.bench(cmd.Context(), cfg, f.json, f.profile)
		},
	}
	fs := c.Flags()
	fs.StringSliceVar(&f.cfg.Schemes, "scheme", bench.DefaultSchemes, "schemes to run, in this order")
	fs.StringVar(&f.cfg.Dataset, "dataset", "uniform",
		"uniform, skewed, rea02-like, california or a file")
	fs.IntVar(&f.cfg.Objects, "objects", 2_000_000, "how many objects a generator makes")
	fs.StringVar(&f.cfg.Scale, "scale", "1e-5",
		"longest query edge as a share of the data's extent (1e-5, 1e-2), or power")
	fs.StringVar(&f.mix, "mix", "search=100",
		"operations in percent: search, nearest, insert, delete, update")
	insertsFlag(c, &f.cfg.Inserts)
	fs.IntVar(&f.cfg.Clients, "clients", 8, "connections")
	fs.IntVar(&f.cfg.InFlight, "in-flight", 16, "calls under way per connection")
	fs.IntVar(&f.cfg.Batch, "batch", 1, "searches per call: together in a message if more than one")
	fs.IntVar(&f.cfg.Procs, "client-procs", 1, "processes that the connections are dealt to")
	fs.DurationVar(&f.cfg.Duration, "duration", 5*time.Second, "measured time per run")
	fs.DurationVar(&f.cfg.Warmup, "warmup", time.Second, "time before it that is not measured")
	fs.IntVar(&f.cfg.Repeat, "repeat", 1, "runs per scheme; the rows hold medians and spreads")
	fs.StringVar(&f.cfg.Transport, "transport", "auto", "auto, shm, soft or ofi; scheme tcp always uses tcp")
	cli.FabricFlags(c, (*catfish.Fabric)(&f.cfg.Fabric))
	coreFlags(c, &f.server, &f.client)
	fs.Uint64Var(&f.cfg.Seed, "seed", 1, "of data and queries")
	fs.BoolVar(&f.cfg.WorkerPerConnection, "worker-per-connection", false,
		"a server thread for each connection, as in the paper; those that poll compete for the cores")
	fs.IntVar(&f.cfg.NodeBytes, "node-bytes", 0, "size of a tree node, 0: default")
	fs.Int64Var(&f.cfg.SlabBytes, "slab-bytes", 0, "capacity of the tree, 0: default")
	treeFlags(c, &f.cfg.Strategy, &f.cfg.Inserted)
	cli.BackoffFlags(c, &f.cfg.Backoff)
	fs.StringVar(&f.json, "json", "", "write one JSON object per scheme to this file, - for standard output")
	fs.StringVar(&f.profile, "profile", "", "directory for a CPU profile of each process, for go tool pprof")
	cli.CompleteList(c, "scheme", cli.Policies()[1:]...)
	cli.CompleteData(c, "dataset")
	cli.Complete(c, "scale", "1e-5", "1e-2", "power")
	cli.Complete(c, "transport", "auto", "shm", "soft", "ofi")
	return c
}

// insertsFlag registers --inserts.
func insertsFlag(c *cobra.Command, inserts *bench.Inserts) {
	c.Flags().StringVar((*string)(inserts), "inserts", string(bench.PaperInserts),
		"what is inserted: paper (skewed, with edges of the queries' scale) or data (like the data set)")
	cli.Complete(c, "inserts", string(bench.PaperInserts), string(bench.DataInserts))
}

// config checks what depends on the command line; bench checks the rest.
func (f *benchFlags) config() (bench.Config, error) {
	cfg := f.cfg
	cfg.Commit = cli.Commit()
	var err error
	if cfg.Mix, err = bench.ParseMix(f.mix); err != nil {
		return cfg, fmt.Errorf("--mix: %w", err)
	}
	if err := cli.WantMore(
		cli.Typed("objects", cfg.Objects == 0),
		cli.Typed("clients", cfg.Clients == 0),
		cli.Typed("in-flight", cfg.InFlight == 0),
		cli.Typed("client-procs", cfg.Procs == 0),
		cli.Typed("batch", cfg.Batch == 0),
		cli.Typed("duration", cfg.Duration == 0),
		cli.Typed("repeat", cfg.Repeat == 0),
		cli.Typed("scheme", len(cfg.Schemes) == 0),
	); err != nil {
		return cfg, err
	}
	if err := checkTransport(cfg.Transport); err != nil {
		return cfg, err
	}
	cfg.ServerCPUs, cfg.ClientCPUs, err = splitCores(f.server, f.client)
	return cfg, err
}

// splitCores parses two lists of cores. An empty list gets affinity.Split's
// default.
func splitCores(server, client string) (s, c affinity.Set, err error) {
	if s, err = affinity.Parse(server); err != nil {
		return nil, nil, fmt.Errorf("--server-cpus: %w", err)
	}
	if c, err = affinity.Parse(client); err != nil {
		return nil, nil, fmt.Errorf("--client-cpus: %w", err)
	}
	return affinity.Split(s, c)
}

// bench runs and prints. It opens the JSON file first, so that a typing
// error in its name does not cost the measurement, and writes it row by
// row, so that an interrupted run keeps its finished rows.
func (a *app) bench(ctx context.Context, cfg bench.Config, file, profile string) error {
	if err := cfg.Validate(catfish.Schemes()[1:]); err != nil {
		return err
	}
	if _, err := bench.OpenDataset(cfg.Dataset, cfg.Objects, cfg.Seed); err != nil {
		return err
	}
	spawn, err := spawner(profile)
	if err != nil {
		return err
	}
	table, rowsTo, closeRows, err := a.rowsTo(file)
	if err != nil {
		return err
	}
	defer closeRows()
	var failed error
	rows, err := bench.Run(ctx, cfg, spawn, catfish.Schemes()[1:],
		func(note string) { fmt.Fprintln(a.Err, note) },
		func(r bench.Row) {
			if rowsTo != nil && failed == nil {
				failed = r.WriteJSON(rowsTo)
			}
		})
	if tableErr := bench.WriteTable(table, rows); err == nil {
		err = tableErr
	}
	if err == nil {
		err = failed
	}
	return err
}

// spawner starts this program again as a child of bench. If profile names a
// directory, the children leave CPU profiles in it, numbered in the order of
// their start: a server, its clients, the next server...
func spawner(profile string) (child.Spawn, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	if profile != "" {
		if err := os.MkdirAll(profile, 0o777); err != nil {
			return nil, fmt.Errorf("--profile: %w", err)
		}
	}
	started := 0
	return func(role child.Role, cpus affinity.Set) *exec.Cmd {
		cmd := exec.Command(exe, "bench", "child", string(role), "--cpus", cpus.String())
		if profile != "" {
			name := fmt.Sprintf("%02d-%s.pprof", started, role)
			cmd.Args = append(cmd.Args, "--profile", filepath.Join(profile, name))
			started++
		}
		return cmd
	}, nil
}

// newBenchChild is the command that spawner starts: it pins itself, then works
// for the parent at the other end of its standard input.
func newBenchChild(a *app) *cobra.Command {
	var cpus, profile string
	c := &cobra.Command{
		Use:    "child ROLE",
		Short:  "Work for bench run, replay or demo",
		Hidden: true,
		Args:   cli.Args(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)),
		ValidArgs: []string{string(demoRole), string(bench.ServerRole), string(bench.ClientRole), string(engine.ClientRole), string(replay.Role),
			string(micro.ServerRole), string(micro.ClientRole), string(idle.ServerRole), string(idle.ClientRole),
			string(kv.ServerRole), string(kv.ClientRole),
			string(features.ServerRole), string(features.ClientRole), string(features.LocalRole)},
		RunE: func(cmd *cobra.Command, role []string) error {
			set, err := affinity.Parse(cpus)
			if err == nil {
				err = affinity.Reexec(set)
			}
			if err != nil {
				return err
			}
			if profile != "" {
				f, err := os.Create(profile)
				if err != nil {
					return err
				}
				defer f.Close()
				if err := pprof.StartCPUProfile(f); err != nil {
					return err
				}
				defer pprof.StopCPUProfile()
			}
			switch child.Role(role[0]) {
			case demoRole:
				return demoMain(cmd.Context(), a.In, a.Out)
			case bench.ServerRole:
				return bench.ServerMain(cmd.Context(), a.In, a.Out, bench.StartCatfish)
			case engine.ClientRole:
				return engine.ClientMain(cmd.Context(), a.In, a.Out)
			case replay.Role:
				return replay.Main(cmd.Context(), a.In, a.Out, replay.Dial)
			case kv.ServerRole:
				return kv.ServerMain(cmd.Context(), a.In, a.Out, kv.StartCatfish)
			case kv.ClientRole:
				return kv.ClientMain(cmd.Context(), a.In, a.Out, kv.DialCatfish)
			case features.ServerRole:
				return features.ServerMain(cmd.Context(), a.In, a.Out)
			case features.ClientRole:
				return features.ClientMain(cmd.Context(), a.In, a.Out)
			case features.LocalRole:
				return features.LocalMain(cmd.Context(), a.In, a.Out)
			case idle.ServerRole:
				return idle.ServerMain(cmd.Context(), a.In, a.Out)
			case idle.ClientRole:
				return idle.ClientMain(cmd.Context(), a.In, a.Out)
			case micro.ServerRole:
				return micro.ServerMain(cmd.Context(), a.In, a.Out, micro.OpenDevice)
			case micro.ClientRole:
				return micro.ClientMain(cmd.Context(), a.In, a.Out, micro.OpenDevice)
			}
			return bench.ClientMain(cmd.Context(), a.In, a.Out, bench.DialCatfish)
		},
	}
	c.Flags().StringVar(&cpus, "cpus", "", "cores to run on")
	c.Flags().StringVar(&profile, "profile", "", "file for a CPU profile")
	return c
}

// rowsTo opens the file of --json. The name - means standard output; the table then
// goes to standard error. Without a name rows is nil.
func (a *app) rowsTo(name string) (table, rows io.Writer, closeRows func(), err error) {
	nothing := func() {}
	switch name {
	case "":
		return a.Out, nil, nothing, nil
	case "-":
		return a.Err, a.Out, nothing, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("--json: %w", err)
	}
	return a.Out, f, func() { f.Close() }, nil
}
