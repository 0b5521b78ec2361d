package features

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
)

// Run runs the works of cfg, and returns a row for each way of each. done is
// called with each row as soon as it is complete; note is called with
// progress. Both are called from Run's goroutine.
//
// Errors wrap harness.ErrConfig (nothing was started), child.ErrFailed or
// ErrWrong (some answers were wrong: all rows are returned, with their
// number), or are ctx's cause. Rows that were finished before an error are
// returned with it. No child outlives the call, and no file.
func Run(ctx context.Context, cfg Config, spawn child.Spawn, note func(string), done func(Row)) (_ []Row, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r := &runner{cfg: cfg.withDefaults(), spawn: spawn, note: note, done: done, machine: bench.ThisMachine()}
	if r.dir, err = os.MkdirTemp(cfg.Dir, "catfish-features-"); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.dir)) }()
	for _, part := range []func(context.Context) error{r.inMemory, r.overRing, r.kept, r.alone} {
		if err := part(ctx); err != nil {
			return r.rows, err
		}
	}
	return r.rows, r.wrong
}

type runner struct {
	cfg     Config
	spawn   child.Spawn
	note    func(string)
	done    func(Row)
	machine bench.Machine
	dir     string // of this run
	version string // of Tile38
	rows    []Row
	wrong   error
}

// farOff is how far answers of another server may be from those of Catfish, as
// a share of all features: servers differ on features that touch a box, and on
// the path of a long edge.
const farOff = 0.02

// finish adds a finished row.
func (r *runner) finish(row Row) {
	if row.Wrong > 0 {
		r.wrong = errors.Join(r.wrong, fmt.Errorf("%w: %s by %s, %d, the first: %s", ErrWrong, row.Work, row.Way, row.Wrong, row.First))
	}
	if row.Differs > farOff || row.Differs < -farOff {
		r.wrong = errors.Join(r.wrong, fmt.Errorf("%w: %s by %s: %.1f%% more or fewer features than by others", ErrWrong, row.Work, row.Way, 100*row.Differs))
	}
	r.rows = append(r.rows, row)
	r.done(row)
}

func (r *runner) data() DataJob {
	return DataJob{Source: r.cfg.Source, Features: r.cfg.Features, Borders: r.cfg.Borders, Seed: r.cfg.Seed}
}

// served is a server child that serves.
type served struct {
	*child.Process
	ready ServerReady
	took  time.Duration // from the start of the process
}

// start starts a server child, and waits until it serves.
func (r *runner) start(ctx context.Context, job ServerJob, cpus affinity.Set) (*served, error) {
	began := time.Now()
	p, ready, err := harness.Start[ServerReady](ctx, r.spawn, ServerRole, cpus, job, r.note)
	if err != nil {
		return nil, err
	}
	return &served{p, ready, time.Since(began)}, nil
}

