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
	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/features"
	"github.com/catfish-index/catfish/bench/groups"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/idle"
	"github.com/catfish-index/catfish/bench/kv"
	"github.com/catfish-index/catfish/bench/micro"
	"github.com/catfish-index/catfish/bench/mongo"
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
		newBenchKV(a), newBenchBTree(a), newBenchFeatures(a), newBenchIdle(a), newBenchMongo(a), newBenchGroups(a), newBenchDocs(a), newBenchRFP(a), newBenchHydraDB(a), newBenchRHKV(a), newBenchChild(a))
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
own, pinned to the given cores. When the mix only reads, all schemes ask one
server, and if they return different objects that is an error; else each run
has a fresh server with the same data and queries.

The table goes to standard output, or to standard error with --json -.`,
		Example: `  catfish bench run --scheme tcp,fast,offload,paper --objects 2000000 \
      --scale 1e-5 --clients 8 --server-cpus 0 --client-cpus 1 --transport shm
  catfish bench run --scheme fast,paper --dataset california --scale 1e-2 \
      --mix search=90,insert=10 --repeat 5 --json rows.jsonl
  catfish bench run --scheme fast,paper --strategy original --insert --backoff-n 16`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.config(cmd.Flags())
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
func (f *benchFlags) config(fs *pflag.FlagSet) (bench.Config, error) {
	cfg := f.cfg
	cfg.Commit = cli.Commit()
	var err error
	if cfg.Mix, err = bench.ParseMix(f.mix); err != nil {
		return cfg, fmt.Errorf("--mix: %w", err)
	}
	if err := cli.WantMore(fs, "objects", "clients", "in-flight", "client-procs", "batch", "duration", "repeat", "scheme"); err != nil {
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

// measureRows runs a measurement, prints its table, and writes its rows to the file of --json.
func measureRows[R any](a *app, file, profile string, run func(spawn child.Spawn, note func(string), done func(R)) error,
	table func(io.Writer, []R) error) error {
	spawn, err := spawner(profile)
	if err != nil {
		return err
	}
	return harness.Report(a.Out, a.Err, file, func(done func(R)) error { return run(spawn, a.note, done) }, table)
}

// note prints progress.
func (a *app) note(s string) { fmt.Fprintln(a.Err, s) }

// bench runs and prints.
func (a *app) bench(ctx context.Context, cfg bench.Config, file, profile string) error {
	known := catfish.Schemes()[1:]
	if err := cfg.Validate(known); err != nil {
		return err
	}
	if _, err := bench.OpenDataset(cfg.Dataset, cfg.Objects, cfg.Seed); err != nil {
		return err
	}
	return measureRows(a, file, profile, func(spawn child.Spawn, note func(string), done func(bench.Row)) error {
		_, err := bench.Run(ctx, cfg, spawn, known, note, done)
		return err
	}, bench.WriteTable)
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
			return a.roles()[child.Role(role[0])](cmd.Context(), a.In, a.Out)
		},
	}
	for role := range a.roles() {
		c.ValidArgs = append(c.ValidArgs, string(role))
	}
	c.Flags().StringVar(&cpus, "cpus", "", "cores to run on")
	c.Flags().StringVar(&profile, "profile", "", "file for a CPU profile")
	return c
}

// roles are what a child may be.
func (a *app) roles() map[child.Role]func(ctx context.Context, in io.Reader, out io.Writer) error {
	return map[child.Role]func(ctx context.Context, in io.Reader, out io.Writer) error{
		demoRole:            demoMain,
		engine.ClientRole:   engine.ClientMain,
		features.ServerRole: features.ServerMain,
		features.ClientRole: features.ClientMain,
		features.LocalRole:  features.LocalMain,
		groups.ClientRole:   groups.ClientMain,
		idle.ServerRole:     idle.ServerMain,
		idle.ClientRole:     idle.ClientMain,
		mongo.ServerRole:    mongo.ServerMain,
		mongo.ClientRole:    mongo.ClientMain,
		bench.ServerRole: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return bench.ServerMain(ctx, in, out, bench.StartCatfish)
		},
		bench.ClientRole: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return bench.ClientMain(ctx, in, out, bench.DialCatfish)
		},
		replay.Role: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return replay.Main(ctx, in, out, replay.Dial)
		},
		kv.ServerRole: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return kv.ServerMain(ctx, in, out, kv.StartCatfish)
		},
		kv.ClientRole: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return kv.ClientMain(ctx, in, out, kv.DialCatfish)
		},
		micro.ServerRole: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return micro.ServerMain(ctx, in, out, bench.OpenDevice)
		},
		micro.ClientRole: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return micro.ClientMain(ctx, in, out, bench.OpenDevice)
		},
	}
}
