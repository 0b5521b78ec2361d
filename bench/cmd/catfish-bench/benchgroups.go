package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/bench/groups"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/cli"
)

func newBenchGroups(a *app) *cobra.Command {
	var cfg groups.Config
	var json, markdown string
	c := &cobra.Command{
		Use:   "groups",
		Short: "Measure what replication costs: writes, switches, new members",
		Long: `Measure replicated groups as a service, in five parts:

  writes  latency and throughput of a server alone and of groups of 1, 2 and 3
          members, at each level of acknowledgement, for features and kept
          records: HydraDB's figure 13. Ratios to the server alone are taken
          within rounds
  switch  the primary of three members is switched while clients write: the
          longest time without an acknowledged write, and errors
  sync    a new member with an empty directory: its rate beside that of its
          lane and of memory, the primary's processor time, other writers' rate
  lanes   the base lines of HydraDB that lose writes and that no server has,
          beside what groups do, in one process
  moves   a slot moves to and fro between two groups, each of --members members,
          while clients write: how long writes of the slot wait, and others' rate

Coordinator, servers and clients are processes of their own. With --network none
clients and lanes are over shared memory; with namespaces each process has a
network namespace, clients and lanes are over soft, and packets are late by each
--delay. Namespaces need root, iproute2 and /dev/net/tun. The delay comes to the time
that packets take through this program, also with a delay of 0.

The table goes to standard output, or to standard error with --json -.`,
		Example: `  catfish bench groups
  catfish bench groups --network none --part writes --sync off --json rows.jsonl
  catfish bench groups --part switch --switches 100
  catfish bench groups --part sync --network none --objects 5000000`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Commit = cli.Commit()
			for flag, cores := range map[string]string{"server-cpus": cfg.ServerCPUs, "client-cpus": cfg.ClientCPUs} {
				if _, err := affinity.Parse(cores); err != nil {
					return fmt.Errorf("--%s: %w", flag, err)
				}
			}
			if err := cfg.Validate(); err != nil {
				return err
			}
			return a.benchGroups(cmd.Context(), cfg, json, markdown)
		},
	}
	fs := c.Flags()
	fs.StringSliceVar(&cfg.Parts, "part", groups.Parts, "what to measure")
	fs.StringSliceVar(&cfg.Networks, "network", groups.Networks, "none: shared memory; namespaces: soft, with --delay")
	fs.DurationSliceVar(&cfg.Delays, "delay", []time.Duration{0, 25 * time.Microsecond, 100 * time.Microsecond}, "of packets one way, in namespaces")
	fs.IntSliceVar(&cfg.Members, "members", []int{1, 2, 3}, "sizes of the groups of writes, beside a server alone")
	fs.StringSliceVar(&cfg.Levels, "level", groups.Levels, "when writes are acknowledged: secondaries have them in memory (received) or on disk (durable)")
	fs.StringSliceVar(&cfg.Kinds, "kind", groups.Kinds, "what is written")
	fs.IntSliceVar(&cfg.Clients, "clients", []int{1, 8, 64}, "clients, each with a connection and one write under way")
	fs.StringVar(&cfg.Sync, "sync", "always", "--sync of all servers: always, an interval or off")
	fs.DurationVar(&cfg.Duration, "duration", 2*time.Second, "measured time of each kind of write and number of clients")
	fs.DurationVar(&cfg.Warmup, "warmup", 500*time.Millisecond, "time before it that is not measured")
	fs.IntVar(&cfg.Rounds, "rounds", 5, "how often all is measured")
	fs.IntVar(&cfg.Switches, "switches", 50, "how often the primary is switched")
	fs.IntVar(&cfg.Moves, "moves", 20, "how often a slot moves")
	fs.IntVar(&cfg.Entries, "entries", 50_000, "entries that each way of a lane writes (lanes)")
	fs.IntVar(&cfg.Objects, "objects", 1_000_000, "features of the primary before members are added")
	fs.StringVar(&cfg.Dir, "dir", "", "directory for the servers' data, which is removed; empty: that of temporary files")
	fs.StringVar(&cfg.ServerCPUs, "server-cpus", "", "cores of coordinator and servers; empty: any")
	fs.StringVar(&cfg.ClientCPUs, "client-cpus", "", "cores of the clients; empty: any")
	fs.StringVar(&json, "json", "", "write one JSON object per row to this file, - for standard output")
	fs.StringVar(&markdown, "table", "", "write the tables in Markdown to this file, too, as docs/cluster.md has them")
	cli.CompleteList(c, "part", groups.Parts...)
	cli.CompleteList(c, "network", groups.Networks...)
	cli.CompleteList(c, "level", groups.Levels...)
	cli.CompleteList(c, "kind", groups.Kinds...)
	return c
}

func (a *app) benchGroups(ctx context.Context, cfg groups.Config, file, markdown string) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	cfg.Program = []string{exe}
	return measureRows(a, file, "", func(spawn child.Spawn, note func(string), done func(groups.Row)) error {
		return groups.Run(ctx, cfg, spawn, note, done)
	}, func(w io.Writer, rows []groups.Row) error {
		err := groups.WriteTable(w, rows)
		if markdown == "" {
			return err
		}
		f, failed := os.Create(markdown)
		if failed != nil {
			return errors.Join(err, fmt.Errorf("--table: %w", failed))
		}
		return errors.Join(err, groups.WriteMarkdown(f, rows), f.Close())
	})
}
