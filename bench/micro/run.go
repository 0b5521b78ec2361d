package micro

import (
	"context"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/internal/child"
)

// ErrCorrupt is the text of a child's error when bytes were lost, invented or
// misplaced.
var ErrCorrupt = errors.New("micro: wrong bytes arrived")

// Run measures one operation in all sizes between a server and a client
// process, and calls done with each row as soon as it is complete; an error of
// done ends the run. note receives the progress. Both are called from Run's
// goroutine.
//
// Errors wrap bench.ErrConfig (nothing was started) or child.ErrFailed, or
// are ctx's cause or done's. No child outlives the call.
func Run(ctx context.Context, cfg Config, spawn child.Spawn, note func(string), done func(Row) error) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	cfg = cfg.withDefaults()
	srv, err := child.Start(spawn, ServerRole, cfg.ServerCPUs, cfg.serverJob(), note)
	if err != nil {
		return err
	}
	defer srv.Stop()
	m, err := next(ctx, srv, "that it is ready", func(m fromChild) bool { return m.Server != nil })
	if err != nil {
		return err
	}
	cli, err := child.Start(spawn, ClientRole, cfg.ClientCPUs, cfg.clientJob(*m.Server), note)
	if err != nil {
		return err
	}
	defer cli.Stop() // Before the server.
	m, err = next(ctx, cli, "that it is connected", func(m fromChild) bool { return m.Client != nil })
	if err != nil {
		return err
	}
	device := m.Client.Device
	for _, size := range cfg.Sizes {
		var runs []outcome
		for range cfg.Repeat {
			o, err := one(ctx, cfg.Op, size, srv, cli)
			if err != nil {
				return fmt.Errorf("%s of %d bytes over %s: %w", cfg.Op, size, cfg.Transport, err)
			}
			runs = append(runs, o)
		}
		if err := done(newRow(cfg, device, runs)); err != nil {
			return err
		}
	}
	return nil
}

// next is a child's next line, which must be the wanted one.
func next(ctx context.Context, c *child.Process, what string, wanted func(fromChild) bool) (fromChild, error) {
	var m fromChild
	err := c.Next(ctx, &m)
	if err == nil && !wanted(m) {
		err = fmt.Errorf("%w did not say %s", child.ErrFailed, what)
	}
	return m, err
}

// one makes one measurement. The server reads its own processor time, at both
// ends: a late parent does not bend the utilisation.
func one(ctx context.Context, op Op, size int, srv, cli *child.Process) (o outcome, err error) {
	if err = cli.Send(toChild{Go: true}); err != nil {
		return o, err
	}
	if _, err = next(ctx, cli, "that it is warm", func(m fromChild) bool { return m.Warm }); err != nil {
		return o, err
	}
	if o.from, err = usageOf(ctx, srv); err != nil {
		return o, err
	}
	if err = cli.Send(toChild{Go: true}); err != nil {
		return o, err
	}
	m, err := next(ctx, cli, "what it measured", func(m fromChild) bool {
		return m.Run != nil && m.Run.Bytes == size && m.Run.Latency.Count() > 0 && m.Run.Elapsed > 0
	})
	if err != nil {
		return o, err
	}
	o.run = *m.Run
	if o.to, err = usageOf(ctx, srv); err != nil || op != Write {
		return o, err
	}
	if err = srv.Send(toChild{Check: &check{Bytes: size, Seed: o.Seed}}); err != nil {
		return o, err
	}
	_, err = next(ctx, srv, "that the bytes are right", func(m fromChild) bool { return m.Right })
	return o, err
}

func usageOf(ctx context.Context, c *child.Process) (bench.Usage, error) {
	if err := c.Send(toChild{Usage: true}); err != nil {
		return bench.Usage{}, err
	}
	m, err := next(ctx, c, "its usage", func(m fromChild) bool { return m.Usage != nil })
	if err != nil {
		return bench.Usage{}, err
	}
	return *m.Usage, nil
}
