package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/engine"
)

func newDemo(a *app) *cobra.Command {
	var cfg bench.DemoConfig
	var server, client string
	var page demoPage
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show on this machine how clients choose",
		Long: `Start a server on California's road network and clients in processes of
their own, and show each second how they search. The load rises and falls:
once the server is saturated, clients begin to offload, and they come back
when it has time again. The same server has a page at --http: a map with the
places of --places, and the engine room, which shows these clients and starts
more. The show ends by itself, or with Ctrl-C, with a summary. On a terminal
the page stays after that, until Ctrl-C.`,
		Example: `  catfish demo
  catfish demo --duration 60s --policy paper-literal --transport soft
  catfish demo cluster`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if cfg.ServerCPUs, cfg.ClientCPUs, err = splitCores(server, client); err != nil {
				return err
			}
			if err := cli.CheckBackoff(cmd.Flags(), cfg.Backoff, cfg.Policy); err != nil {
				return err
			}
			page.fixed = cmd.Flags().Changed("http")
			if err := page.check(cmd.Flags()); err != nil {
				return err
			}
			page.Stay = page.Stay || inTerminal(a.In)
			return a.demo(cmd.Context(), cfg, page)
		},
	}
	fs := c.Flags()
	fs.DurationVar(&cfg.Duration, "duration", 20*time.Second, "how long to show it")
	fs.StringVar(&cfg.Dataset, "dataset", "california", "file or generator to load")
	fs.StringVar(&cfg.Transport, "transport", "auto", "auto, shm or soft")
	fs.StringVar(&cfg.Policy, "policy", "default", "how clients choose")
	cli.BackoffFlags(c, &cfg.Backoff)
	fs.StringVar(&server, "server-cpus", "", "cores of the server; empty: the first if there are two")
	fs.StringVar(&client, "client-cpus", "", "cores of the clients; empty: all but the first")
	page.register(c)
	c.AddCommand(newDemoCluster(a))
	cli.CompleteData(c, "dataset")
	cli.Complete(c, "transport", "auto", "shm", "soft")
	cli.Complete(c, "policy", cli.Policies()...)
	return c
}

func (a *app) demo(ctx context.Context, cfg bench.DemoConfig, page demoPage) error {
	// A short show still has a few frames.
	cfg.Interval = min(time.Second, cfg.Duration/4)
	engine.Steps(cfg.Duration, func(at, rest time.Duration) { cfg.Steps = append(cfg.Steps, bench.Step{After: at, Pause: rest}) })
	if cfg.Duration < minDemo {
		return cli.BadUsage("--duration is %v, want at least %v", cfg.Duration, minDemo)
	}
	if cfg.Policy == "tcp" || cfg.Transport == catfish.TransportTCP {
		return cli.BadUsage("the demo shows rings and one-sided reads, which tcp has not")
	}
	// Errors found here are bad usage; a child process could only fail.
	if err := cfg.Validate(catfish.Schemes()); err != nil {
		return err
	}
	if _, err := bench.OpenDataset(cfg.Dataset, cfg.Objects, 0); err != nil {
		return err
	}
	spawn, err := spawner("")
	if err != nil {
		return err
	}
	show := &bench.TextShow{W: a.Out, Live: cli.IsTerminal(a.Out)}
	if page.HTTP == "off" {
		return bench.Demo(ctx, cfg, spawn, show)
	}
	return a.demoWithPage(ctx, cfg, page, spawn, show)
}

// minDemo leaves a sample of the processor clock in each frame.
const minDemo = 400 * time.Millisecond
