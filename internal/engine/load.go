package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/web"
)

// Limits of a load, and its defaults. Each client is a connection with callers
// of its own, and takes a few MB.
const (
	MaxClients, DefaultClients = 16, 8
	MaxSeconds, DefaultSeconds = 120, 20

	// callers of a client search at the same time.
	callers = 16
	// processes is the number that hold the clients: one cannot keep more than a few cores
	// busy.
	processes = 2
)

// The scales are the sizes of searches, as parts of the extent. The one for
// boxes is that of 'catfish demo'. Features are larger than boxes: such a
// search finds some hundred in a city.
const boxScale, featureScale = "0.5", "0.05"

var errStopped = errors.New("stopped")

// run is a running load.
type run struct {
	web.EngineLoad
	began   time.Time
	stop    context.CancelCauseFunc
	over    chan struct{} // closed when all its processes have ended
	started bool
	info    bench.Info
	pause   time.Duration
}

func (r *run) state() *web.EngineRun {
	s := &web.EngineRun{EngineLoad: r.EngineLoad, State: "starting"}
	if r.started {
		s.State, s.Elapsed, s.Pause = "running", time.Since(r.began).Seconds(), float64(r.pause)/float64(time.Millisecond)
	}
	return s
}

// Start implements web.Engine.
func (r *Room) Start(l web.EngineLoad, key string) (web.EngineLoad, error) {
	if r.o.Spawn == nil {
		return l, web.ErrEngineOff
	}
	l, on, err := r.check(l)
	if err != nil {
		return l, err
	}
	cfg := bench.DemoConfig{
		Duration: time.Duration(l.Seconds) * time.Second, Interval: r.o.Every, Policy: l.Policy,
		Procs: min(processes, l.Clients), InFlight: callers, Scale: boxScale, Key: key, Changing: true, ClientCPUs: r.o.CPUs,
	}
	cfg.Clients = (l.Clients + cfg.Procs - 1) / cfg.Procs
	l.Clients = cfg.Procs * cfg.Clients
	if l.Collection != catfish.DefaultCollection {
		cfg.Features, cfg.Scale = l.Collection, featureScale
	}
	_, err = r.Show(l, cfg, on, nil)
	return l, err
}

