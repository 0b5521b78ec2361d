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
	cfg                  kv.Config
	keys, seed           uint64
	valueBytes           int
	dist, server, client string
	mixes, tables        []string
	thetas               []float64
	json, profile        string
}

func newBenchKV(a *app) *cobra.Command {
	var f benchKVFlags
	c := &cobra.Command{
		Use:   "kv",
		Short: "Compare schemes on records by key",
		Long: `Compare schemes on records by key, with YCSB's operations: A is half reads and
half updates, B has 5 % updates, C reads only, D inserts 5 % and reads the latest,
F is half reads and half read-modify-writes; hydra-a, -b and -c are HydraDB's mixes of 50,
90 and 100 % reads with updates, by Zipf's law, and hydra-d, -e and -f the same with uniform
keys. Server and clients are processes of
their own, pinned to the given cores; each scheme gets a fresh server, which the
clients load, and the same operations.

Of the schemes, tcp and fast ask the server, and so does fetch, which reads the
answers itself; offload reads the key index and the record; offload-cached reads
records by references that it keeps, too; paper and cost choose. All others of
bench run go as well. With --pointers answers the references that offload-cached and cost
keep come with answers to messages, under leases, as HydraDB's do.

literal is RFP's protocol to the letter, beside fetch, which is Catfish's: headers of
two bytes, a tail byte, eight response buffers, a server that polls. --shards is the
number of its server threads; it needs a core for each, and for each client process.
indicator is HydraDB's messages in the same way, beside fast: a Write each way, polled and
zeroed at both sides by a word before the body and a word after it.
'catfish bench rfp --calibrate' computes --fetch-bytes and --fetch-retries. Trips,
reads, posts of the server and bytes are per call.

Every value that is read is checked: that it was written for its key, and that it
is not older than one that was seen before. Wrong answers are counted and make
the command fail.

Clients of one process keep references together. With --shared-pointers those of all
--client-procs do, as HydraDB's of a machine, with schemes that keep some.

With --max-bytes the collection is a cache, as Jakiro's: keys may have no record, and the
share of the reads that found one is the hit rate. Reads put nothing.

Several mixes, skews (--theta) and key indexes (--table) run in the same rounds. Below the table, throughput and
mean latency of each row are compared within rounds with the first row of its mix and skew, or with the
first of all if each row has another.

With --sync the records are kept on disk, below --dir. Column server MB is resident memory when
the run ends.

The table goes to standard output, or to standard error with --json -. bench/peers/kvpeers
measures Redis and memcached in the same rounds.`,
		Example: `  catfish bench kv --mix B --keys 10000000 --server-cpus 0 --client-cpus 1 --transport shm
  catfish bench kv --mix C --scheme fast,offload,offload-cached --batch 64
  catfish bench kv --mix A --dist uniform --value-bytes 1024 --repeat 5 --json rows.jsonl
  catfish bench kv --mix B --scheme fast --max-bytes 16MiB
  catfish bench kv --mix hydra-b --scheme fast,offload-cached --pointers answers
  catfish bench kv --mix C --scheme offload-cached --clients 10 --client-procs 10 --shared-pointers /dev/shm/pointers
  catfish bench kv --mix read=95,update=5 --scheme fetch,literal --dist uniform --fetch-always --in-flight 1
  catfish bench kv --mix read=80,insert=20 --dist latest --scheme fast --items 1 --table conventional,gcuckoo --repeat 5
  catfish bench kv --mix B --scheme fast --theta 0.1,0.5,0.9 --repeat 3
  catfish bench kv --mix update=100 --scheme tcp,fast --sync always --clients 1 --in-flight 1`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfgs, err := f.configs(cmd.Flags())
			if err == nil {
				err = noTransport(cmd.Flags(), f.cfg.Transport, f.cfg.Schemes)
			}
			if err != nil {
				return err
			}
			return a.benchKV(cmd.Context(), cfgs, f.json, f.profile)
		},
	}
	fs := c.Flags()
	fs.StringArrayVar(&f.mixes, "mix", []string{"A"}, "A, B, C, D or F, hydra-a to hydra-f, or percents of read, update, insert and rmw: read=90,update=10; several by repeating the flag")
	fs.Uint64Var(&f.keys, "keys", 1_000_000, "keys that are loaded before")
	fs.IntVar(&f.valueBytes, "value-bytes", 32, "bytes of a value")
	fs.StringVar(&f.dist, "dist", "", "uniform, zipf or latest; empty: latest with mix D, HydraDB's own with hydra-a to -f, zipf with others")
	fs.Float64SliceVar(&f.thetas, "theta", []float64{ycsb.Theta}, "skew of zipf and latest, 0 to 10; 0 is uniform; or several")
	fs.StringSliceVar(&f.tables, "table", []string{cuckoo.GCuckoo.String()}, "key index of the collection: gcuckoo, or conventional, which walks at random; or both")
	fs.IntVar(&f.cfg.Items, "items", cuckoo.MaxItems, "items a bucket of the key index; 1: the table of RHKV")
	fs.IntVar(&f.cfg.FetchBytes, "fetch-bytes", 0, "bytes of a first fetch of schemes fetch (in whole lines of 64) and literal: RFP's F; 0: chosen")
	fs.IntVar(&f.cfg.FetchRetries, "fetch-retries", 0, "fetches that find nothing before scheme fetch asks for the answer: RFP's R; 0: chosen")
	fs.BoolVar(&f.cfg.FetchAlways, "fetch-always", false, "scheme fetch fetches all answers that are in time, even if written ones are faster")
	fs.StringSliceVar(&f.cfg.Schemes, "scheme", kv.DefaultSchemes, "schemes to run, in this order")
	fs.StringVar(&f.cfg.Pointers, "pointers", "", "where schemes that keep references have them from: lookups (empty) or answers, which HydraDB's are")
	fs.IntVar(&f.cfg.Clients, "clients", 8, "connections")
	fs.IntVar(&f.cfg.InFlight, "in-flight", 16, "calls under way per connection")
	fs.IntVar(&f.cfg.Batch, "batch", 1, "keys that are read by one call, if more than one by GetMany")
	fs.IntVar(&f.cfg.Shards, "shards", 0, cli.ShardsUsage(""))
	cli.BytesFlag(fs, &f.cfg.MaxBytes, "max-bytes", cli.MaxBytesUsage(""))
	fs.StringVar(&f.cfg.Sync, "sync", "", "keep the records on disk; a write is durable "+kv.SyncAlways+" (before it is answered), or "+kv.SyncOff+" (when the system has written it)")
	fs.StringVar(&f.cfg.Dir, "dir", "", "with --sync: where directories for records are made and removed; empty: the directory for temporary files")
	fs.IntVar(&f.cfg.Procs, "client-procs", 1, "processes that the connections are dealt to")
	fs.StringVar(&f.cfg.SharedPointers, "shared-pointers", "", cli.SharedPointersUsage)
	fs.DurationVar(&f.cfg.Duration, "duration", 5*time.Second, "measured time per run")
	fs.DurationVar(&f.cfg.Warmup, "warmup", time.Second, "time before it that is not measured")
	fs.IntVar(&f.cfg.Repeat, "repeat", 1, "runs per scheme; the rows hold medians and spreads")
	fs.StringVar(&f.cfg.Transport, "transport", "auto", "auto, shm, soft or ofi; scheme tcp always uses tcp")
	cli.FabricFlags(c, (*catfish.Fabric)(&f.cfg.Fabric))
	coreFlags(c, &f.server, &f.client)
	fs.Uint64Var(&f.seed, "seed", 1, "of keys and operations")
	fs.StringVar(&f.json, "json", "", "write one JSON object per scheme to this file, - for standard output")
	fs.StringVar(&f.profile, "profile", "", "directory for a CPU profile of each process, for go tool pprof")
	cli.Complete(c, "mix", "A", "B", "C", "D", "F", "hydra-a", "hydra-b", "hydra-c", "hydra-d", "hydra-e", "hydra-f")
	cli.Complete(c, "pointers", catfish.PointersLookups, catfish.PointersAnswers)
	cli.Complete(c, "dist", "uniform", "zipf", "latest")
	cli.CompleteList(c, "table", cuckoo.GCuckoo.String(), cuckoo.Conventional.String())
	cli.Complete(c, "sync", kv.SyncAlways, kv.SyncOff)
	cli.CompleteList(c, "scheme", append(cli.Policies()[1:], kv.Literal)...)
	cli.Complete(c, "transport", "auto", "shm", "soft", "ofi")
	return c
}

