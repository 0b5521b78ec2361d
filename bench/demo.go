package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/rstar"
)

// DemoConfig says what Demo shows.
type DemoConfig struct {
	Dataset   string        // as in Config; its generators make Objects
	Objects   int           // 100,000
	Duration  time.Duration // of the whole show; 20 s
	Interval  time.Duration // between pictures; 1 s
	Transport string        // auto
	Policy    string        // default
	Scale     string        // 0.5
	Procs     int           // client processes; 2
	Clients   int           // per process; 4
	InFlight  int           // goroutines per client; 16
	Seed      uint64        // of generated data and of queries
	Steps     []Step        // the load; none: no rest

	Each bool // Frame.Each is wanted

	Strategy rstar.Strategy // of the tree; Revised
	Inserted bool           // objects one by one, not loaded at once
	Backoff  policy.Backoff // of paper and paper-literal; the paper's

	ServerCPUs, ClientCPUs affinity.Set
}

func (c DemoConfig) withDefaults() DemoConfig {
	harness.Default(&c.Dataset, "california")
	harness.Default(&c.Objects, 100_000)
	harness.Default(&c.Duration, 20*time.Second)
	harness.Default(&c.Interval, time.Second)
	harness.Default(&c.Transport, "auto")
	harness.Default(&c.Policy, "default")
	// Of the map's extent. Such a view holds 1,700 road segments on average:
	// it costs the server half as much again as the client, so that one core
	// of clients saturates one of the server. At 0.2 the client costs more.
	harness.Default(&c.Scale, "0.5")
	harness.Default(&c.Procs, 2)
	harness.Default(&c.Clients, 4)
	harness.Default(&c.InFlight, 16)
	return c
}

// WithDefaults is c with the defaults in place of what is 0.
func (c DemoConfig) WithDefaults() DemoConfig { return c.withDefaults() }

// Frame is one picture of the show: all clients, one interval.
type Frame struct {
	At        time.Duration // since the load began
	Pause     time.Duration // each goroutine rests between two calls
	FastPerS  float64       // searches by fast messaging
	OffPerS   float64       // searches by offloading
	ServerCPU float64       // the server's own share of its cores, 0 to 1
	CoresCPU  float64       // all use of these cores, from the last heartbeat
	P50, P99  time.Duration
	Mean      time.Duration // latency
	Busy      int           // r_busy: the largest of all clients
	Left      int           // r_off: the largest of all clients
	Offloads  int           // clients that offloaded a search
	Clients   int
	Latency   *latency.Distribution // of all searches
	Each      []ClientFrame         // by client; DemoConfig.Each
}

// ClientFrame is what one client did in the interval.
type ClientFrame struct {
	Elapsed  time.Duration
	Counters Counters
	Gauges   Gauges
	Latency  *latency.Distribution
}

// Show receives what happens during a demo, from one goroutine.
type Show interface {
	// Note receives what is being prepared.
	Note(string)
	// Begin is called once when everything runs.
	Begin(ServerReady, Info, DemoConfig)
	// Frame is called once per interval.
	Frame(Frame)
	// End receives the summary, also after Ctrl-C if there was a frame.
	End(Summary)
}

// Summary is the whole show in numbers.
type Summary struct {
	Frames         int
	Elapsed        time.Duration
	Fast, Offload  uint64 // searches
	P50, P99       time.Duration
	PeakCPU        float64 // highest of a frame
	PeakPerS       float64 // most searches per second of a frame
	Results        uint64  // objects that searches found
	PeakResults    float64 // most of them per second of a frame
	Transport      string
	OffloadedFirst time.Duration // when the first frame offloaded; -1: never
}

// Validate checks the policy, the transport, the tree and the cores. Errors wrap
// harness.ErrConfig and name the value and what is allowed; known lists the
// policies that exist.
func (c DemoConfig) Validate(known []string) error {
	c = c.withDefaults()
	if !slices.Contains(known, c.Policy) {
		return fmt.Errorf("%w: unknown policy %q, want one of %s",
			harness.ErrConfig, c.Policy, strings.Join(known, ", "))
	}
	if transports := []string{"auto", "shm", "soft"}; !slices.Contains(transports, c.Transport) {
		return fmt.Errorf("%w: transport %q, want one of %s",
			harness.ErrConfig, c.Transport, strings.Join(transports, ", "))
	}
	return cmp.Or(checkTree(0, 0, c.Strategy), checkBackoff(c.Backoff), harness.CheckCores(c.ServerCPUs, c.ClientCPUs))
}

// Demo runs a server and clients in processes of their own for cfg.Duration
// and reports what happens to show. It ends early, without an error, when ctx
// is done. Other errors wrap harness.ErrConfig or child.ErrFailed. No child outlives
// the call.
func Demo(ctx context.Context, cfg DemoConfig, spawn child.Spawn, show Show) error {
	cfg = cfg.withDefaults()
	if cfg.Interval <= 0 || cfg.Duration < cfg.Interval {
		return fmt.Errorf("%w: duration is %v, want at least %v",
			harness.ErrConfig, cfg.Duration, cfg.Interval)
	}
	err := runDemo(ctx, cfg, spawn, show)
	if ctx.Err() != nil {
		return nil // Ctrl-C ends a demo regularly.
	}
	return err
}

