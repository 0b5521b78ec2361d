package main

import (
	"context"
	"fmt"
	"runtime"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/bench/kvlocal"
	"github.com/catfish-index/catfish/datasets/ycsb"
	"github.com/catfish-index/catfish/internal/cli"
)

func newBenchKVLocal(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "kv-local",
		Short: "Measure records and key indexes in one process",
		Example: `  catfish bench kv-local get --keys 10000000
  catfish bench kv-local put --updates 1000000000
  catfish bench kv-local inserts --inserts 1000000000
  catfish bench kv-local load
  catfish bench kv-local shards --mix B`,
	}
	cli.Group(c)
	c.AddCommand(newBenchKVGet(a), newBenchKVPut(a), newBenchKVInserts(a), newBenchKVLoad(a), newBenchKVShards(a))
	return c
}

// kvLocal makes a command that measures and emits rows.
func kvLocal(a *app, c *cobra.Command, validate func() error, run func(ctx context.Context, note func(string), each func(kvlocal.Row)) error) *cobra.Command {
	json := c.Flags().String("json", "", "write one JSON object per row to this file, - for standard output")
	c.Long += `

The table goes to standard output, or to standard error with --json -; what is
done so far goes to standard error, too.`
	c.Args = cli.Args(cobra.NoArgs)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := validate(); err != nil {
			return err
		}
		table, rowsTo, closeRows, err := a.rowsTo(*json)
		if err != nil {
			return err
		}
		defer closeRows()
		note := func(s string) { fmt.Fprintln(a.Err, s) }
		var rows []kvlocal.Row
		runErr := run(cmd.Context(), note, func(r kvlocal.Row) {
			rows = append(rows, r)
			if rowsTo != nil && err == nil {
				err = kvlocal.WriteJSON(rowsTo, r)
			}
		})
		t := tabwriter.NewWriter(table, 0, 0, 2, ' ', 0)
		for i, r := range rows {
			if i == 0 {
				fmt.Fprintln(t, r.Heading())
			}
			fmt.Fprintln(t, r.Line())
		}
		if flushErr := t.Flush(); err == nil {
			err = flushErr
		}
		if runErr != nil {
			return runErr
		}
		return err
	}
	return c
}

func newBenchKVGet(a *app) *cobra.Command {
	var cfg kvlocal.GetConfig
	c := &cobra.Command{
		Use:   "get",
		Short: "Compare lookups with those of a Go map",
		Long: `Compare lookups by one goroutine: one by one, many at once, and in a Go
map[string][]byte under a read lock. All have the same keys, of 16 bytes, and look
them up in the same random order, in turns. Rates are compared within rounds, by
the processor time of the thread, which others on the machine disturb less.`,
		Example: `  catfish bench kv-local get --keys 10000000 --value-bytes 32
  catfish bench kv-local get --keys 1000000 --rounds 51 --json rows.jsonl`,
	}
	fs := c.Flags()
	fs.IntVar(&cfg.Keys, "keys", 10_000_000, "keys; some 3 GB of memory for 10 million")
	fs.IntVar(&cfg.ValueBytes, "value-bytes", 32, "bytes of each value")
	fs.IntVar(&cfg.Ops, "ops", 500_000, "lookups of each way in a round")
	fs.IntVar(&cfg.Rounds, "rounds", 21, "in which the ways take turns")
	fs.IntVar(&cfg.Batch, "batch", 64, "keys that are looked up at once")
	fs.Uint64Var(&cfg.Seed, "seed", 1, "of the order and of hashes")
	return kvLocal(a, c, cfg.Validate, func(ctx context.Context, note func(string), each func(kvlocal.Row)) error {
		rows, err := kvlocal.Get(ctx, cfg, note)
		for _, r := range rows {
			each(r)
		}
		return err
	})
}

func newBenchKVPut(a *app) *cobra.Command {
	var cfg kvlocal.PutConfig
	c := &cobra.Command{
		Use:   "put",
		Short: "Measure updates, and the memory that they take",
		Long: `Measure updates of random keys, of 16 bytes, by one goroutine. Each writes a new
record; the place of the old one is used again after a second. So the records take
what the keys need, and a second of updates: the table shows it after each part of
the run.`,
		Example: `  catfish bench kv-local put --updates 20000000
  catfish bench kv-local put --updates 1000000000 --parts 100 --json rows.jsonl`,
	}
	fs := c.Flags()
	fs.IntVar(&cfg.Keys, "keys", 1_000_000, "keys")
	fs.IntVar(&cfg.ValueBytes, "value-bytes", 32, "bytes of each value")
	fs.IntVar(&cfg.Updates, "updates", 20_000_000, "updates in all")
	fs.IntVar(&cfg.Parts, "parts", 10, "parts of the run, each with a row")
	fs.Uint64Var(&cfg.Seed, "seed", 1, "of the order and of hashes")
	return kvLocal(a, c, cfg.Validate, func(ctx context.Context, note func(string), each func(kvlocal.Row)) error {
		return kvlocal.Put(ctx, cfg, func(r kvlocal.PutRow) {
			note(fmt.Sprintf("%d of %d updates, %.0f/s, %d MiB resident", r.Updates, cfg.Updates, r.Rate, r.Resident>>20))
			each(r)
		})
	})
}