// configs are those of all mixes, skews and tables. It checks what depends on the command line; package kv checks
// the rest.
func (f *benchKVFlags) configs(fs *pflag.FlagSet) (all []kv.Config, err error) {
	cfg := f.cfg
	cfg.Commit = cli.Commit()
	var tables []cuckoo.Kind
	for _, name := range f.tables {
		switch name {
		case cuckoo.GCuckoo.String():
			tables = append(tables, cuckoo.GCuckoo)
		case cuckoo.Conventional.String():
			tables = append(tables, cuckoo.Conventional)
		default:
			return nil, fmt.Errorf("%w: --table %q, want gcuckoo or conventional", harness.ErrConfig, name)
		}
	}
	if err := f.fetchUse(fs); err != nil {
		return nil, err
	}
	if cfg.Sync == "" {
		if err := cli.NoUse(fs, "without --sync", "dir"); err != nil {
			return nil, err
		}
	}
	if err := cli.WantMore(fs, "items", "keys", "value-bytes", "clients", "in-flight", "client-procs", "batch", "duration", "repeat", "scheme", "table"); err != nil {
		return nil, err
	}
	cfg.Workload.Keys, cfg.Workload.ValueBytes, cfg.Workload.Seed = f.keys, f.valueBytes, f.seed
	if err := checkTransport(cfg.Transport); err != nil {
		return nil, err
	}
	if cfg.ServerCPUs, cfg.ClientCPUs, err = splitCores(f.server, f.client); err != nil {
		return nil, err
	}
	return cfg.Vary(f.mixes, f.dist, f.thetas, tables)
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
func (a *app) benchKV(ctx context.Context, cfgs []kv.Config, file, profile string) error {
	known := slices.Concat(catfish.Schemes()[1:], kv.LiteralSchemes)
	for _, cfg := range cfgs { // Before the file is overwritten.
		if err := cfg.Validate(known); err != nil {
			return err
		}
	}
	return measureRows(a, file, profile, func(spawn child.Spawn, note func(string), done func(kv.Row)) error {
		_, err := kv.Run(ctx, cfgs, func(string) child.Spawn { return spawn }, known, note, done)
		return err
	}, kv.WriteTable)
}
