package policies

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/netns"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
)

// throughNetwork works like bench run, with server and clients in network
// namespaces of their own. bench run lacks a flag for that, and old binaries
// cannot get one, so this process is the parent: the candidate's binary gives
// the children, 'bench child server' and 'bench child client', which get their
// jobs as lines of JSON (bench/wire.go).
func throughNetwork(ctx context.Context, limit time.Duration, binary string, gbits int, args []string) (rows []row, err error) {
	cfg, err := runConfig(args)
	if err != nil {
		return nil, err
	}
	ctx, cancel := withLimit(ctx, limit)
	defer cancel()
	link, err := netns.New(ctx, int64(gbits)*1e9)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, link.Close()) }()
	cfg.Listen = netns.ServerIP + ":0"
	spawn := func(role child.Role, cpus affinity.Set) *exec.Cmd {
		cmd := exec.Command(binary, "bench", "child", string(role), "--cpus", cpus.String())
		side := netns.Client
		if role == bench.ServerRole {
			side = netns.Server
		}
		if err := link.Enter(side, cmd); err != nil {
			cmd.Err = err // Start returns it.
		}
		return cmd
	}
	// The candidate's schemes may differ from this program's.
	known := cfg.Schemes
	var notes []string
	measured, err := bench.Run(ctx, cfg, spawn, known,
		func(s string) { notes = append(notes, s) }, func(bench.Row) {})
	if err != nil {
		return nil, fmt.Errorf("%w%s\nof the children of %s, network of %d Gbit/s, as in: %s", err,
			tail(strings.Join(notes, "\n")), binary, gbits, strings.Join(args, " "))
	}
	for i := range measured {
		rows = append(rows, row{OpsPerS: measured[i].OpsPerS, P99Us: measured[i].P99Us})
	}
	return rows, nil
}

// runConfig reads those flags of bench run that cells use.
func runConfig(args []string) (bench.Config, error) {
	var cfg bench.Config
	var scheme, mix, server, client, out string
	f := flag.NewFlagSet("bench run", flag.ContinueOnError)
	f.SetOutput(new(strings.Builder))
	f.StringVar(&scheme, "scheme", "", "")
	f.StringVar(&cfg.Scale, "scale", "", "")
	f.StringVar(&cfg.Transport, "transport", "", "")
	f.StringVar(&mix, "mix", "search=100", "")
	f.StringVar(&server, "server-cpus", "", "")
	f.StringVar(&client, "client-cpus", "", "")
	f.StringVar(&out, "json", "", "")
	f.IntVar(&cfg.Objects, "objects", 0, "")
	f.IntVar(&cfg.Clients, "clients", 0, "")
	f.IntVar(&cfg.InFlight, "in-flight", 0, "")
	f.DurationVar(&cfg.Duration, "duration", 0, "")
	f.DurationVar(&cfg.Warmup, "warmup", 0, "")
	if len(args) < 2 || args[0] != "bench" || args[1] != "run" {
		return cfg, fmt.Errorf("policies: a network cell is %q, want bench run", args)
	}
	err := f.Parse(args[2:])
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("unknown arguments %q", f.Args())
	}
	if err == nil {
		cfg.Mix, err = bench.ParseMix(mix)
	}
	if err == nil {
		cfg.ServerCPUs, err = affinity.Parse(server)
	}
	if err == nil {
		cfg.ClientCPUs, err = affinity.Parse(client)
	}
	if err != nil {
		return cfg, fmt.Errorf("policies: %w", err)
	}
	cfg.Schemes, cfg.Seed = []string{scheme}, 1
	return cfg, nil
}
