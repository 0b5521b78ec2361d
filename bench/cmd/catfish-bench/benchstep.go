package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/rstar"
)

type stepFlags struct {
	cfg                         bench.StepConfig
	server, client, json, plots string
}

func newBenchStep(a *app) *cobra.Command {
	var f stepFlags
	c := &cobra.Command{
		Use:   "step",
		Short: "Watch schemes through a sudden change of load",
		Long: `Watch schemes through a sudden change of load: all callers rest between two
searches, and from one moment on they do not. Prints throughput and the share
of offloaded searches before and after, and draws both, and the mean latency,
over time. 'catfish bench sim --join-at' does the same in simulated clusters.`,
		Example: `  catfish bench step --scheme fast,offload-cached,paper,cost --plots plots
  catfish bench step --clients 64 --in-flight 1 --scale 1e-2 --json steps.jsonl`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if f.cfg.ServerCPUs, f.cfg.ClientCPUs, err = splitCores(f.server, f.client); err != nil {
				return err
			}
			f.cfg.Procs, f.cfg.Commit = 1, cli.Commit()
			fs := cmd.Flags()
			if err := cli.FirstOf(cli.CheckBackoff(fs, f.cfg.Backoff, f.cfg.Schemes...), noObjects(fs, f.cfg.Dataset)); err != nil {
				return err
			}
			if err := f.cfg.Validate(catfish.Schemes()); err != nil {
				return err
			}
			if _, err := bench.OpenDataset(f.cfg.Dataset, f.cfg.Objects, f.cfg.Seed); err != nil {
				return err
			}
			return a.benchStep(cmd.Context(), f)
		},
	}
	fs := c.Flags()
	fs.StringSliceVar(&f.cfg.Schemes, "scheme", []string{"fast", "offload-cached", "paper", "cost"}, "schemes to run, in this order")
	fs.StringVar(&f.cfg.Dataset, "dataset", "uniform", "uniform, skewed, rea02-like, california or a file")
	fs.IntVar(&f.cfg.Objects, "objects", 2_000_000, "how many objects a generator makes")
	fs.StringVar(&f.cfg.Scale, "scale", "1e-5", "longest query edge as a share of the data's extent (1e-5, 1e-2), or power")
	fs.IntVar(&f.cfg.Clients, "clients", 64, "connections, all in one process")
	fs.IntVar(&f.cfg.InFlight, "in-flight", 1, "callers per connection")
	fs.DurationVar(&f.cfg.Rest, "rest", 10*time.Millisecond, "a caller's pause between two searches, before the step")
	fs.DurationVar(&f.cfg.At, "at", time.Second, "when the step comes")
	fs.DurationVar(&f.cfg.Duration, "duration", 4*time.Second, "of the whole run of a scheme")
	fs.DurationVar(&f.cfg.Interval, "sample", 50*time.Millisecond, "time between samples")
	fs.StringVar(&f.cfg.Transport, "transport", "auto", "auto, shm or soft")
	fs.Uint64Var(&f.cfg.Seed, "seed", 1, "of data and queries")
	coreFlags(c, &f.server, &f.client)
	treeFlags(c, &f.cfg.Strategy, &f.cfg.Inserted)
	cli.BackoffFlags(c, &f.cfg.Backoff)
	fs.StringVar(&f.json, "json", "", "write one JSON object per scheme to this file, - for standard output")
	fs.StringVar(&f.plots, "plots", "", "directory for plots over time, as SVG")
	cli.CompleteList(c, "scheme", cli.Policies()[1:]...)
	cli.CompleteData(c, "dataset")
	cli.Complete(c, "transport", "auto", "shm", "soft")
	return c
}

func (a *app) benchStep(ctx context.Context, f stepFlags) error {
	spawn, err := spawner("")
	if err != nil {
		return err
	}
	o, err := harness.OpenOutput(a.Out, a.Err, f.json)
	if err != nil {
		return err
	}
	defer o.Close()
	out := o.Table
	cell := func(r *bench.StepRow, from, to time.Duration) string {
		ops, share, ok := r.After(from, to)
		if !ok {
			return fmt.Sprintf("%16s", "-")
		}
		return fmt.Sprintf("%9.0f %5.1f%%", ops, 100*share)
	}
	var rows []bench.StepRow
	var broken error
	fmt.Fprintf(out, "%s, scale %s, %d clients x %d callers that rest for %v until %v, server on %s, clients on %s\n"+
		"searches/s and share offloaded, by the time since the step\n\n", f.cfg.Dataset, f.cfg.Scale, f.cfg.Clients,
		f.cfg.InFlight, f.cfg.Rest, f.cfg.At, harness.Cores(f.cfg.ServerCPUs.String()), harness.Cores(f.cfg.ClientCPUs.String()))
	if s, in, b := f.cfg.Strategy, f.cfg.Inserted, f.cfg.Backoff; s != rstar.Revised || in || !b.IsPaper() {
		fmt.Fprintf(out, "%s; Algorithm 1 with %v\n\n", bench.TreeText(s, in), b)
	}
	fmt.Fprintf(out, "%-16s %16s %16s %16s %16s\n", "scheme", "before", "0 to 0.1 s", "0 to 1 s", "after 1 s")
	err = bench.Steps(ctx, f.cfg, spawn, a.note, func(r bench.StepRow) {
		rows = append(rows, r)
		fmt.Fprintf(out, "%-16s %s %s %s %s\n", r.Scheme, cell(&r, -f.cfg.At, 0), cell(&r, 0, 100*time.Millisecond),
			cell(&r, 0, time.Second), cell(&r, time.Second, f.cfg.Duration))
		if broken == nil {
			broken = o.Row(r)
		}
	})
	if err == nil {
		err = broken
	}
	if err == nil && f.plots != "" {
		err = writePlots(f.plots, bench.StepPlots(rows))
	}
	return err
}
