package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/bench/idle"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/cli"
)

func newBenchIdle(a *app) *cobra.Command {
	var cfg idle.Config
	var json, profile string
	c := &cobra.Command{
		Use:   "idle",
		Short: "Measure what idle connections cost",
		Long: `Measure what idle connections cost: resident memory, descriptors and memory
mappings for each, and processor time as a share of one core, of the server and
of the clients' processes. First nothing happens; then one client searches a
hundred times a second, so that heartbeats go on.

Memory is the resident set, after a collection of garbage, with pages that
server and client share; what the kernel holds for sockets is not in it. With
shm, a connection takes two descriptors and six mappings of the server. If 'ulimit -n'
or vm.max_map_count is too small for as many connections as were asked for, the
server refuses one, and the error says at how many.

The table goes to standard output, or to standard error with --json -.`,
		Example: `  catfish bench idle --clients 1000
  catfish bench idle --clients 10000 --transport soft,tcp --json idle.jsonl`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Commit = cli.Commit()
			if err := cfg.Validate(); err != nil {
				return err
			}
			return a.benchIdle(cmd.Context(), cfg, json, profile)
		},
	}
	fs := c.Flags()
	fs.IntVar(&cfg.Clients, "clients", 1000, "connections")
	fs.IntVar(&cfg.Procs, "client-procs", 0, "processes that the connections are dealt to, 0: one for each 2000")
	fs.StringSliceVar(&cfg.Transports, "transport",
		[]string{catfish.TransportSHM, catfish.TransportSoft, catfish.TransportTCP}, "some of shm, soft and tcp")
	fs.StringVar(&cfg.Policy, "policy", catfish.DefaultPolicy, "of the clients; over tcp it is always tcp")
	fs.DurationVar(&cfg.Duration, "duration", 10*time.Second, "for which processor time is measured, twice")
	fs.StringVar(&json, "json", "", "write one JSON object per transport to this file, - for standard output")
	fs.StringVar(&profile, "profile", "", "directory for a CPU profile of each process, for go tool pprof")
	cli.Complete(c, "transport", "shm", "soft", "tcp")
	cli.CompleteList(c, "policy", cli.Policies()...)
	return c
}

func (a *app) benchIdle(ctx context.Context, cfg idle.Config, file, profile string) error {
	return measureRows(a, file, profile, func(spawn child.Spawn, note func(string), done func(idle.Row)) error {
		return idle.Run(ctx, cfg, spawn, note, done)
	}, idle.WriteTable)
}
