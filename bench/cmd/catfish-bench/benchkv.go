package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/kv"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/ycsb"
)

type benchKVFlags struct {
	cfg                       kv.Config
	keys, seed                uint64
	valueBytes                int
	mix, dist, server, client string
	table                     string
	theta                     float64
	json, profile             string
}

func newBenchKV(a *app) *cobra.Command {
	var f benchKVFlags
	c := &cobra.Command{
		Use:   "kv",
		Short: "Compare schemes on records by key",
		Long: `Compare schemes on records by key, with YCSB's operations: A is half reads and
half updates, B has 5 % updates, C reads only, D inserts 5 % and reads the latest,
F is half reads and half read-modify-writes. Server and clients are processes of
their own, pinned to the given cores; each scheme gets a fresh server, which the
clients load, and the same operations.

Of the schemes, tcp and fast ask the server, and so does fetch, which reads the
answers itself; offload reads the key index and the record; offload-cached reads
records by references that it keeps, too; paper and cost choose. All others of
bench run go as well.

literal is RFP's protocol to the letter, beside fetch, which is Catfish's: headers of
two bytes, a tail byte, eight response buffers, a server that polls. --shards is the
number of its server threads; it needs a core for each, and for each client process.
'catfish bench rfp --calibrate' computes --fetch-bytes and --fetch-retries. Trips,
reads, posts of the server and bytes are per call.

Every value that is read is checked: that it was written for its key, and that it
is not older than one that was seen before. Wrong answers are counted and make
the command fail.

With --max-bytes the collection is a cache, as Jakiro's: keys may have no record, and the
share of the reads that found one is the hit rate. Reads put nothing.

The table goes to standard output, or to standard error with --json -. bench/peers/kvpeers
measures Redis and memcached in the same rounds.`,
		Example: `  catfish bench kv --mix B --keys 10000000 --server-cpus 0 --client-cpus 1 --transport shm
  catfish bench kv --mix C --scheme fast,offload,offload-cached --batch 64
  catfish bench kv --mix A --dist uniform --value-bytes 1024 --repeat 5 --json rows.jsonl
  catfish bench kv --mix B --scheme fast --max-bytes 16MiB
  catfish bench kv --mix read=95,update=5 --scheme fetch,literal --dist uniform --fetch-always --in-flight 1
  catfish bench kv --mix read=80,insert=20 --scheme fast --items 1 --table conventional`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.config(cmd.Flags())
			if err == nil {
				err = noTransport(cmd.Flags(), cfg.Transport, cfg.Schemes)
			}
			if err != nil {
				return err
			}
			return a.benchKV(cmd.Context(), cfg, f.json, f.profile)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.mix, "mix", "A", "A, B, C, D or F, or percents of read, update, insert and rmw: read=90,update=10")
	fs.Uint64Var(&f.keys, "keys", 1_000_000, "keys that are loaded before")
	fs.IntVar(&f.valueBytes, "value-bytes", 32, "bytes of a value")
	fs.StringVar(&f.dist, "dist", "", "uniform, zipf or latest; empty: latest with mix D, zipf with others")
	fs.Float64Var(&f.theta, "theta", ycsb.Theta, "skew of zipf and latest, 0 to 10; 0 is uniform")
	fs.StringVar(&f.table, "table", cuckoo.GCuckoo.String(), "key index of the collection: gcuckoo, or conventional, which walks at random")
	fs.IntVar(&f.cfg.Items, "items", cuckoo.MaxItems, "items a bucket of the key index; 1: the table of RHKV")
	fs.IntVar(&f.cfg.FetchBytes, "fetch-bytes", 0, "bytes of a first fetch of schemes fetch (in whole lines of 64) and literal: RFP's F; 0: chosen")
	fs.IntVar(&f.cfg.FetchRetries, "fetch-retries", 0, "fetches that find nothing before scheme fetch asks for the answer: RFP's R; 0: chosen")
	fs.BoolVar(&f.cfg.FetchAlways, "fetch-always", false, "scheme fetch fetches all answers that are in time, even if written ones are faster")
	fs.StringSliceVar(&f.cfg.Schemes, "scheme", kv.DefaultSchemes, "schemes to run, in this order")
	fs.IntVar(&f.cfg.Clients, "clients", 8, "connections")
	fs.IntVar(&f.cfg.InFlight, "in-flight", 16, "calls under way per connection")
	fs.IntVar(&f.cfg.Batch, "batch", 1, "keys that are read by one call, if more than one by GetMany")
	fs.IntVar(&f.cfg.Shards, "shards", 0, cli.ShardsUsage(""))
	cli.BytesFlag(fs, &f.cfg.MaxBytes, "max-bytes", cli.MaxBytesUsage(""))
	fs.IntVar(&f.cfg.Procs, "client-procs", 1, "processes that the connections are dealt to")
	fs.DurationVar(&f.cfg.Duration, "duration", 5*time.Second, "measured time per run")
	fs.DurationVar(&f.cfg.Warmup, "warmup", time.Second, "time before it that is not measured")
	fs.IntVar(&f.cfg.Repeat, "repeat", 1, "runs per scheme; the rows hold medians and spreads")
	fs.StringVar(&f.cfg.Transport, "transport", "auto", "auto, shm, soft or ofi; scheme tcp always uses tcp")
	cli.FabricFlags(c, (*catfish.Fabric)(&f.cfg.Fabric))
	coreFlags(c, &f.server, &f.client)
	fs.Uint64Var(&f.seed, "seed", 1, "of keys and operations")
	fs.StringVar(&f.json, "json", "", "write one JSON object per scheme to this file, - for standard output")
	fs.StringVar(&f.profile, "profile", "", "directory for a CPU profile of each process, for go tool pprof")
	cli.Complete(c, "mix", "A", "B", "C", "D", "F")
	cli.Complete(c, "dist", "uniform", "zipf", "latest")
	cli.Complete(c, "table", cuckoo.GCuckoo.String(), cuckoo.Conventional.String())
	cli.CompleteList(c, "scheme", append(cli.Policies()[1:], kv.Literal)...)
	cli.Complete(c, "transport", "auto", "shm", "soft", "ofi")
	return c
}

