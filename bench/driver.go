package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/child"
)

// Run measures the schemes of cfg sequentially, each with a fresh server, in
// Repeat rounds, and returns one row per scheme. Each round begins with
// another scheme, because machines drift: compared runs must be measured side
// by side. After a scheme's last run it calls done with the finished row; note
// receives the progress. Both are called from Run's goroutine.
//
// Errors wrap harness.ErrConfig (nothing was started), child.ErrFailed or ErrResults
// (schemes disagree on a mix that only reads), or are ctx's cause. Rows
// that were finished before an error are returned with it. No child
// outlives the call.
func Run(ctx context.Context, cfg Config, spawn child.Spawn, known []string,
	note func(string), done func(Row)) ([]Row, error) {
	if err := cfg.Validate(known); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	var rows []Row
	var first *outcome
	err := harness.Measure(cfg.Repeat, cfg.Schemes, note, func(scheme string) (*outcome, error) {
		o, err := runOnce(ctx, cfg, scheme, spawn, note)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = o
		}
		return o, o.agrees(first)
	}, func(scheme string, runs []*outcome) {
		row := newRow(cfg, scheme, runs)
		rows = append(rows, row)
		done(row)
	})
	return rows, err
}

// outcome is one run of one scheme.
type outcome struct {
	scheme       string
	server       ServerReady
	clients      []ClientReady
	samples      []*Sample // one per client process
	harness.Span           // of the server
}

// runOnce starts the processes, measures and ends them.
func runOnce(ctx context.Context, cfg Config, scheme string, spawn child.Spawn,
	note func(string)) (*outcome, error) {
	o := &outcome{scheme: scheme}
	tell := func(s string) { note(scheme + ": " + s) }
	srv, ready, err := Serve(ctx, spawn, cfg.ServerCPUs, cfg.serverJob(scheme), tell)
	if err != nil {
		return nil, err
	}
	defer srv.Stop()
	o.server = ready
	clients, could, err := harness.StartClients[ClientReady](ctx, spawn, ClientRole, cfg.ClientCPUs, cfg.Procs, func(i int) any {
		return cfg.clientJob(scheme, i, o.server)
	}, tell)
	if err != nil {
		return nil, err
	}
	defer clients.Stop()
	o.clients = could
	if cfg.Requests > 0 {
		return o, o.measureCounted(ctx, srv, clients)
	}
	return o, o.measure(ctx, cfg, srv, clients)
}

// measure starts the clients' load and reads the server's processor time at
// both ends of their measured interval. The readings lie as far apart as the
// server says, so a late parent does not bend the utilisation.
func (o *outcome) measure(ctx context.Context, cfg Config, srv *child.Process, clients harness.Clients) error {
	start := time.Now()
	if err := clients.Go(); err != nil {
		return err
	}
	if err := harness.Sleep(ctx, time.Until(start.Add(cfg.Warmup))); err != nil {
		return err
	}
	from, err := usageOf(ctx, srv)
	if err != nil {
		return err
	}
	if o.samples, err = harness.Each[*Sample](ctx, clients, "sample"); err != nil {
		return err
	}
	to, err := usageOf(ctx, srv)
	if err != nil {
		return err
	}
	o.Span = to.Since(from)
	return nil
}

// agrees compares the verified queries' answers with another run's.
func (o *outcome) agrees(with *outcome) error {
	for i, c := range o.clients {
		w := with.clients[i]
		if c.Checksum != w.Checksum || c.Results != w.Results {
			return fmt.Errorf(
				"%w: scheme %s found %d objects (checksum %016x) for the same %d"+
					" queries for which %s found %d (%016x)",
				ErrResults, o.scheme, c.Results, c.Checksum, c.Queries,
				with.scheme, w.Results, w.Checksum)
		}
	}
	return nil
}
