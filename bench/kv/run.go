package kv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/child"
)

// Run measures the schemes of each of cfgs, each with a fresh server, in Repeat rounds
// (harness.Rounds), and returns one row per scheme of each. spawn starts children of a
// scheme. After a scheme's last run it calls done with the finished row; note
// receives the progress. Both are called from Run's goroutine. Configurations differ in
// Label, and in nothing that Label does not say.
//
// Errors wrap harness.ErrConfig (nothing was started), child.ErrFailed or
// ErrWrong (some scheme gave wrong answers: all rows are returned, with their
// number), or are ctx's cause. Rows that were finished before an error are
// returned with it. No child outlives the call.
func Run(ctx context.Context, cfgs []Config, spawn func(scheme string) child.Spawn, known []string,
	note func(string), done func(Row)) ([]Row, error) {
	type measured struct {
		cfg    Config
		scheme string
	}
	all := map[string]measured{}
	var names []string
	for _, cfg := range cfgs {
		if err := cfg.Validate(known); err != nil {
			return nil, err
		}
		cfg = cfg.withDefaults()
		for _, scheme := range cfg.Schemes {
			name := strings.TrimSpace(scheme + " " + cfg.Label)
			if _, ok := all[name]; ok {
				return nil, fmt.Errorf("%w: %s is listed twice", harness.ErrConfig, name)
			}
			all[name], names = measured{cfg, scheme}, append(names, name)
		}
	}
	if len(cfgs) == 0 {
		return nil, fmt.Errorf("%w: nothing is to be measured", harness.ErrConfig)
	}
	var rows []Row
	var wrong error
	err := harness.Measure(all[names[0]].cfg.Repeat, names, note, func(name string) (*outcome, error) {
		m := all[name]
		o, err := runOnce(ctx, m.cfg, m.scheme, spawn(m.scheme), note)
		if err != nil {
			return nil, err
		}
		if err := o.wrong(name); err != nil {
			note(err.Error())
			wrong = errors.Join(wrong, err)
		}
		return o, nil
	}, func(name string, runs []*outcome) {
		row := newRow(all[name].cfg, all[name].scheme, runs)
		rows = append(rows, row)
		done(row)
	})
	if err != nil {
		return rows, err
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
	srv, ready, err := harness.Start[ServerReady](ctx, spawn, ServerRole, cfg.ServerCPUs, cfg.serverJob(scheme), tell)
	if err != nil {
		return nil, err
	}
	defer srv.Stop()
	o.server = ready
	tell(fmt.Sprintf("loading %d keys", cfg.Workload.Keys))
	clients, could, err := harness.StartClients[ClientReady](ctx, spawn, ClientRole, cfg.ClientCPUs, cfg.Procs, func(i int) any {
		return cfg.clientJob(scheme, i, ready)
	}, tell)
	if err != nil {
		return nil, err
	}
	defer clients.Stop()
	o.clients = could
	return o, o.measure(ctx, cfg, srv, clients)
}

// measure starts the clients' load and asks for the server's state at both
// ends of their measured time. Both states have the server's own time, so that
// a late parent does not bend the utilisation.
func (o *outcome) measure(ctx context.Context, cfg Config, srv *child.Process, clients harness.Clients) (err error) {
	start := time.Now()
	if err := clients.Go(); err != nil {
		return err
	}
	if err := harness.Sleep(ctx, time.Until(start.Add(cfg.Warmup))); err != nil {
		return err
	}
	if o.before, err = harness.Ask[State](ctx, srv, command{Ask: true}); err != nil {
		return err
	}
	if o.samples, err = harness.Each[*Sample](ctx, clients, "sample"); err != nil {
		return err
	}
	o.after, err = harness.Ask[State](ctx, srv, command{Ask: true})
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