func runDemo(ctx context.Context, cfg DemoConfig, spawn child.Spawn, show Show) error {
	show.Note("starting the server")
	srv, ready, err := Serve(ctx, spawn, cfg.ServerCPUs, ServerJob{
		Dataset: cfg.Dataset, Objects: cfg.Objects, Seed: cfg.Seed, Transport: cfg.Transport,
		Strategy: cfg.Strategy, Inserted: cfg.Inserted,
	}, show.Note)
	if err != nil {
		return err
	}
	defer srv.Stop()
	usage := func(ctx context.Context) (harness.Usage, error) { return usageOf(ctx, srv) }
	return drive(ctx, cfg, ready, usage, spawn, show)
}

// Drive runs clients in processes of their own against a running server, and
// otherwise works like Demo. usage is asked for the server's processor time.
// When ctx is done, the error is its cause.
func Drive(ctx context.Context, cfg DemoConfig, on ServerReady, usage func(context.Context) (harness.Usage, error),
	spawn child.Spawn, show Show) error {
	cfg = cfg.withDefaults()
	if cfg.Interval <= 0 || cfg.Duration < cfg.Interval {
		return fmt.Errorf("%w: duration is %v, want at least %v", harness.ErrConfig, cfg.Duration, cfg.Interval)
	}
	err := drive(ctx, cfg, on, usage, spawn, show)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func drive(ctx context.Context, cfg DemoConfig, ready ServerReady, usage func(context.Context) (harness.Usage, error),
	spawn child.Spawn, show Show) error {
	show.Note("starting the clients")
	clients, could, err := harness.StartClients[ClientReady](ctx, spawn, ClientRole, cfg.ClientCPUs, cfg.Procs, func(i int) any {
		return ClientJob{
			Addr: ready.Addr, Transport: cfg.Transport, Policy: cfg.Policy, Backoff: cfg.Backoff,
			Dataset: cfg.Dataset, Bounds: ready.Bounds, Scale: cfg.Scale,
			Mix: SearchOnly, Seed: cfg.Seed, Proc: i, Clients: cfg.Clients,
			InFlight: cfg.InFlight, Interval: cfg.Interval,
			Samples: int(cfg.Duration / cfg.Interval), Steps: cfg.Steps,
			Each: cfg.Each,
		}
	}, show.Note)
	if err != nil {
		return err
	}
	defer clients.Stop()
	info := could[len(could)-1].Info
	show.Begin(ready, info, cfg)
	return watch(ctx, cfg, usage, clients, info, show)
}

// watch starts the clients' load and turns their samples into frames.
func watch(ctx context.Context, cfg DemoConfig, usage func(context.Context) (harness.Usage, error), clients harness.Clients,
	info Info, show Show) error {
	from, err := usage(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := clients.Go(); err != nil {
		return err
	}
	sum := Summary{Transport: info.Transport, OffloadedFirst: -1}
	all := latency.New()
	defer func() {
		if sum.Frames > 0 {
			sum.Elapsed = time.Since(began)
			sum.P50, sum.P99 = all.Quantile(0.5), all.Quantile(0.99)
			show.End(sum)
		}
	}()
	for range int(cfg.Duration / cfg.Interval) {
		samples, err := harness.Each[*Sample](ctx, clients, "sample")
		if err != nil {
			return err
		}
		for _, p := range samples {
			all.Merge(p.Latency[Search])
		}
		to, err := usage(ctx)
		if err != nil {
			return err
		}
		f := newFrame(samples)
		f.At, f.ServerCPU = time.Since(began), to.Since(from).Util
		from = to
		sum.add(f, samples)
		show.Frame(f)
	}
	return nil
}

// newFrame adds up the samples of one interval.
func newFrame(samples []*Sample) Frame {
	lat := latency.New()
	f := Frame{Latency: lat}
	for _, s := range samples {
		f.Pause = max(f.Pause, s.Pause)
		f.Offloads += s.Offloads
		if s.Elapsed > 0 {
			f.FastPerS += float64(s.Counters.Fast) / s.Elapsed.Seconds()
			f.OffPerS += float64(s.Counters.Offloaded) / s.Elapsed.Seconds()
		}
		lat.Merge(s.Latency[Search])
		for i, g := range s.Gauges {
			if s.Each != nil {
				f.Each = append(f.Each, ClientFrame{s.Elapsed, s.Each[i].Counters, g, s.Each[i].Latency})
			}
			f.Clients++
			f.CoresCPU = max(f.CoresCPU, g.ServerUtil)
			f.Busy = max(f.Busy, g.Busy)
			f.Left = max(f.Left, g.Left)
		}
	}
	f.P50, f.P99, f.Mean = lat.Quantile(0.5), lat.Quantile(0.99), lat.Mean()
	return f
}

func (s *Summary) add(f Frame, samples []*Sample) {
	s.Frames++
	results := 0.0
	for _, p := range samples {
		s.Fast += p.Counters.Fast
		s.Offload += p.Counters.Offloaded
		s.Results += p.Results
		if p.Elapsed > 0 {
			results += float64(p.Results) / p.Elapsed.Seconds()
		}
	}
	s.PeakResults = max(s.PeakResults, results)
	s.PeakCPU = max(s.PeakCPU, f.ServerCPU)
	s.PeakPerS = max(s.PeakPerS, f.FastPerS+f.OffPerS)
	if f.OffPerS > 0 && s.OffloadedFirst < 0 {
		s.OffloadedFirst = f.At
	}
}
