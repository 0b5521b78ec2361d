package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/hydradb"
	"github.com/catfish-index/catfish/internal/cli"
)

func newBenchHydraDB(a *app) *cobra.Command {
	f := simFlags{cluster: hydradb.Cluster, chosen: func(string) bool { return false }}
	c := &cobra.Command{
		Use:   "hydradb",
		Short: "Simulate HydraDB's figure 13: what replication adds to latency",
		Long: `Simulate figure 13 of HydraDB (SC 2015): the mean latency of inserts with no, one
and two secondaries, by relaxed and by strict replication, on a simulated cluster
of ConnectX-3 cards. Every figure is simulated, and none is fitted to that paper.
It takes seconds. 'catfish bench groups' measures what groups of Catfish cost.

--set changes numbers of the cluster, which 'catfish bench sim --print-cluster
connectx3' prints. make hydradb-docs puts the table into docs/papers/hydradb.md.`,
		Example: `  catfish bench hydradb
  catfish bench hydradb --set fabric.latency_ns=1000 --json rows.jsonl`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.benchHydraDB(cmd.Context(), &f) },
	}
	fs := c.Flags()
	fs.StringArrayVar(&f.set, "set", nil, "change a number of the cluster, as in server.nic.out_mops=4; repeatable")
	fs.StringVar(&f.json, "json", "", "write one JSON object per row to this file, - for standard output")
	fs.Uint64Var(&f.seed, "seed", 1, "of keys and chance")
	return c
}

func (a *app) benchHydraDB(ctx context.Context, f *simFlags) (err error) {
	cl, err := f.open()
	if err != nil {
		return err
	}
	o, err := harness.OpenOutput(a.Out, a.Err, f.json)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	rows, err := hydradb.Predict(ctx, cl, f.seed)
	if err != nil {
		return err
	}
	return errors.Join(hydradb.WriteJSON(o.Rows, rows), hydradb.Write(o.Table, rows))
}
