package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/replay"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/cli"
)

type replayFlags struct {
	cfg                     replay.Config
	dataFormat, queryFormat string
	server, client          string
	json, results, profile  string
}

func newReplay(a *app) *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay --data FILE|NAME --queries FILE|NAME",
		Short: "Load a file, ask the queries of another, each exactly once",
		Long: `Load the objects of a file, by insertion in its order, and ask the queries
of another, each exactly once, at a given concurrency. Server and clients
are processes of their own, pinned to the given cores, and each scheme gets
a fresh server; with --server, a running one is asked.

Queries are, whichever --queries names:
  FILE          a recording of 'catfish serve --record', with all kinds of
                requests, or any data set: each rectangle is a search
  QR0 to QR3    the query sets of the rea02 benchmark, made from the data
  50-150        the Catfish paper's: squares that find 50 to 150 objects
  1e-5, power   the paper's random searches within the data's bounds

Schemes that find different objects are an error, and with --verify so is
an answer that is not that of another index. The table goes to standard
output, or to standard error with --json -.`,
		Example: `  catfish replay --data rea02.rea02 --queries QR2 --scheme tcp,fast,offload,paper --verify
  catfish replay --data roads.csv --queries recorded.cfq --bulk --results found.tsv --ids
  catfish replay --server 10.0.0.5:7119 --queries recorded.cfq --clients 32 --json -`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.config(cmd)
			if err != nil {
				return err
			}
			return a.replay(cmd.Context(), cfg, f)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.cfg.Data, "data", "", "file or generator of objects: uniform, skewed, rea02-like, california")
	fs.StringVar(&f.dataFormat, "dataset-format", "",
		"format of --data: csv, geojson, osm, rea02, rec or road; empty: detect")
	fs.IntVar(&f.cfg.Objects, "objects", 0, "how many objects a generator makes, 0: its default")
	fs.StringVar(&f.cfg.Queries, "queries", "", "recording, data set, QR0 to QR3, 50-150 or a scale")
	fs.StringVar(&f.queryFormat, "query-format", "", "format of --queries; empty: detect")
	fs.IntVar(&f.cfg.QueryCount, "query-count", 10_000, "how many queries of a scale")
	fs.StringVar(&f.cfg.Recorded, "recorded", "",
		"collection whose requests are taken from a recording of several")
	fs.BoolVar(&f.cfg.Bulk, "bulk", false, "bulk load the data instead of inserting it")
	fs.StringVarP(&f.cfg.Addr, "server", "s", "", "host or host:port of a running server (or --addr); empty: start one")
	fs.StringVarP(&f.cfg.Collection, "collection", "c", catfish.DefaultCollection, "collection on the running server")
	fs.DurationVar(&f.cfg.DialTimeout, "dial-timeout", catfish.DefaultDialTimeout, "how long to try to reach the server")
	fs.BoolVar(&f.cfg.NoLoad, "no-load", false, "the running server has the data already")
	fs.BoolVar(&f.cfg.Force, "force", false, "insert the data also if the running server's collection has objects")
	fs.StringSliceVar(&f.cfg.Schemes, "scheme", replay.DefaultSchemes(""),
		"schemes to replay by, in this order; with --server by default only "+replay.DefaultSchemes("x")[0])
	fs.IntVar(&f.cfg.Clients, "clients", 8, "connections")
	fs.IntVar(&f.cfg.InFlight, "in-flight", 16, "calls under way per connection")
	fs.IntVar(&f.cfg.Procs, "client-procs", 1, "processes that the connections and the queries are dealt to")
	fs.StringVar(&f.cfg.Transport, "transport", "auto", "auto, shm, soft or ofi; scheme tcp always uses tcp")
	cli.FabricFlags(c, (*catfish.Fabric)(&f.cfg.Fabric))
	coreFlags(c, &f.server, &f.client)
	fs.Uint64Var(&f.cfg.Seed, "seed", 0, "of generators and of random searches")
	fs.IntVar(&f.cfg.NodeBytes, "node-bytes", 0, "size of a tree node, 0: default")
	fs.Int64Var(&f.cfg.SlabBytes, "slab-bytes", 0, "capacity of the tree, 0: default")
	cli.StrategyFlag(c, &f.cfg.Strategy)
	cli.BackoffFlags(c, &f.cfg.Backoff)
	fs.StringVar(&f.results, "results", "", "write a line per query to this file: number, objects found")
	fs.BoolVar(&f.cfg.IDs, "ids", false, "add their ids to --results, ascending; keeps them in memory until the end")
	fs.BoolVar(&f.cfg.Verify, "verify", false, "compare each answer with that of another index; costs the clients time")
	fs.StringVar(&f.json, "json", "", "write one JSON object per scheme to this file, - for standard output")
	fs.StringVar(&f.profile, "profile", "", "directory for a CPU profile of each process, for go tool pprof")
	cli.CompleteList(c, "scheme", cli.Policies()[1:]...)
	cli.CompleteData(c, "data")
	cli.Complete(c, "dataset-format", cli.Formats...)
	cli.Complete(c, "query-format", cli.Formats...)
	cli.Complete(c, "transport", "auto", "shm", "soft", "ofi")
	return c
}

