package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/hydradb"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/placement"
)

type hydraDBFlags struct {
	simFlags // cluster, --set, --json and --seed

	figure string
	place  hydradb.Placement
}

func newBenchHydraDB(a *app) *cobra.Command {
	f := hydraDBFlags{simFlags: simFlags{cluster: hydradb.Cluster, chosen: func(string) bool { return false }}}
	c := &cobra.Command{
		Use:   "hydradb",
		Short: "Simulate HydraDB's figures 10, 12 and 13: messages, shards, replication",
		Long: `Simulate figures of HydraDB (SC 2015) on a simulated cluster of ConnectX-3 cards:
13, the mean latency of inserts with no, one and two secondaries, by relaxed and
by strict replication; 10, what RDMA Writes, kept pointers and shards of one thread
add to the throughput of four shards; or 12, throughput by the number of shards, each on a
machine (scale-out) or all on one (scale-up). Every figure is simulated, and none
is fitted to that paper. It takes seconds. 'catfish bench groups' measures what
groups of Catfish cost.

Keys are placed on shards by slots, as several groups of Catfish do, or with
--ring by HydraDB's consistent hashing. --set changes numbers of the cluster, which
'catfish bench sim --print-cluster connectx3' prints. make hydradb-docs puts the
tables into docs/papers/hydradb.md.`,
		Example: `  catfish bench hydradb
  catfish bench hydradb --figure 10
  catfish bench hydradb --figure 12 --ring 128
  catfish bench hydradb --set fabric.latency_ns=1000 --json rows.jsonl`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.benchHydraDB(cmd.Context(), &f) },
	}
	fs := c.Flags()
	fs.StringVar(&f.figure, "figure", "13", "10, 12 or 13")
	fs.IntVar(&f.place.RingPoints, "ring", 0, "with --figure 12: place keys by a ring with this number of points for each shard; 0: by slots")
	cli.Complete(c, "figure", "10", "12", "13")
	fs.StringArrayVar(&f.set, "set", nil, "change a number of the cluster, as in server.nic.out_mops=4; repeatable")
	fs.StringVar(&f.json, "json", "", "write one JSON object per row to this file, - for standard output")
	fs.Uint64Var(&f.seed, "seed", 1, "of keys and chance")
	return c
}

func (a *app) benchHydraDB(ctx context.Context, f *hydraDBFlags) (err error) {
	switch {
	case f.figure != "10" && f.figure != "12" && f.figure != "13":
		return cli.BadUsage("--figure is %q, want 10, 12 or 13", f.figure)
	case f.figure != "12" && f.place.RingPoints != 0:
		return cli.BadUsage("--ring with --figure %s: it is of figure 12", f.figure)
	case f.place.RingPoints < 0 || f.place.RingPoints > placement.MaxPoints:
		return cli.BadUsage("--ring is %d, want 0 to %d", f.place.RingPoints, placement.MaxPoints)
	}
	cl, err := f.open()
	if err != nil {
		return err
	}
	o, err := harness.OpenOutput(a.Out, a.Err, f.json)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	if f.figure == "10" {
		rows, err := hydradb.PredictWays(ctx, cl, f.seed)
		if err != nil {
			return err
		}
		return errors.Join(hydradb.WriteWaysJSON(o.Rows, rows), hydradb.WriteWays(o.Table, rows))
	}
	if f.figure == "12" {
		rows, err := hydradb.PredictScale(ctx, cl, f.place, f.seed)
		if err != nil {
			return err
		}
		return errors.Join(hydradb.WriteScaleJSON(o.Rows, rows), hydradb.WriteScale(o.Table, rows))
	}
	rows, err := hydradb.Predict(ctx, cl, f.seed)
	if err != nil {
		return err
	}
	return errors.Join(hydradb.WriteJSON(o.Rows, rows), hydradb.Write(o.Table, rows))
}
