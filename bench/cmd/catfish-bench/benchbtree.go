package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/bench/btree"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/cli"
)

func newBenchBTree(a *app) *cobra.Command {
	var cfg btree.Config
	var json string
	c := &cobra.Command{
		Use:   "btree",
		Short: "Compare schemes on a B+-tree",
		Long: `Compare schemes on a B+-tree of numbers, which is a demonstration: the framework that
serves R-trees and records serves a structure that it does not know (section VI of the
Catfish paper). Fast messaging, offloading, heartbeats and policies are the product's own.

Each scheme gets a fresh tree, loaded in random order. Clients get a key (also keys that
do not exist), read ranges, and put and delete keys of their own. Of the schemes, local
is the tree itself in the owner's memory, fast asks the server, offload reads nodes one-sidedly, and
paper and cost choose. The others of bench run go as well, but for tcp and
offload-cached; cost keeps no nodes here.

Every answer is compared: each loaded key of a range exactly once, in order, with its
value; the client's own keys as it left them; keys of other clients may come and go. In
the end all of the tree is compared. Wrong answers make the command fail.

Server and clients are in one process: rates compare schemes with each other. Round
trips and reads of an operation are exact.`,
		Example: `  catfish bench btree --keys 1000000 --range 100 --clients 8
  catfish bench btree --scheme local,offload-single,offload --writes 0 --json rows.jsonl`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.WantMore(cmd.Flags(), "scheme", "keys", "range", "clients", "duration"); err != nil {
				return err
			}
			cfg.Commit = cli.Commit()
			if err := cfg.Validate(); err != nil {
				return err
			}
			return harness.Report(a.Out, a.Err, json, func(done func(btree.Row)) error {
				return btree.Run(cmd.Context(), cfg, a.note, done)
			}, btree.WriteTable)
		},
	}
	fs := c.Flags()
	fs.StringSliceVar(&cfg.Schemes, "scheme", []string{btree.Local, "fast", "offload-single", "offload", "paper", "cost"}, "schemes to run, in this order")
	fs.IntVar(&cfg.Keys, "keys", 1_000_000, "keys that are loaded before")
	fs.IntVar(&cfg.Range, "range", 100, "loaded keys of a range read")
	fs.IntVar(&cfg.Clients, "clients", 8, "clients, each with one operation at a time")
	fs.IntVar(&cfg.Scans, "scans", 20, "percent of operations that read a range; gets are the rest")
	fs.IntVar(&cfg.Writes, "writes", 10, "percent of operations that put or delete a key")
	fs.DurationVar(&cfg.Duration, "duration", 2*time.Second, "measured time of a scheme")
	fs.StringVar(&cfg.Transport, "transport", "shm", "shm or soft")
	fs.Uint64Var(&cfg.Seed, "seed", 1, "of keys and operations")
	fs.StringVar(&json, "json", "", "write one JSON object per scheme to this file, - for standard output")
	cli.CompleteList(c, "scheme", btree.Schemes()...)
	cli.Complete(c, "transport", "shm", "soft")
	return c
}
