package idle

import (
	"context"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/child"
)

// settle is the pause between a change and its measurement, but not longer
// than that: heartbeats stop when a server had no requests for a second, and
// so do other timers.
const settle = 2 * time.Second

// Run measures the transports in order, and calls done with the row of each. note
// receives the progress.
func Run(ctx context.Context, cfg Config, spawn child.Spawn, note func(string), done func(Row)) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	for _, t := range cfg.Transports {
		r, err := run(ctx, cfg, t, spawn, note)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		done(r)
	}
	return nil
}

func run(ctx context.Context, cfg Config, transport string, spawn child.Spawn, note func(string)) (Row, error) {
	procs := cfg.procs()
	row := Row{Transport: transport, Policy: cfg.Policy, Clients: cfg.Clients, Procs: procs, Commit: cfg.Commit}
	if transport == catfish.TransportTCP {
		row.Policy = "tcp"
	}
	j := job{Transport: transport, Policy: cfg.Policy, Clients: cfg.Clients}
	server, addr, err := harness.Start[string](ctx, spawn, ServerRole, nil, j, note)
	if err != nil {
		return row, err
	}
	defer server.Stop()
	j.Addr = addr
	clients, _, err := harness.StartClients[any](ctx, spawn, ClientRole, nil, procs, func(i int) any {
		j.Clients = cfg.Clients*(i+1)/procs - cfg.Clients*i/procs
		return j
	}, note)
	if err != nil {
		return row, err
	}
	defer clients.Stop()
	serverBefore, clientBefore, err := measure(ctx, server, clients, true)
	if err != nil {
		return row, err
	}
	note(fmt.Sprintf("%s: opening %d connections", transport, cfg.Clients))
	start := time.Now()
	if _, err := ask(ctx, clients, command{Dial: true}); err != nil {
		return row, err
	}
	row.Dialing = time.Since(start).Seconds()
	if err := harness.Sleep(ctx, min(settle, cfg.Duration)); err != nil {
		return row, err
	}
	s, c, err := measure(ctx, server, clients, true)
	if err != nil {
		return row, err
	}
	row.Server, row.Client = s.costs(serverBefore, cfg.Clients), c.costs(clientBefore, cfg.Clients)
	note(fmt.Sprintf("%s: nothing happens for %v", transport, cfg.Duration))
	if row.Server.Rest, row.Client.Rest, err = watch(ctx, cfg.Duration, server, clients); err != nil {
		return row, err
	}
	if _, err := ask(ctx, clients[:1], command{Search: true}); err != nil {
		return row, err
	}
	note(fmt.Sprintf("%s: one client searches for %v", transport, cfg.Duration))
	row.Server.Beats, row.Client.Beats, err = watch(ctx, cfg.Duration, server, clients)
	return row, err
}

// watch returns the shares of a core that the server and all clients' processes
// use.
func watch(ctx context.Context, d time.Duration, server *child.Process, clients harness.Clients) (s, c float64, err error) {
	if err := harness.Sleep(ctx, min(settle, d)); err != nil {
		return 0, 0, err
	}
	s0, c0, err := measure(ctx, server, clients, false)
	if err == nil {
		err = harness.Sleep(ctx, d)
	}
	if err != nil {
		return 0, 0, err
	}
	s1, c1, err := measure(ctx, server, clients, false)
	return busy(s0, s1), busy(c0, c1), err
}

// measure asks the server, and all clients' processes together.
func measure(ctx context.Context, server *child.Process, clients harness.Clients, collect bool) (s, c Held, err error) {
	cmd := command{Measure: true, Collect: collect}
	if s, err = harness.Ask[Held](ctx, server, cmd); err != nil {
		return s, c, err
	}
	of, err := ask(ctx, clients, cmd)
	for _, h := range of {
		c = c.add(h)
	}
	return s, c, err
}

// ask sends a command to all, then waits for their answers.
func ask(ctx context.Context, of harness.Clients, cmd command) ([]Held, error) {
	for _, p := range of {
		if err := p.Send(cmd); err != nil {
			return nil, err
		}
	}
	return harness.Each[Held](ctx, of, "answer")
}