// config checks what depends on the command line; bench checks the rest.
func (f *replayFlags) config(c *cobra.Command) (replay.Config, error) {
	cfg := f.cfg
	cfg.Commit = cli.Commit()
	if err := cli.WantMore(c.Flags(), "clients", "in-flight", "client-procs", "query-count", "scheme"); err != nil {
		return cfg, err
	}
	if !c.Flags().Changed("scheme") {
		cfg.Schemes = replay.DefaultSchemes(cfg.Addr)
	}
	if err := cli.CheckBackoff(c.Flags(), cfg.Backoff, cfg.Schemes...); err != nil {
		return cfg, err
	}
	if err := checkTransport(cfg.Transport); err != nil {
		return cfg, err
	}
	if err := replayNoUse(c.Flags(), cfg); err != nil {
		return cfg, err
	}
	if cfg.IDs && f.results == "" {
		return cfg, cli.BadUsage("--ids goes with --results FILE")
	}
	if cfg.DialTimeout <= 0 {
		return cfg, cli.BadUsage("--dial-timeout is %v, want more than 0", cfg.DialTimeout)
	}
	if cfg.Addr != "" {
		addr, err := cli.Endpoint("server", cfg.Addr, 1)
		if err != nil {
			return cfg, err
		}
		cfg.Addr = addr
		for _, flag := range []string{"server-cpus", "node-bytes", "slab-bytes", "strategy"} {
			if c.Flags().Changed(flag) {
				return cfg, cli.BadUsage("--%s is of a server that replay starts, but --server %s runs", flag, cfg.Addr)
			}
		}
	}
	for _, v := range []struct {
		flag, format string
		spec         *string
	}{
		{"dataset-format", f.dataFormat, &cfg.Data}, {"query-format", f.queryFormat, &cfg.Queries},
	} {
		if v.format == "" {
			continue
		}
		if _, err := datasets.ParseFormat(v.format); err != nil {
			return cfg, cli.BadUsage("--%s: %w", v.flag, err)
		}
		*v.spec = v.format + ":" + *v.spec
	}
	var err error
	cfg.ServerCPUs, cfg.ClientCPUs, err = splitCores(f.server, f.client)
	if cfg.Addr != "" {
		cfg.ServerCPUs = nil // The running server has its own cores.
	}
	return cfg, err
}

// replayNoUse refuses flags that would do nothing in this replay.
func replayNoUse(fs *pflag.FlagSet, cfg replay.Config) error {
	errs := []error{noTransport(fs, cfg.Transport, cfg.Schemes)}
	_, notScale := datasets.ParseScale(cfg.Queries)
	if cfg.Queries != "" && notScale != nil {
		errs = append(errs, cli.NoUse(fs, "with --queries "+cfg.Queries+": only a scale (1e-5, power) takes a number", "query-count"))
	}
	noGenerator := cli.NoUse(fs, "without --data", "objects", "dataset-format")
	if cfg.Data != "" {
		noGenerator = noObjects(fs, cfg.Data)
	}
	if notScale != nil && !isGenerator(cfg.Data) {
		errs = append(errs, cli.NoUse(fs, "without a generator or a scale of queries", "seed"))
	}
	return cli.FirstOf(append(errs, noGenerator)...)
}

// replay runs and prints. It opens all files first, so that a typing
// error in a name does not cost the measurement.
func (a *app) replay(ctx context.Context, cfg replay.Config, f replayFlags) (err error) {
	known := catfish.Schemes()[1:]
	if err := cfg.Validate(known); err != nil {
		return err
	}
	if cfg.Data != "" {
		if _, err := bench.OpenDataset(cfg.Data, cfg.Objects, cfg.Seed); err != nil {
			return err
		}
	}
	return measureRows(a, f.json, f.profile, func(spawn child.Spawn, note func(string), done func(replay.Row)) (failed error) {
		var results io.Writer
		if f.results != "" {
			file, err := os.OpenFile(f.results, os.O_WRONLY|os.O_CREATE, 0o666)
			if err != nil {
				return fmt.Errorf("--results: %w", err)
			}
			defer func() { failed = errors.Join(failed, file.Close()) }()
			results = &overwriter{f: file}
		}
		return replay.Run(ctx, cfg, spawn, known, results, note, done)
	}, replay.WriteTable)
}

// overwriter empties a file when the first new bytes arrive: a failure before
// that leaves the results of the last replay.
type overwriter struct {
	f     *os.File
	begun bool
}

func (o *overwriter) Write(b []byte) (int, error) {
	if !o.begun {
		o.begun = true
		if err := o.f.Truncate(0); err != nil && !errors.Is(err, syscall.EINVAL) {
			return 0, err // EINVAL: a pipe or a terminal, which store nothing.
		}
	}
	return o.f.Write(b)
}
