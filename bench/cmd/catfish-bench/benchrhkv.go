package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/rhkv"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/ycsb"
)

func newBenchRHKV(a *app) *cobra.Command {
	var c rhkv.Config
	var json, dist string
	recent := rhkv.Recent{}
	var counts, flushes bool
	cmd := &cobra.Command{
		Use:   "rhkv",
		Short: "Run RHKV's tables: G-Cuckoo beside cuckoo hashing that rehashes",
		Long: `Run RHKV's comparison (section 6) in one process: G-Cuckoo with one item a bucket beside
conventional cuckoo hashing, whose walk gives up after 500 kicks and then hashes
all items again, with 20, 15, 10 and 5 % inserts among reads, while the tables fill up
from one load to another. What inserts move is counted, and equal in each run;
times are measured, and those of G-Cuckoo contain what its readers without locks need.

The last line says whether this processor elides locks (HLE), which the paper measures.

With --recent it counts instead what a cache of recent items in front of a server's index
would save: lookups, lines of 64 bytes that a Get touches, and those that a processor's
cache of 1 MiB has not. Nothing is measured.

With --flush it measures the two ways to make a stored item whole after a crash: a CRC-32C, and
CLFLUSH of each line and MFENCE. The memory is not persistent; amd64 only.

'catfish bench kv --table' compares tables in a server.`,
		Example: `  catfish bench rhkv
  catfish bench rhkv --dist zipf --log2 20 --to 0.495 --repeat 5 --json rows.jsonl
  catfish bench rhkv --recent --keys 20000000 --theta 0.9
  catfish bench rhkv --flush --repeat 100`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if flushes {
				return measureFlushes(cmd, a, c.Repeat, json)
			}
			if counts {
				return countRecent(a, cmd.Flags(), recent, c.Seed, json)
			}
			if err := cli.NoUse(cmd.Flags(), "without --recent", "keys", "theta", "entries", "gets"); err != nil {
				return err
			}
			if c.Dist, err = ycsb.ParseDist(dist); err != nil {
				return cli.BadUsage("--dist: %v", err)
			}
			if err := cli.WantMore(cmd.Flags(), "log2", "from", "to", "repeat"); err != nil {
				return err
			}
			c.Commit = cli.Commit()
			return harness.Report(a.Out, a.Err, json, func(done func(rhkv.Row)) error {
				return rhkv.Run(cmd.Context(), c, done)
			}, func(w io.Writer, rows []rhkv.Row) error {
				if len(rows) == 0 {
					return nil
				}
				err := rhkv.Write(w, rows)
				fmt.Fprintf(w, "\nHLE: %s\n", rhkv.Elision())
				return err
			})
		},
	}
	fs := cmd.Flags()
	fs.IntVar(&c.Log2, "log2", 16, "of the buckets of each of the two tables")
	fs.Float64Var(&c.From, "from", 0.4, "load factor at the first operation")
	fs.Float64Var(&c.To, "to", 0.49, "load factor at the last one, up to 0.495")
	fs.IntVar(&c.Repeat, "repeat", 1, "rounds; the rows hold medians, the last column the ratio within rounds")
	fs.StringVar(&dist, "dist", ycsb.Latest.String(), "distribution of reads: latest, zipf or uniform")
	fs.Uint64Var(&c.Seed, "seed", 1, "of keys and chance")
	fs.BoolVar(&counts, "recent", false, "count what a cache of recent items saves")
	fs.BoolVar(&flushes, "flush", false, "measure a checksum beside flushes of lines")
	fs.Uint64Var(&recent.Keys, "keys", 1_000_000, "with --recent: records")
	fs.Float64Var(&recent.Theta, "theta", ycsb.Theta, "with --recent: skew of Gets, 0 to 10")
	fs.IntSliceVar(&recent.Entries, "entries", []int{16, 1 << 10, 1 << 14, 1 << 18}, "with --recent: sizes of the cache, powers of 2; 16 bytes an entry")
	fs.IntVar(&recent.Gets, "gets", 10_000_000, "with --recent: Gets that are counted, after as many that fill the cache")
	fs.StringVar(&json, "json", "", "write one JSON object per row to this file, - for standard output")
	cli.Complete(cmd, "dist", ycsb.Latest.String(), ycsb.Zipfian.String(), ycsb.Uniform.String())
	return cmd
}

// measureFlushes is --flush.
func measureFlushes(cmd *cobra.Command, a *app, rounds int, json string) error {
	if err := cli.NoUse(cmd.Flags(), "with --flush", "log2", "from", "to", "dist", "seed", "recent", "keys", "theta", "entries", "gets"); err != nil {
		return err
	}
	return harness.Report(a.Out, a.Err, json, func(done func(rhkv.FlushRow)) error {
		return rhkv.Flush(cmd.Context(), rounds, cli.Commit(), done)
	}, rhkv.WriteFlush)
}

// countRecent is --recent.
func countRecent(a *app, fs *pflag.FlagSet, c rhkv.Recent, seed uint64, json string) error {
	if err := cli.NoUse(fs, "with --recent", "log2", "from", "to", "repeat", "dist"); err != nil {
		return err
	}
	c.Seed = seed
	return harness.Report(a.Out, a.Err, json, func(done func(rhkv.RecentRow)) error {
		rows, err := rhkv.CountRecent(c)
		for _, r := range rows {
			done(r)
		}
		return err
	}, rhkv.WriteRecent)
}
