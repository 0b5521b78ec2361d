package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/web"
	"github.com/catfish-index/catfish/rstar"
)

// Limits of a load, and its defaults. Each client is a connection with callers
// of its own, and takes a few MB.
const (
	MaxClients, DefaultClients = 16, 8
	MaxSeconds, DefaultSeconds = 120, 20

	// callersOfClient search at the same time.
	callersOfClient = 16
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
	began             time.Time
	stop              context.CancelCauseFunc
	over              chan struct{} // closed when all its processes have ended
	started           bool
	transport, policy string // of its clients
	pause             time.Duration
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
	job := clientJob{
		target: on, Policy: l.Policy, Key: key, Every: r.o.Every, Duration: time.Duration(l.Seconds) * time.Second,
	}
	procs := min(processes, l.Clients)
	job.Clients = (l.Clients + procs - 1) / procs
	l.Clients = procs * job.Clients
	_, err = r.Show(l, func(ctx context.Context, v View) error { return r.drive(ctx, job, procs, v) })
	return l, err
}

// View gets the figures of a load's clients, from one goroutine.
type View interface {
	// Begin says how the clients are connected, when they all are.
	Begin(transport, policy string)
	// Frame has the samples of an interval, and how long a caller rests at its end.
	Frame(rest time.Duration, samples []Sample)
}

// Show starts a load that drive runs until ctx is done. The channel gets the load's error
// when all of it has ended: nil if it was stopped.
func (r *Room) Show(l web.EngineLoad, drive func(context.Context, View) error) (<-chan error, error) {
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
		err := drive(ctx, &viewer{r, n})
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
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
func (r *Room) check(l web.EngineLoad) (web.EngineLoad, target, error) {
	for _, v := range []struct {
		name      string
		n         *int
		most, def int
	}{{"clients", &l.Clients, MaxClients, DefaultClients}, {"seconds", &l.Seconds, MaxSeconds, DefaultSeconds}} {
		if *v.n == 0 {
			*v.n = v.def
		}
		if *v.n < 1 || *v.n > v.most {
			return l, target{}, fmt.Errorf("%w: %s is %d, want 1 to %d", web.ErrEngineLoad, v.name, *v.n, v.most)
		}
	}
	if l.Policy == "" {
		l.Policy = catfish.DefaultPolicy
	}
	if known := policies(); !slices.Contains(known, l.Policy) {
		return l, target{}, fmt.Errorf("%w: policy is %.100q, want one of %s", web.ErrEngineLoad, l.Policy, strings.Join(known, ", "))
	}
	on, err := r.target(&l.Collection)
	return l, on, err
}

// target is what a load searches.
type target struct {
	Addr     string     `json:"addr"`
	Features string     `json:"features"` // the collection; empty: boxes
	Bounds   rstar.Rect `json:"bounds"`   // searches lie in there
	Scale    string     `json:"scale"`
}

// target finds a collection and its extent; without a name, the largest.
func (r *Room) target(name *string) (on target, err error) {
	on.Addr, on.Scale = r.o.Server.Addr(), boxScale
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
	on.Features, on.Scale = *name, featureScale
	on.Bounds = rstar.Rect{MinX: e[0], MinY: e[1], MaxX: e[2], MaxY: e[3]}
	if e[0] == e[2] && e[1] == e[3] { // One point: around it.
		on.Bounds.MaxX, on.Bounds.MaxY = math.Nextafter(e[2], 180), math.Nextafter(e[3], 90)
	}
	return on, nil
}

// viewer publishes the figures of a load's clients.
type viewer struct {
	room *Room
	run  *run
}

func (v *viewer) Begin(transport, policy string) {
	v.room.mu.Lock()
	defer v.room.mu.Unlock()
	v.run.started, v.run.began, v.run.transport, v.run.policy = true, time.Now(), transport, policy
}

func (v *viewer) Frame(rest time.Duration, samples []Sample) {
	v.room.mu.Lock()
	defer v.room.mu.Unlock()
	v.run.pause = rest
	v.room.publishLocked(samples)
}
