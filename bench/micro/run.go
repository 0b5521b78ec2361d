package micro

import (
	"context"
	"fmt"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/child"
)

// Run measures one operation in all sizes between a server and a client
// process, and calls done with each row as soon as it is complete; an error of
// done ends the run. note receives the progress. Both are called from Run's
// goroutine.
//
// Errors wrap harness.ErrConfig (nothing was started) or child.ErrFailed, or
// are ctx's cause or done's. No child outlives the call.
func Run(ctx context.Context, cfg Config, spawn child.Spawn, note func(string), done func(Row) error) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	cfg = cfg.withDefaults()
	srv, ready, err := harness.Start[serverReady](ctx, spawn, ServerRole, cfg.ServerCPUs, cfg.serverJob(), note)
	if err != nil {
		return err
	}
	defer srv.Stop()
	clients, could, err := harness.StartClients[clientReady](ctx, spawn, ClientRole, cfg.ClientCPUs, 1, func(int) any { return cfg.clientJob(ready) }, note)
	if err != nil {
		return err
	}
	defer clients.Stop() // Before the server.
	for _, size := range cfg.Sizes {
		var runs []outcome
		for range cfg.Repeat {
			o, err := one(ctx, cfg.Op, size, srv, clients)
			if err != nil {
				return fmt.Errorf("%s of %d bytes over %s: %w", cfg.Op, size, cfg.Transport, err)
			}
			runs = append(runs, o)
		}
		if err := done(newRow(cfg, could[0].Device, runs)); err != nil {
			return err
		}
	}
	return nil
}

// one makes one measurement. The server reads its own processor time, at both
// ends: a late parent does not bend the utilisation.
func one(ctx context.Context, op Op, size int, srv *child.Process, clients harness.Clients) (o outcome, err error) {
	if err = clients.Go(); err != nil {
		return o, err
	}
	if _, err = harness.Each[bool](ctx, clients, "warm"); err != nil {
		return o, err
	}
	if o.from, err = harness.Ask[harness.Usage](ctx, srv, command{}); err != nil {
		return o, err
	}
	if err = clients.Go(); err != nil {
		return o, err
	}
	if o.run, err = harness.Await[run](ctx, clients[0], "run"); err != nil {
		return o, err
	}
	if o.Bytes != size || o.Latency.Count() == 0 || o.Elapsed <= 0 {
		return o, fmt.Errorf("%w (client) measured %d requests of %d bytes in %v", child.ErrFailed, o.Latency.Count(), o.Bytes, o.Elapsed)
	}
	if o.to, err = harness.Ask[harness.Usage](ctx, srv, command{}); err != nil || op != Write && op != OneWay {
		return o, err
	}
	_, err = harness.Ask[bool](ctx, srv, command{Check: &check{Bytes: size, Seed: o.Seed}})
	return o, err
}
