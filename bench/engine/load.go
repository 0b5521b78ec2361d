package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/child"
	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/web"
)

// driver is bench.Drive.
type driver func(context.Context, bench.DemoConfig, bench.ServerReady,
	func(context.Context) (bench.Usage, error), child.Spawn, bench.Show) error

// States of a load.
const (
	Starting = "starting"
	Running  = "running"
	Ended    = "ended"   // its time was over
	Stopped  = "stopped" // by Stop
	Failed   = "failed"
)

var errStopped = errors.New("the load was stopped")

// load is one load. It is a bench.Show.
type load struct {
	of     web.Load
	stop   context.CancelCauseFunc
	mu     sync.Mutex
	now    Progress
	over   bool
	frames int
}

// Progress is how a load is doing. Rates are of the last second.
type Progress struct {
	web.Load
	State     string `json:"state"`
	Error     string `json:"error,omitempty"`
	Transport string `json:"transport,omitempty"` // that its clients took, in words
	Uses      string `json:"uses,omitempty"`      // the policy's full name

	Elapsed float64 `json:"elapsed_seconds"`
	Rest    float64 `json:"rest_seconds"` // each goroutine between two searches
	// Heartbeat is the server's load as heartbeats carried it to the clients, 0 to 1.
	Heartbeat float64 `json:"heartbeat_load"`
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	// Latencies are numbers of searches that took up to 1, 2, 4, 8 ... us.
	Latencies []int64  `json:"latencies,omitempty"`
	Each      []Client `json:"each,omitempty"`
}

// Client is one of the load's clients. All are numbers a second.
type Client struct {
	Messages float64 `json:"messages"`  // searches by messages
	Offloads float64 `json:"offloads"`  // searches by its own reads
	Reads    float64 `json:"reads"`     // RDMA Reads
	Restarts float64 `json:"restarts"`  // searches begun anew, as a writer was faster
	Torn     float64 `json:"torn"`      // nodes read again, as they were being written
	FellBack float64 `json:"fell_back"` // offloaded searches finished by messages
	P50      float64 `json:"p50_us"`
	P99      float64 `json:"p99_us"`
}

// Start is as in web.Engine.
func (r *Room) Start(l web.Load, key string) error {
	if r.o.Spawn == nil {
		return fmt.Errorf("%w: this server was started without --engine-load", web.ErrNoLoad)
	}
	if err := check(l); err != nil {
		return err
	}
	on, err := r.target(l.Collection)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return fmt.Errorf("%w: the server is stopping", web.ErrNoLoad)
	case r.load != nil && !r.load.ended():
		return fmt.Errorf("%w: %d clients for %d s; stop it first", web.ErrLoadRuns, r.load.of.Clients, r.load.of.Seconds)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	n := &load{of: l, stop: cancel, now: Progress{Load: l, State: Starting}}
	r.load = n
	r.loads.Go(func() {
		defer cancel(nil)
		n.end(r.o.drive(ctx, r.o.config(l, key), on, r.usage(), r.o.Spawn, n))
	})
	return nil
}

// target is where the load's clients search.
func (r *Room) target(collection string) (on bench.ServerReady, err error) {
	c, err := r.srv.Features(collection)
	if err != nil {
		return on, fmt.Errorf("%w: %w", web.ErrBadLoad, err)
	}
	if c.Options().Space != feature.Geographic {
		return on, fmt.Errorf("%w: collection %q is in a planar space", web.ErrBadLoad, collection)
	}
	d, err := c.Describe()
	if err != nil {
		return on, fmt.Errorf("%w: %w", web.ErrBadLoad, err)
	}
	if d.Extent == nil {
		return on, fmt.Errorf("%w: collection %q has nothing that is somewhere", web.ErrBadLoad, collection)
	}
	on.Addr, on.Objects = r.srv.Addr(), d.Features
	on.Bounds = rstar.Rect{MinX: d.Extent[0], MinY: d.Extent[1], MaxX: d.Extent[2], MaxY: d.Extent[3]}
	if on.Bounds.MinX > on.Bounds.MaxX { // Across 180 degrees: around the world.
		on.Bounds.MinX, on.Bounds.MaxX = -180, 180
	}
	return on, nil
}

// usage is the server's processor time since its beginning.
func (r *Room) usage() func(context.Context) (bench.Usage, error) {
	began := time.Now()
	return func(context.Context) (bench.Usage, error) {
		s := r.srv.Stats()
		return bench.Usage{
			CPU: time.Duration(s.CPUSeconds * float64(time.Second)), Wall: time.Since(began), Cores: max(1, int(s.Cores)),
		}, nil
	}
}

// Stop is as in web.Engine. It does not wait for the load's end.
func (r *Room) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.load != nil {
		r.load.stop(errStopped)
	}
}

// Note is what bench prepares, which nobody needs here.
func (n *load) Note(string) {}

// Begin is called when all clients are connected.
func (n *load) Begin(_ bench.ServerReady, i bench.Info, _ bench.DemoConfig) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now.State, n.now.Transport, n.now.Uses = Running, bench.DescribeTransport(i.Transport), i.Policy
}

// Frame is one second of all clients.
func (n *load) Frame(f bench.Frame) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.frames++
	n.now.Elapsed, n.now.Rest, n.now.Heartbeat = f.At.Seconds(), f.Pause.Seconds(), finite(f.CoresCPU)
	n.now.P50, n.now.P99 = micros(f.P50), micros(f.P99)
	n.now.Latencies = f.Latency.Doublings()
	n.now.Each = make([]Client, len(f.Each))
	for i, c := range f.Each {
		rate := func(n uint64) float64 { return finite(float64(n) / c.Elapsed.Seconds()) }
		n.now.Each[i] = Client{
			Messages: rate(c.Counters.Fast), Offloads: rate(c.Counters.Offloaded), Reads: rate(c.Counters.Reads),
			Restarts: rate(c.Counters.Restarts), Torn: rate(c.Counters.TornReads), FellBack: rate(c.Counters.FellBack),
			P50: micros(c.Latency.Quantile(0.5)), P99: micros(c.Latency.Quantile(0.99)),
		}
	}
}

// End is the summary, which watchers have seen.
func (n *load) End(bench.Summary) {}

// end is called when the clients' processes have ended.
func (n *load) end(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.over = true
	n.now.Each, n.now.Latencies, n.now.Rest = nil, nil, 0
	switch {
	case err == nil:
		n.now.State = Ended
	case errors.Is(err, errStopped):
		n.now.State = Stopped
	default:
		n.now.State, n.now.Error = Failed, err.Error()
	}
}

func (n *load) ended() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.over
}

// progress is a copy that does not change.
func (n *load) progress() *Progress {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.now // Frame makes new slices each time.
	return &p
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
