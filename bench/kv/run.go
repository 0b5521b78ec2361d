package kv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/internal/child"
)

// Run measures the schemes of cfg, each with a fresh server, in Repeat rounds
// (bench.Rounds), and returns one row per scheme. spawn starts children of a
// scheme. After a scheme's last run it calls done with the finished row; note
// receives the progress. Both are called from Run's goroutine.
//
// Errors wrap bench.ErrConfig (nothing was started), child.ErrFailed or
// ErrWrong (some scheme gave wrong answers: all rows are returned, with their
// number), or are ctx's cause. Rows that were finished before an error are
// returned with it. No child outlives the call.
func Run(ctx context.Context, cfg Config, spawn func(scheme string) child.Spawn, known []string,
	note func(string), done func(Row)) ([]Row, error) {
	if err := cfg.Validate(known); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	var rows []Row
	var wrong error
	runs := make([][]*outcome, len(cfg.Schemes))
	for i, at := range bench.Rounds(cfg.Repeat, len(cfg.Schemes)) {
		scheme := cfg.Schemes[at]
		note(fmt.Sprintf("%s: run %d of %d", scheme, i+1, cfg.Repeat))
		o, err := runOnce(ctx, cfg, scheme, spawn(scheme), note)
		if err != nil {
			return rows, fmt.Errorf("scheme %s: %w", scheme, err)
		}
		if err := o.wrong(scheme); err != nil {
			note(err.Error())
			wrong = errors.Join(wrong, err)
		}
		runs[at] = append(runs[at], o)
		if i == cfg.Repeat-1 {
			row := newRow(cfg, scheme, runs[at])
			rows = append(rows, row)
			done(row)
		}
	}
	return rows, wrong
}

// outcome is one run of one scheme.
type outcome struct {
	server  ServerReady
	clients []ClientReady
	samples []*Sample // one per client process
	// The server's state before and after the measured time.
	before, after State
}

// runOnce starts the processes, measures and ends them.
func runOnce(ctx context.Context, cfg Config, scheme string, spawn child.Spawn, note func(string)) (*outcome, error) {
	o := new(outcome)
	tell := func(s string) { note(scheme + ": " + s) }
	srv, err := child.Start(spawn, ServerRole, cfg.ServerCPUs, cfg.serverJob(scheme), tell)
	if err != nil {
		return nil, err
	}
	defer srv.Stop()
	m, err := next(ctx, srv)
	if err != nil {
		return nil, err
	}
	if m.Server == nil {
		return nil, fmt.Errorf("%w (server) did not say that it is ready", child.ErrFailed)
	}
	o.server = *m.Server
	var clients []*child.Process
	defer func() {
		for _, c := range clients {
			c.Stop()
		}
	}()
	tell(fmt.Sprintf("loading %d keys", cfg.Workload.Keys))
	for i := range cfg.Procs {
		c, err := child.Start(spawn, ClientRole, cfg.ClientCPUs, cfg.clientJob(scheme, i, o.server), tell)
		if err != nil {
			return nil, err
		}
		clients = append(clients, c)
	}
	for _, c := range clients {
		m, err := next(ctx, c)
		if err != nil {
			return nil, err
		}
		if m.Client == nil {
			return nil, fmt.Errorf("%w (client) did not say that it is ready", child.ErrFailed)
		}
		o.clients = append(o.clients, *m.Client)
	}
	return o, o.measure(ctx, cfg, srv, clients)
}

// measure starts the clients' load and asks for the server's state at both
// ends of their measured time. Both states have the server's own time, so that
// a late parent does not bend the utilisation.
func (o *outcome) measure(ctx context.Context, cfg Config, srv *child.Process, clients []*child.Process) (err error) {
	start := time.Now()
	for _, c := range clients {
		if err := c.Send(toChild{Go: true}); err != nil {
			return err
		}
	}
	if err := sleepUntil(ctx, start.Add(cfg.Warmup)); err != nil {
		return err
	}
	if o.before, err = stateOf(ctx, srv); err != nil {
		return err
	}
	for _, c := range clients {
		m, err := next(ctx, c)
		if err != nil {
			return err
		}
		if m.Sample == nil {
			return fmt.Errorf("%w (client) sent no sample", child.ErrFailed)
		}
		o.samples = append(o.samples, m.Sample)
	}
	o.after, err = stateOf(ctx, srv)
	return err
}

// answers adds up the Answers of all client processes.
func (o *outcome) answers() (a Answers) {
	for _, s := range o.samples {
		a = a.Add(s.Answers)
	}
	return a
}

// wrong returns an error if some answers were wrong.
func (o *outcome) wrong(scheme string) error {
	a := o.answers()
	if a.Wrong == 0 {
		return nil
	}
	return fmt.Errorf("%w: scheme %s, %d of %d, the first: %s", ErrWrong, scheme, a.Wrong, a.Checked, a.First)
}