// config checks what depends on the command line; package kv checks the rest.
func (f *benchKVFlags) config(fs *pflag.FlagSet) (kv.Config, error) {
	cfg := f.cfg
	cfg.Commit = cli.Commit()
	var err error
	if cfg.Workload, err = kv.Workload(f.mix, f.dist); err != nil {
		return cfg, err
	}
	switch f.table {
	case cuckoo.GCuckoo.String():
	case cuckoo.Conventional.String():
		cfg.Table = cuckoo.Conventional
	default:
		return cfg, fmt.Errorf("%w: --table %q, want gcuckoo or conventional", harness.ErrConfig, f.table)
	}
	cfg.Workload.Theta = f.theta
	if err := f.fetchUse(fs); err != nil {
		return cfg, err
	}
	if err := cli.WantMore(fs, "items", "keys", "value-bytes", "clients", "in-flight", "client-procs", "batch", "duration", "repeat", "scheme"); err != nil {
		return cfg, err
	}
	cfg.Workload.Keys, cfg.Workload.ValueBytes, cfg.Workload.Seed = f.keys, f.valueBytes, f.seed
	if err := checkTransport(cfg.Transport); err != nil {
		return cfg, err
	}
	cfg.ServerCPUs, cfg.ClientCPUs, err = splitCores(f.server, f.client)
	return cfg, err
}

// fetchUse: the flags of fetches only matter for schemes that fetch.
func (f *benchKVFlags) fetchUse(fs *pflag.FlagSet) error {
	ours, literal := slices.Contains(f.cfg.Schemes, "fetch"), slices.Contains(f.cfg.Schemes, kv.Literal)
	var errs []error
	if !ours && !literal {
		errs = append(errs, cli.NoUse(fs, "without schemes fetch and literal", "fetch-bytes"))
	}
	if !ours {
		errs = append(errs, cli.NoUse(fs, "without scheme fetch", "fetch-retries", "fetch-always"))
	}
	return cli.FirstOf(errs...)
}

// benchKV runs and prints, as bench does.
func (a *app) benchKV(ctx context.Context, cfg kv.Config, file, profile string) error {
	known := slices.Concat(catfish.Schemes()[1:], []string{kv.Literal})
	if err := cfg.Validate(known); err != nil {
		return err
	}
	return measureRows(a, file, profile, func(spawn child.Spawn, note func(string), done func(kv.Row)) error {
		_, err := kv.Run(ctx, cfg, func(string) child.Spawn { return spawn }, known, note, done)
		return err
	}, kv.WriteTable)
}
