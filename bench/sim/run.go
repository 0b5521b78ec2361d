package sim

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/policy"
)

// Config says what Run simulates.
type Config struct {
	Cluster *Cluster
	Scheme  string // of policy.Schemes
	Clients int    // connections
	// TCPGbits is the rate of scheme tcp's Ethernet in Gbit/s, in place of the
	// cluster's tcp.nic.gbit_s; 0: the cluster's. The paper has two Ethernets,
	// of 1 and 40 Gbit/s. All else of [tcp] stays.
	TCPGbits float64
	InFlight int // callers of each; 0: the cluster's
	// Mix has the shares of searches and inserts in percent, [100, 0] if
	// it is zero.
	Mix      [2]int
	Duration time.Duration // measured
	Warmup   time.Duration // before it
	Seed     uint64
	Backoff  policy.Backoff // of schemes paper and paper-literal; the paper's
	// Answers makes clients of schemes that adapt compare the answer times that
	// heartbeats announce with their own: answers.go.
	Answers bool
	// FetchAll makes clients of scheme fetch fetch all answers that do not
	// come late, instead of comparing fetched with written answers.
	FetchAll bool
	// With JoinAt above 0 only the First clients search from the beginning;
	// the others join at this time after the warm-up.
	JoinAt time.Duration
	First  int
	// Sample, if above 0, is the length of Result.Series' intervals.
	Sample time.Duration
	// Progress, if set, is called from time to time with the finished share.
	Progress func(share float64)
}

// Limits against typing errors. A caller takes about 500 bytes.
const (
	maxClients  = 1 << 20
	maxCalls    = 1 << 22
	maxDuration = time.Hour
	maxSamples  = 100_000
)

func (c Config) withDefaults() Config {
	if c.InFlight == 0 && c.Cluster != nil {
		c.InFlight = c.Cluster.Client.InFlight
	}
	if c.Mix == [2]int{} {
		c.Mix = [2]int{100, 0}
	}
	return c
}

// Validate checks every value. Errors wrap harness.ErrConfig or
// policy.ErrScheme and name the value and the limit.
func (c Config) Validate() error {
	c = c.withDefaults()
	if c.Cluster == nil {
		return fmt.Errorf("%w: no cluster", harness.ErrConfig)
	}
	if err := c.Cluster.Validate(); err != nil {
		return err
	}
	if _, err := policy.SchemeByName(c.Scheme); err != nil {
		return err
	}
	if err := c.Backoff.Validate(); err != nil {
		return fmt.Errorf("%w: %w", harness.ErrConfig, err)
	}
	if _, err := c.Cluster.tcpNIC(c.TCPGbits); err != nil {
		return err
	}
	if err := cmp.Or(
		harness.CheckRange("clients", c.Clients, 1, maxClients),
		harness.CheckRange("in-flight", c.InFlight, 1, maxCalls/max(c.Clients, 1)),
		harness.CheckRange("share of searches", c.Mix[0], 0, 100),
		harness.CheckRange("share of inserts", c.Mix[1], 100-c.Mix[0], 100-c.Mix[0]),
	); err != nil {
		return err
	}
	if c.Duration < time.Millisecond || c.Duration > maxDuration {
		return fmt.Errorf("%w: duration is %v, want 1ms to %v", harness.ErrConfig, c.Duration, maxDuration)
	}
	if c.JoinAt < 0 || c.JoinAt > c.Duration {
		return fmt.Errorf("%w: clients join after %v, want 0 to the duration, %v", harness.ErrConfig, c.JoinAt, c.Duration)
	}
	if c.JoinAt > 0 && (c.First < 1 || c.First > c.Clients) {
		return fmt.Errorf("%w: %d clients are there at first, want 1 to %d", harness.ErrConfig, c.First, c.Clients)
	}
	if c.Sample < 0 || c.Sample > 0 && c.Duration/c.Sample > maxSamples {
		return fmt.Errorf("%w: samples of %v, want 0 or at least %v", harness.ErrConfig, c.Sample, c.Duration/maxSamples)
	}
	if c.Warmup < 0 || c.Warmup > maxDuration {
		return fmt.Errorf("%w: warmup is %v, want 0 to %v", harness.ErrConfig, c.Warmup, maxDuration)
	}
	return nil
}

// MixOf takes a mix that has only searches and inserts. The error wraps
// harness.ErrConfig.
func MixOf(m bench.Mix) ([2]int, error) {
	if s := m[bench.Search] + m[bench.Insert]; s != 100 {
		return [2]int{}, fmt.Errorf("%w: mix %v has %d %% of other things than searches and inserts, "+
			"which are not simulated, want 0", harness.ErrConfig, m, 100-s)
	}
	return [2]int{m[bench.Search], m[bench.Insert]}, nil
}