// Show starts a load of any kind, which show also displays, if it is not nil. The
// channel gets the load's error when all of it has ended: nil if it was stopped.
func (r *Room) Show(l web.EngineLoad, cfg bench.DemoConfig, on bench.ServerReady, show bench.Show) (<-chan error, error) {
	cfg.Each = true
	ctx, stop := context.WithCancelCause(r.ctx)
	n := &run{EngineLoad: l, began: time.Now(), stop: stop, over: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.ctx.Err(); err != nil {
		stop(nil)
		return nil, err
	}
	if r.run != nil {
		stop(nil)
		return nil, fmt.Errorf("%w: of %d s, begun %v ago; DELETE ends it", web.ErrEngineBusy, r.run.Seconds, time.Since(r.run.began).Round(time.Second))
	}
	r.run, r.ended = n, ""
	result := make(chan error, 1)
	r.done.Go(func() {
		defer close(n.over)
		defer stop(nil)
		usage := func(context.Context) (bench.Usage, error) { return bench.UsageSince(r.began) }
		err := bench.Drive(ctx, cfg, on, usage, r.o.Spawn, &viewer{room: r, run: n, next: show})
		ended := "the load has ended"
		switch {
		case errors.Is(err, errStopped):
			ended, err = "the load was stopped", nil
		case err != nil:
			ended = "the load failed: " + err.Error()
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.run, r.ended = nil, ended
		r.publishLocked(nil)
		result <- err
	})
	return result, nil
}

// Stop implements web.Engine.
func (r *Room) Stop() {
	r.mu.Lock()
	n := r.run
	r.mu.Unlock()
	if n != nil {
		n.stop(errStopped)
		<-n.over
	}
}

// check fills in a load's defaults, and finds the collection to search.
func (r *Room) check(l web.EngineLoad) (web.EngineLoad, bench.ServerReady, error) {
	for _, v := range []struct {
		name      string
		n         *int
		most, def int
	}{{"clients", &l.Clients, MaxClients, DefaultClients}, {"seconds", &l.Seconds, MaxSeconds, DefaultSeconds}} {
		if *v.n == 0 {
			*v.n = v.def
		}
		if *v.n < 1 || *v.n > v.most {
			return l, bench.ServerReady{}, fmt.Errorf("%w: %s is %d, want 1 to %d", web.ErrEngineLoad, v.name, *v.n, v.most)
		}
	}
	if l.Policy == "" {
		l.Policy = catfish.DefaultPolicy
	}
	if known := policies(); !slices.Contains(known, l.Policy) {
		return l, bench.ServerReady{}, fmt.Errorf("%w: policy is %.100q, want one of %s", web.ErrEngineLoad, l.Policy, strings.Join(known, ", "))
	}
	on, err := r.target(&l.Collection)
	return l, on, err
}

// target finds a collection and its extent; without a name, the largest.
func (r *Room) target(name *string) (on bench.ServerReady, err error) {
	on.Addr = r.o.Server.Addr()
	st := r.o.Server.Stats()
	boxes := st.Collections[catfish.DefaultCollection].Len
	if *name == "" {
		most := boxes
		*name = catfish.DefaultCollection
		for f, s := range st.Features {
			if n := int(s.Records.Index.Items); n > most || n == most && f < *name {
				most, *name = n, f
			}
		}
	}
	empty := fmt.Errorf("%w: collection %.100q has nothing to search for", web.ErrEngineLoad, *name)
	if *name == catfish.DefaultCollection {
		t, err := r.o.Server.Collection(*name)
		if err != nil {
			return on, fmt.Errorf("%w: %w", web.ErrEngineLoad, err)
		}
		var ok bool
		if on.Bounds, ok = store.Bounds(t); !ok {
			return on, empty
		}
		on.Objects = t.Len()
		return on, nil
	}
	c, err := r.o.Server.Features(*name)
	if err != nil {
		return on, fmt.Errorf("%w: collection %.100q: %w", web.ErrEngineLoad, *name, err)
	}
	d, err := c.Describe()
	if err != nil {
		return on, err
	}
	if d.Extent == nil {
		return on, empty
	}
	e := *d.Extent
	if e[0] > e[2] { // Across 180 degrees: searches go all around.
		e[0], e[2] = -180, 180
	}
	on.Bounds, on.Objects = rstar.Rect{MinX: e[0], MinY: e[1], MaxX: e[2], MaxY: e[3]}, d.Features
	if e[0] == e[2] && e[1] == e[3] { // One point: around it.
		on.Bounds.MaxX, on.Bounds.MaxY = math.Nextafter(e[2], 180), math.Nextafter(e[3], 90)
	}
	return on, nil
}

// viewer gets the figures of a load's clients, in the load's goroutine.
type viewer struct {
	room *Room
	run  *run
	next bench.Show // nil: no other viewer
}

func (v *viewer) Note(s string) {
	if v.next != nil {
		v.next.Note(s)
	}
}

func (v *viewer) Begin(on bench.ServerReady, info bench.Info, cfg bench.DemoConfig) {
	v.room.mu.Lock()
	v.run.started, v.run.began, v.run.info = true, time.Now(), info
	v.room.mu.Unlock()
	if v.next != nil {
		v.next.Begin(on, info, cfg)
	}
}

func (v *viewer) Frame(f bench.Frame) {
	v.room.mu.Lock()
	v.run.pause = f.Pause
	v.room.publishLocked(&f)
	v.room.mu.Unlock()
	if v.next != nil {
		v.next.Frame(f)
	}
}

func (v *viewer) End(s bench.Summary) {
	if v.next != nil {
		v.next.End(s)
	}
}
