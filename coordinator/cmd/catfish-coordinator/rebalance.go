package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/coordinator"
	"github.com/catfish-index/catfish/internal/certs"
	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
)

// rebalanceFlags say whether, and how, this coordinator moves slots between groups without a command.
type rebalanceFlags struct {
	by, keyFile string
	slots       int
	every       time.Duration
	tolerance   float64
}

func (r *rebalanceFlags) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.by, "rebalance", "", "move slots between groups without a command, until each has its share by weight, of their bytes or requests; empty: do not.\nOf several coordinators one does it at a time")
	f.Lookup("rebalance").NoOptDefVal = cluster.ByBytes
	f.IntVar(&r.slots, "rebalance-slots", cluster.DefaultMoves, "how many slots --rebalance moves in each interval, at most")
	f.DurationVar(&r.every, "rebalance-every", cluster.DefaultEvery, "the interval: the least time between two plans of --rebalance")
	f.Float64Var(&r.tolerance, "rebalance-tolerance", cluster.DefaultTolerance, "if all groups are as near to their shares as this part of them, --rebalance moves nothing")
	f.StringVar(&r.keyFile, "key-file", "", "for --rebalance: file with the key that servers want, of an admin of all collections; empty: $CATFISH_KEY")
}

// check returns nil without --rebalance.
func (r *rebalanceFlags) check() (*cluster.Automatic, error) {
	switch {
	case r.by == "":
		return nil, nil
	case r.by != cluster.ByBytes && r.by != cluster.ByRequests:
		return nil, fmt.Errorf("%w: --rebalance is %q, want %s or %s", errUsage, r.by, cluster.ByBytes, cluster.ByRequests)
	}
	a := &cluster.Automatic{Every: r.every, Plan: cluster.Options{Slots: r.slots, Tolerance: r.tolerance}}
	if err := a.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	return a, nil
}

// start begins it, for a coordinator that takes part in decisions. stop ends it.
func (r *rebalanceFlags) start(ctx context.Context, a *cluster.Automatic, o *coordinator.Options, addr string, log io.Writer) (stop func(), err error) {
	key := os.Getenv("CATFISH_KEY")
	if r.keyFile != "" {
		b, err := os.ReadFile(r.keyFile)
		if err != nil {
			return nil, fmt.Errorf("--key-file: %w", err)
		}
		key = strings.TrimSpace(string(b))
	}
	var t *tls.Config
	if o.CAFile != "" {
		if t, err = certs.Client(o.CAFile, o.CertFile, o.KeyFile); err != nil {
			return nil, err
		}
	}
	cl, err := coord.Dial(coord.Options{Addrs: []string{addr}, TLS: t})
	if err != nil {
		return nil, err
	}
	a.Name, a.Logger = o.Name+" at "+addr, slog.New(slog.NewTextHandler(log, nil))
	asks := client.Options{Transport: catfish.TransportTCP, Key: key, Logger: a.Logger}
	if a.Plan.Load, err = cluster.LoadsBy(r.by, cl, asks); err != nil {
		return nil, err
	}
	a.Plan.Boxes = cluster.AskBoxLoads(cl, asks)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.Run(ctx, cl)
	}()
	return func() {
		cancel()
		<-ended
		_ = cl.Close() // Nothing is under way.
	}, nil
}