// steps is the number of parts of a run; the context is checked between them.
const steps = 200

// Run simulates cfg. Equal arguments give equal results, on every machine. The
// error is one of Validate's or ctx's cause.
func Run(ctx context.Context, cfg Config, w *Workload) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	if len(w.parts) > 0 && cfg.Mix[1] > 0 {
		return nil, fmt.Errorf("%w: %d %% inserts in %d groups, want searches only", harness.ErrConfig, cfg.Mix[1], len(w.parts))
	}
	s, err := newSim(cfg, w)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := s.advance(ctx, 0, int64(cfg.Warmup), int64(cfg.Warmup+cfg.Duration)); err != nil {
		return nil, err
	}
	s.reset()
	if err := s.advance(ctx, int64(cfg.Warmup), int64(cfg.Warmup+cfg.Duration),
		int64(cfg.Warmup+cfg.Duration)); err != nil {
		return nil, err
	}
	return s.result(time.Since(began)), nil
}

// advance runs from one time to another, out of all.
func (s *sim) advance(ctx context.Context, from, to, all int64) error {
	for i := int64(1); i <= steps; i++ {
		until := from + (to-from)*i/steps
		s.run(until)
		if ctx.Err() != nil {
			return fmt.Errorf("sim: simulated %v of %v: %w",
				time.Duration(s.now), time.Duration(all), context.Cause(ctx))
		}
		if s.cfg.Progress != nil {
			s.cfg.Progress(float64(until) / float64(all))
		}
	}
	return nil
}

// Result is the result of a simulation.
type Result struct {
	bench.Figures
	ByOp     map[string]bench.OpFigures
	Clients  float64 // mean share of time that the clients' cores were busy
	LinkOut  float64 // share of the servers' links out
	Writer   float64 // share of time that the tree's writer was held
	FellBack uint64  // searches that gave up offloading
	Lines    float64 // of cached nodes, read by a search
	Repairs  float64 // of cached nodes, by search
	// Of scheme fetch: the share of written answers, how often its clients
	// tried the other kind, and how often they stayed with it.
	Written       float64
	Trials, Moves uint64
	Series        []Sample
	Heartbeats    uint64 // heartbeats that clients got
	Events        uint64
	Simulated     time.Duration // warm-up included
	Took          time.Duration // of real time
}

func (s *sim) result(took time.Duration) *Result {
	n, d := &s.n, s.cfg.Duration.Seconds()
	searches, asked, hosts := float64(n.searches), float64(n.ways[0]+n.ways[1]), float64(len(s.hosts))
	machines := float64(len(s.machines) * s.cl.Client.Cores)
	r := &Result{
		Figures: bench.Figures{
			OpsPerS: float64(s.all.Count()) / d,
			MeanUs:  stats.Micros(s.all.Mean()), P50Us: stats.Micros(s.all.Quantile(0.5)),
			P99Us: stats.Micros(s.all.Quantile(0.99)), P999Us: stats.Micros(s.all.Quantile(0.999)),
			CPUUtil:  min(n.busyNs/(d*1e9*hosts*float64(s.cl.Server.Cores)), 1),
			Offload:  stats.Ratio(float64(n.ways[1]), asked),
			Trips:    stats.Ratio(float64(n.trips), searches),
			Reads:    stats.Ratio(float64(n.reads), searches),
			Bytes:    stats.Ratio(n.bytes, float64(s.all.Count())),
			Restarts: stats.Ratio(float64(n.restarts), searches),
			Torn:     float64(n.torn),
			Results:  stats.Ratio(float64(n.results), searches),
		},
		ByOp:    map[string]bench.OpFigures{},
		Clients: n.clientNs / (d * 1e9 * machines),
		LinkOut: (s.sent() - n.sentAtStart) * s.hosts[0].card.byteNs / (d * 1e9 * hosts),
		Writer:  n.writerNs / (d * 1e9), FellBack: n.fellBack, Heartbeats: n.heartbeats,
		Lines: stats.Ratio(float64(n.lines), searches), Repairs: stats.Ratio(float64(n.repairs), searches),
		Written: stats.Ratio(float64(n.written), float64(n.ways[policy.FastMessaging]+n.inserts)),
		Trials:  n.trials, Moves: n.moves,
		Series: s.series.all,
		Events: s.done, Simulated: s.cfg.Warmup + s.cfg.Duration, Took: took,
	}
	for i, op := range []bench.Op{bench.Search, bench.Insert} {
		if l := s.byOp[i]; l.Count() > 0 {
			r.ByOp[op.String()] = bench.OpFiguresOf(l)
		}
	}
	return r
}
