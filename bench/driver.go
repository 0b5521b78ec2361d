package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/child"
)

// Run measures the schemes of cfg sequentially in Repeat rounds, and returns one
// row per scheme. A mix that only reads is asked of one server
// by all; one that writes has a fresh server for each run. Each round begins with
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
	srv := &loaded{cfg: cfg, spawn: spawn}
	defer srv.stop()
	err := harness.Measure(cfg.Repeat, cfg.Schemes, note, func(scheme string) (*outcome, error) {
		o, err := runOnce(ctx, srv, scheme, note)
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

// loaded is the server process of a Run, the same for all schemes.
type loaded struct {
	cfg     Config
	spawn   child.Spawn
	process *child.Process // nil: not started
	ready   ServerReady
}

// start starts the process, unless one is there whose data is as it was loaded: to load
// the data, or to insert it, often takes longer than to measure.
func (s *loaded) start(ctx context.Context, note func(string)) (err error) {
	if s.process != nil && s.cfg.Mix.ReadOnly() {
		return nil
	}
	s.stop()
	s.process, s.ready, err = Serve(ctx, s.spawn, s.cfg.ServerCPUs, s.cfg.serverJob(), note)
	return err
}

func (s *loaded) stop() {
	if s.process != nil {
		s.process.Stop()
		s.process = nil
	}
}

// runOnce measures a scheme once. The clients end with it.
func runOnce(ctx context.Context, srv *loaded, scheme string, note func(string)) (*outcome, error) {
	cfg := srv.cfg
	tell := func(s string) { note(scheme + ": " + s) }
	if err := srv.start(ctx, tell); err != nil {
		return nil, err
	}
	o := &outcome{scheme: scheme, server: srv.ready}
	clients, could, err := harness.StartClients[ClientReady](ctx, srv.spawn, ClientRole, cfg.ClientCPUs, cfg.Procs, func(i int) any {
		return cfg.clientJob(scheme, i, o.server)
	}, tell)
	if err != nil {
		return nil, err
	}
	defer clients.Stop()
	o.clients = could
	if cfg.Requests > 0 {
		return o, o.measureCounted(ctx, srv.process, clients)
	}
	return o, o.measure(ctx, cfg, srv.process, clients)
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