// inMemory runs the works of a server without a data directory, and of Tile38.
func (r *runner) inMemory(ctx context.Context) error {
	if !r.cfg.has(Load, Memory, SearchOne, SearchHundred, Nearest) {
		return nil
	}
	job := ServerJob{DataJob: r.data(), Load: true, Queries: map[string]string{}}
	for _, work := range r.cfg.Works {
		if isSearch(work) {
			job.Queries[work] = r.queries(work)
		}
	}
	srv, err := r.start(ctx, job, r.cfg.ServerCPUs)
	if err != nil {
		return err
	}
	defer srv.Stop()
	r.loaded(Process, srv)
	var other *served
	if r.cfg.Tile38 != "" {
		job := ServerJob{DataJob: r.data(), Load: true, Tile38: r.cfg.Tile38}
		if other, err = r.start(ctx, job, r.cfg.ServerCPUs); err != nil {
			return err
		}
		defer other.Stop()
		r.version = other.ready.Version
		r.loaded(Tile38, other)
	}
	for _, work := range r.cfg.Works {
		if isSearch(work) {
			if err := r.searches(ctx, work, srv, other); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *runner) queries(work string) string { return filepath.Join(r.dir, work+".json") }

// loaded makes the rows of a server's report after loading.
func (r *runner) loaded(way string, srv *served) {
	if r.cfg.has(Load) {
		row := r.newRow(Load, way, fillers*fillBatch, []run{{sample: timed(srv.ready.Features, srv.ready.Took)}})
		r.finish(row)
	}
	r.weighed(way, srv.ready.Memory)
}

// weighed makes the row of the features' memory.
func (r *runner) weighed(way string, m MemoryState) {
	if !r.cfg.has(Memory) {
		return
	}
	row := r.rowOf(Memory, way)
	if row.Memory = &m; m.Own > 0 {
		row.MemoryRatio = float64(m.Resident-m.Before) / float64(m.Own)
	}
	r.finish(row)
}

// searches runs a work in rounds.
func (r *runner) searches(ctx context.Context, work string, srv, other *served) error {
	return r.rounds(work, r.cfg.ways(work, other != nil), func(way string) (run, int, error) {
		to := srv
		job := LoadJob{
			DataJob: r.data(), Work: work, Way: way, Queries: r.queries(work), Clients: r.cfg.Clients, InFlight: r.cfg.InFlight,
			Addr: srv.ready.Addr, Warmup: r.cfg.Warmup, Duration: r.cfg.Duration,
		}
		switch way {
		case GRPC:
			job.Addr = srv.ready.GRPC
		case Echo:
			job.Addr = srv.ready.Echo
		case Tile38:
			to, job.Addr, job.InFlight = other, other.ready.Addr, r.cfg.Pipeline
		}
		one, err := r.byClient(ctx, job, to)
		return one, job.Clients * job.InFlight, err
	})
}

// rounds measures each way Repeat times.
func (r *runner) rounds(work string, ways []string, measure func(way string) (one run, inFlight int, err error)) error {
	names, wayOf, inFlight := make([]string, len(ways)), map[string]string{}, map[string]int{}
	for i, way := range ways {
		names[i] = work + " by " + way
		wayOf[names[i]] = way
	}
	return harness.Measure(r.cfg.Repeat, names, r.note, func(name string) (one run, err error) {
		one, inFlight[name], err = measure(wayOf[name])
		return one, err
	}, func(name string, runs []run) {
		r.finish(r.newRow(work, wayOf[name], inFlight[name], runs))
	})
}

// byClient makes a client child run a job.
func (r *runner) byClient(ctx context.Context, job LoadJob, srv *served) (one run, err error) {
	clients, _, err := harness.StartClients[any](ctx, r.spawn, ClientRole, r.cfg.ClientCPUs, 1, func(int) any { return job }, r.note)
	if err != nil {
		return one, err
	}
	defer clients.Stop()
	if err := clients.Go(); err != nil {
		return one, err
	}
	if job.Work != Load {
		if err := harness.Sleep(ctx, job.Warmup); err != nil {
			return one, err
		}
	}
	before, err := usageOf(ctx, srv)
	if err != nil {
		return one, err
	}
	if one.sample, err = harness.Await[*Sample](ctx, clients[0], "sample"); err != nil {
		return one, err
	}
	after, err := usageOf(ctx, srv)
	one.server = after.Busy(before)
	return one, err
}

func usageOf(ctx context.Context, srv *served) (harness.Usage, error) {
	return harness.Ask[harness.Usage](ctx, srv.Process, command{})
}

// overRing loads an empty server over a ring: its tree grows by insertions.
func (r *runner) overRing(ctx context.Context) error {
	if !r.cfg.has(Load, Memory) {
		return nil
	}
	srv, err := r.start(ctx, ServerJob{DataJob: r.data()}, r.cfg.ServerCPUs)
	if err != nil {
		return err
	}
	defer srv.Stop()
	r.note("load by " + Ring)
	one, err := r.byClient(ctx, LoadJob{
		DataJob: r.data(), Work: Load, Way: Ring, Addr: srv.ready.Addr, Clients: 1, InFlight: fillers * fillBatch, Duration: time.Second,
	}, srv)
	if err != nil {
		return err
	}
	if r.cfg.has(Load) {
		r.finish(r.newRow(Load, Ring, fillers*fillBatch, []run{one}))
	}
	m, err := harness.Ask[MemoryState](ctx, srv.Process, command{Weigh: true})
	if err != nil {
		return err
	}
	r.weighed(Ring, m)
	return nil
}