func newBenchKVInserts(a *app) *cobra.Command {
	var cfg kvlocal.InsertsConfig
	c := &cobra.Command{
		Use:   "inserts",
		Short: "Insert into many cuckoo tables, at loads up to where they are full",
		Long: `Insert into many cuckoo tables, which are filled to a load and kept there by as
many deletions, and count what happened: walks that did not end, the longest chain
of kicks, the paper's cases (RHKV, Algorithm 1), items that found no place. Rows of
kind gcuckoo know before they kick anything whether there is room; rows of kind
conventional walk at random, and give up after 500 kicks, which counts as a loop.`,
		Example: `  catfish bench kv-local inserts --inserts 10000000
  catfish bench kv-local inserts --inserts 1000000000 --json rows.jsonl`,
	}
	fs := c.Flags()
	fs.IntVar(&cfg.Inserts, "inserts", 10_000_000, "insertions into the gcuckoo tables; those of kind conventional get a tenth in addition")
	fs.IntVar(&cfg.Buckets, "buckets", 1<<12, "of each of a table's two, a power of two")
	fs.Uint64Var(&cfg.Seed, "seed", 1, "of the keys' hashes")
	return kvLocal(a, c, cfg.Validate, func(ctx context.Context, note func(string), each func(kvlocal.Row)) error {
		return kvlocal.Inserts(ctx, cfg, note, func(r kvlocal.InsertsRow) { each(r) })
	})
}

func newBenchKVLoad(a *app) *cobra.Command {
	var cfg kvlocal.LoadConfig
	c := &cobra.Command{
		Use:   "load",
		Short: "Measure how full cuckoo tables become",
		Long: `Fill empty cuckoo tables, and say how full they are when the first item goes to
the stash, and when half of the stash is full, at which a table grows at the
latest: medians over the seeds.`,
		Example: `  catfish bench kv-local load
  catfish bench kv-local load --buckets 1048576 --seeds 5 --json rows.jsonl`,
	}
	fs := c.Flags()
	fs.IntVar(&cfg.Buckets, "buckets", 1<<16, "of each of a table's two, a power of two")
	fs.IntVar(&cfg.Seeds, "seeds", 21, "tables of each kind")
	return kvLocal(a, c, cfg.Validate, func(ctx context.Context, note func(string), each func(kvlocal.Row)) error {
		return kvlocal.Load(ctx, cfg, func(r kvlocal.LoadRow) {
			note(fmt.Sprintf("%s with %d items a bucket: done", r.Kind, r.Items))
			each(r)
		})
	})
}

func newBenchKVShards(a *app) *cobra.Command {
	cfg := kvlocal.ShardsConfig{Theta: ycsb.Theta}
	var mix, dist string
	c := &cobra.Command{
		Use:   "shards",
		Short: "Compare one map with single-threaded shards and with pipelined ones",
		Long: `Compare what goroutines do together with the same keys and operations: in one map
that all share; in a map for each, with keys that no other one touches
(single-threaded shards); and pipelined, where half of them dispatch, and hand
batches of requests to those that own the shards through queues, which answer.
Rates are compared within rounds. The busiest map's share is told, 1 being equal
shares: a way is done when its last goroutine is.`,
		Example: `  catfish bench kv-local shards --keys 10000000 --mix read=95,update=5 --dist uniform
  catfish bench kv-local shards --goroutines 8 --mix A --json rows.jsonl`,
	}
	fs := c.Flags()
	fs.IntVar(&cfg.Goroutines, "goroutines", runtime.GOMAXPROCS(0), "of each way; pipelined has two or more")
	fs.IntVar(&cfg.Keys, "keys", 1_000_000, "keys, 16 bytes each")
	fs.IntVar(&cfg.ValueBytes, "value-bytes", 32, "bytes of each value")
	fs.StringVar(&mix, "mix", "B", "A, B or C, or shares in percent as in read=95,update=5")
	fs.StringVar(&dist, "dist", "zipf", "uniform or zipf")
	fs.Float64Var(&cfg.Theta, "theta", cfg.Theta, "skew of zipf")
	fs.IntVar(&cfg.Ops, "ops", 1_000_000, "operations of each way in a round, of all goroutines together")
	fs.IntVar(&cfg.Rounds, "rounds", 21, "in which the ways take turns")
	fs.IntVar(&cfg.Batch, "batch", 64, "requests that are handed over at once")
	fs.Uint64Var(&cfg.Seed, "seed", 1, "of the operations and of hashes")
	validate := func() (err error) {
		if cfg.Mix, err = ycsb.ParseMix(mix); err != nil {
			return cli.BadUsage("--mix: %w", err)
		}
		if cfg.Dist, err = ycsb.ParseDist(dist); err != nil {
			return cli.BadUsage("--dist: %w", err)
		}
		return cfg.Validate()
	}
	return kvLocal(a, c, validate, func(ctx context.Context, note func(string), each func(kvlocal.Row)) error {
		rows, err := kvlocal.Shards(ctx, cfg, note)
		for _, r := range rows {
			each(r)
		}
		return err
	})
}
