package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/rhkv"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/ycsb"
)

func newBenchRHKV(a *app) *cobra.Command {
	var c rhkv.Config
	var json, dist string
	cmd := &cobra.Command{
		Use:   "rhkv",
		Short: "Run RHKV's tables: G-Cuckoo beside cuckoo hashing that rehashes",
		Long: `Run RHKV's comparison (section 6) in one process: G-Cuckoo with one item a bucket beside
conventional cuckoo hashing, whose walk gives up after 500 kicks and then hashes
all items again, with 20, 15, 10 and 5 % inserts among reads, while the tables fill up
from one load to another. What inserts move is counted, and equal in each run;
times are measured, and those of G-Cuckoo contain what its readers without locks need.

The last line says whether this processor elides locks (HLE), which the paper measures.
'catfish bench kv --table' compares tables in a server.`,
		Example: `  catfish bench rhkv
  catfish bench rhkv --dist zipf --log2 20 --to 0.495 --json rows.jsonl`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if c.Dist, err = ycsb.ParseDist(dist); err != nil {
				return cli.BadUsage("--dist: %v", err)
			}
			rows, err := rhkv.Run(cmd.Context(), c)
			if err != nil {
				return err
			}
			o, err := harness.OpenOutput(a.Out, a.Err, json)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, o.Close()) }()
			err = errors.Join(rhkv.WriteJSON(o.Rows, rows), rhkv.Write(o.Table, rows))
			fmt.Fprintf(o.Table, "\nHLE: %s\n", rhkv.Elision())
			return err
		},
	}
	fs := cmd.Flags()
	fs.IntVar(&c.Log2, "log2", 16, "of the buckets of each of the two tables")
	fs.Float64Var(&c.From, "from", 0.4, "load factor at the first operation")
	fs.Float64Var(&c.To, "to", 0.49, "load factor at the last one, up to 0.495")
	fs.StringVar(&dist, "dist", ycsb.Latest.String(), "distribution of reads: latest, zipf or uniform")
	fs.Uint64Var(&c.Seed, "seed", 1, "of keys and chance")
	fs.StringVar(&json, "json", "", "write one JSON object per row to this file, - for standard output")
	cli.Complete(cmd, "dist", ycsb.Latest.String(), ycsb.Zipfian.String(), ycsb.Uniform.String())
	return cmd
}
