package features

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
)

// Durable is the way of Load into a data directory.
const Durable = "durable"

// kept runs the works of a server with a data directory, sequentially over the
// same one:
//
//	sync always   load, upsert
//	sync off      move, and then a crash
//	              restart, and a crash, Repeat times
func (r *runner) kept(ctx context.Context) error {
	if !r.cfg.has(Upsert, Move, Restart) {
		return nil
	}
	dir := filepath.Join(r.dir, "data")
	srv, err := r.start(ctx, ServerJob{DataJob: r.data(), Dir: dir, Sync: true, Load: true}, r.cfg.ServerCPUs)
	if err != nil {
		return err
	}
	defer func() { srv.Stop() }()
	if r.cfg.has(Load) {
		r.finish(r.newRow(Load, Durable, fillers*fillBatch, []run{{sample: timed(srv.ready.Features, srv.ready.Took)}}))
	}
	if r.cfg.has(Upsert) {
		if err := r.writes(ctx, Upsert, srv); err != nil {
			return err
		}
	}
	srv.Stop()
	if r.cfg.has(Move) {
		if srv, err = r.start(ctx, ServerJob{DataJob: r.data(), Dir: dir}, r.cfg.ServerCPUs); err != nil {
			return err
		}
		if err := r.writes(ctx, Move, srv); err != nil {
			return err
		}
		if err := crash(ctx, srv); err != nil {
			return err
		}
	}
	if r.cfg.has(Restart) {
		return r.restarts(ctx, dir)
	}
	return nil
}

// writes runs a work that writes, in rounds.
func (r *runner) writes(ctx context.Context, work string, srv *served) error {
	return r.rounds(work, r.cfg.ways(work, false), func(way string) (run, int, error) {
		job := LoadJob{
			DataJob: r.data(), Work: work, Way: way, Addr: srv.ready.Addr, Clients: r.cfg.Clients, InFlight: r.cfg.Writes / r.cfg.Clients,
			Warmup: r.cfg.Warmup, Duration: r.cfg.Duration, Dir: r.dir,
		}
		if way == Ring {
			one, err := r.byClient(ctx, job, srv)
			return one, job.Clients * job.InFlight, err
		}
		one, err := r.inServer(ctx, job, srv)
		return one, job.Clients * job.InFlight, err
	})
}

// inServer makes a server child run a job, whose time is the server's.
func (r *runner) inServer(ctx context.Context, job LoadJob, srv *served) (one run, err error) {
	s, err := harness.Ask[*Sample](ctx, srv.Process, command{Load: &job})
	if err != nil {
		return one, err
	}
	one = run{s, s.CPU.Seconds() / s.Elapsed.Seconds()}
	s.CPU = 0
	return one, nil
}

// crash kills a server child, and waits until it has ended.
func crash(ctx context.Context, srv *served) error {
	_, err := harness.Ask[any](ctx, srv.Process, command{Die: true})
	if err == nil {
		return fmt.Errorf("%w (server) lives", child.ErrFailed)
	}
	if errors.Is(err, child.ErrFailed) {
		return nil // as expected
	}
	return err
}

// restarts starts a server over a directory, by all cores, as after a crash.
func (r *runner) restarts(ctx context.Context, dir string) error {
	var cpus affinity.Set
	if len(r.cfg.ServerCPUs) > 0 && len(r.cfg.ClientCPUs) > 0 {
		cpus = append(append(cpus, r.cfg.ServerCPUs...), r.cfg.ClientCPUs...)
	}
	return r.rounds(Restart, []string{Process}, func(string) (one run, inFlight int, err error) {
		srv, err := r.start(ctx, ServerJob{DataJob: r.data(), Dir: dir}, cpus)
		if err != nil {
			return one, 0, err
		}
		defer srv.Stop()
		s := timed(srv.ready.Features, srv.took)
		s.Latency.Record(srv.took)
		if s.Found, s.Wanted = s.Features, int64(r.cfg.Features); s.Found != s.Wanted {
			s.Wrong, s.First = 1, fmt.Sprintf("%d features after a restart, want %d", s.Found, s.Wanted)
		}
		var used harness.Usage
		if used, err = usageOf(ctx, srv); err != nil {
			return one, 0, err
		}
		s.More = map[string]float64{"cpu_seconds": used.CPU.Seconds()}
		return run{sample: s}, 0, crash(ctx, srv)
	})
}

// alone runs the works that need no server.
func (r *runner) alone(ctx context.Context) error {
	for _, work := range []string{Country, Fences} {
		ways := r.cfg.ways(work, false)
		if !r.cfg.has(work) {
			continue
		}
		err := r.rounds(work, ways, func(way string) (one run, inFlight int, err error) {
			job := LocalJob{
				Work: work, Way: way, Countries: r.cfg.Countries, Areas: r.cfg.Areas, Objects: r.cfg.Objects,
				Seed: r.cfg.Seed, Duration: r.cfg.Duration,
			}
			p, sample, err := harness.Start[*Sample](ctx, r.spawn, LocalRole, r.cfg.ServerCPUs, job, r.note)
			if err != nil {
				return one, 0, err
			}
			p.Stop()
			return run{sample: sample}, 1, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
