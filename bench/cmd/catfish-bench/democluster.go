package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/bench/cluster"
	"github.com/catfish-index/catfish/internal/cli"
)

func newDemoCluster(a *app) *cobra.Command {
	var cfg cluster.Config
	var asJSON bool
	c := &cobra.Command{
		Use:   "cluster",
		Short: "Show on this machine that a group of servers survives kill -9 of its primary",
		Long: `Start a coordinator and three servers, a group, and clients that read a map by
messages, one-sidedly and over HTTP, and write. In the middle the primary is
killed (kill -9), and another member takes over; later the killed one starts
again. In the end everything is read back. The exit status is 1 if a write that
was acknowledged is not there, one is there twice, or an answer was wrong.

With --groups N there are N groups of two servers, which have one store together: each has
the places whose ids fall into its slots. The primary of the first one is killed; writes of
ids of the others continue. There are no boxes, and no HTTP.
Ctrl-C ends it early, and removes all.`,
		Example: "  catfish demo cluster\n  catfish demo cluster --duration 60s --json\n  catfish demo cluster --groups 2",
		Args:    cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cfg.Duration < cluster.MinDuration {
				return cli.BadUsage("--duration is %v, want at least %v", cfg.Duration, cluster.MinDuration)
			}
			if cfg.Groups < 1 || cfg.Groups > cluster.MaxGroups {
				return cli.BadUsage("--groups is %d, want 1 to %d", cfg.Groups, cluster.MaxGroups)
			}
			return a.demoCluster(cmd.Context(), cfg, asJSON)
		},
	}
	fs := c.Flags()
	fs.DurationVar(&cfg.Duration, "duration", 15*time.Second, "how long clients work")
	fs.StringVar(&cfg.Map, "places", "", "file of places to read; empty: Andorra, from "+andorraFile+"\nhere or beside this program's directory")
	fs.Uint64Var(&cfg.Seed, "seed", 0, "of what clients ask for")
	fs.IntVar(&cfg.Groups, "groups", 1, "how many groups have the store together")
	fs.BoolVar(&asJSON, "json", false, "print one JSON object, the summary; the rest goes to standard error")
	return c
}

// errBroken makes the exit status 1: the summary says what is broken.
var errBroken = errors.New("the group has not kept its promises")

func (a *app) demoCluster(ctx context.Context, cfg cluster.Config, asJSON bool) error {
	page := demoPage{Places: cfg.Map}
	var err error
	if cfg.Map, err = page.places(); err != nil {
		return err
	}
	if cfg.Map == "" {
		return fmt.Errorf("%s is neither here nor beside this program's directory: --places names a file", andorraFile)
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	cfg.Program = []string{exe}
	out := a.Out
	if asJSON {
		out = a.Err
	}
	s, err := cluster.Demo(ctx, cfg, cluster.Text{W: out})
	if errors.Is(err, cluster.ErrInterrupted) {
		fmt.Fprintln(out, err)
		return nil
	}
	if err != nil {
		return err
	}
	if asJSON {
		err = json.NewEncoder(a.Out).Encode(s)
	} else {
		err = a.Printf("%s", s)
	}
	if err == nil && !s.Good() {
		err = fmt.Errorf("%w: %d writes lost (%s), %d doubled, %d that were refused are there, %d wrong answers", errBroken, s.Lost, s.FirstLost, s.Doubled, s.Invented, s.Wrong)
	}
	return err
}
