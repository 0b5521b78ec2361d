package sim

import (
	"context"
	"math"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/rstar"
)

var testCache Cache

// small is a workload of a tree that takes a tenth of a second to build.
func small(t testing.TB, scale string) *Workload {
	t.Helper()
	return workload(t, Spec{Dataset: "uniform", Objects: 100_000, Scale: scale, NodeBytes: 1024, Seed: 1})
}

func workload(t testing.TB, s Spec) *Workload {
	t.Helper()
	w, err := testCache.Get(s, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// openCluster reads a cluster that tests change.
func openCluster(t testing.TB, name string) *Cluster {
	t.Helper()
	cl, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

// bare is the paper's cluster with all times 0: tests set those that they
// examine.
func bare(t testing.TB) *Cluster {
	t.Helper()
	cl := openCluster(t, "paper")
	for _, f := range cl.fields() {
		switch {
		case f.value.Kind() != reflect.Float64:
		case f.min == 0:
			f.value.SetFloat(0)
		case f.max == 1e6:
			f.value.SetFloat(1e6) // Rates of cards.
		}
	}
	cl.Server.SliceNs = 1e6
	cl.Heartbeat.IntervalNs = 1e7
	if err := cl.Validate(); err != nil {
		t.Fatal(err)
	}
	return cl
}

func simulate(t testing.TB, cfg Config, w *Workload) *Result {
	t.Helper()
	if cfg.Seed == 0 {
		cfg.Seed = 1
	}
	r, err := Run(t.Context(), cfg, w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Two runs of one configuration are equal to the bit; another seed gives
// other figures.
func TestDeterminism(t *testing.T) {
	w := small(t, "1e-2")
	for _, scheme := range []string{"tcp", "fast-polling", "offload-single", "paper"} {
		cfg := Config{Cluster: openCluster(t, "paper"), Scheme: scheme, Clients: 64, Mix: [2]int{90, 10},
			Duration: 20 * time.Millisecond, Warmup: 5 * time.Millisecond, Seed: 5}
		a, b := simulate(t, cfg, w), simulate(t, cfg, w)
		a.Took, b.Took = 0, 0
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: two runs differ:\n%+v\n%+v", scheme, a, b)
		}
		cfg.Seed = 6
		if c := simulate(t, cfg, w); c.MeanUs == a.MeanUs {
			t.Errorf("%s: seeds 5 and 6 both give a mean of %v us", scheme, c.MeanUs)
		}
	}
}

// Workloads are shared: concurrent runs change nothing.
func TestConcurrentRuns(t *testing.T) {
	w := small(t, "1e-5")
	cfg := Config{Cluster: openCluster(t, "paper"), Scheme: "paper", Clients: 32, Mix: [2]int{90, 10},
		Duration: 10 * time.Millisecond, Seed: 1}
	want := simulate(t, cfg, w).MeanUs
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			r, err := Run(context.Background(), cfg, w)
			if err != nil || r.MeanUs != want {
				t.Errorf("%v, %v", r, err)
			}
		})
	}
	wg.Wait()
}

// Closed-loop laws: Little's law holds in every scheme, and where cores
// are the only resource, throughput is at the asymptotic bounds: N/(R+Z)
// without queueing, cores/demand when saturated.
func TestClosedLoopLaws(t *testing.T) {
	w := small(t, "1e-5")
	for _, scheme := range policy.Schemes()[1:] {
		for _, n := range []int{1, 20, 100} {
			cl := openCluster(t, "paper")
			cl.Client.ThinkNs = 30_000
			cl.Client.ThinkResultNs = 0
			r := simulate(t, Config{Cluster: cl, Scheme: scheme, Clients: n,
				Duration: 50 * time.Millisecond, Warmup: 20 * time.Millisecond}, w)
			// Neither includes the time that a call waits for a client's core
			// before it begins; the cores suffice.
			if got := r.OpsPerS * (r.MeanUs + 30) * 1e-6; math.Abs(got/float64(n)-1) > 0.02 {
				t.Errorf("%s: Little's law gives %.2f of %d clients", scheme, got, n)
			}
		}
	}
	const demand, think, cores = 20e3, 100e3, 2
	for _, n := range []int{1, 2, 4, 8, 12, 16, 100} {
		cl := bare(t)
		cl.Server.Cores, cl.Server.RequestNs, cl.Client.ThinkNs = cores, demand, think
		r := simulate(t, Config{Cluster: cl, Scheme: "fast", Clients: n,
			Duration: 200 * time.Millisecond, Warmup: 50 * time.Millisecond}, w)
		bound := 1e9 * math.Min(float64(n)/(demand+think), cores/demand)
		if r.OpsPerS > bound*1.001 {
			t.Errorf("%d clients: %.0f ops/s exceed the bound of %.0f", n, r.OpsPerS, bound)
		}
		// Two or fewer never wait; a hundred always do.
		if (n <= 2 || n == 100) && r.OpsPerS < bound*0.99 {
			t.Errorf("%d clients: %.0f ops/s, want %.0f", n, r.OpsPerS, bound)
		}
		if use := r.OpsPerS * demand * 1e-9 / cores; math.Abs(r.CPUUtil-use) > 0.01 {
			t.Errorf("%d clients: utilisation %.3f, the law says %.3f", n, r.CPUUtil, use)
		}
	}
}

// Each limit of the cards alone gives the throughput that arithmetic predicts.
func TestCardLimits(t *testing.T) {
	w := small(t, "1e-2")
	reads := w.Reads + 1 // the header
	wire := func(cl *Cluster, bytes float64) float64 {
		return bytes + math.Ceil(bytes/cl.Server.NIC.PacketBytes)*cl.Server.NIC.HeaderBytes
	}
	for _, c := range []struct {
		name, scheme string
		set          func(cl *Cluster)
		want         func(cl *Cluster) float64
	}{
		{"reads served", "offload", func(cl *Cluster) { cl.Server.NIC.InMops = 2 },
			func(*Cluster) float64 { return 2e6 / reads }},
		{"reads started by clients", "offload", func(cl *Cluster) { cl.Client.NIC.OutMops = 0.5 },
			func(cl *Cluster) float64 { return 0.5e6 * float64(cl.Client.Machines) / reads }},
		{"link out, blocks", "offload", func(cl *Cluster) { cl.Server.NIC.Gbits = 10 },
			func(cl *Cluster) float64 {
				b := w.Reads*wire(cl, float64(cl.Tree.BlockBytes)) + wire(cl, rstar.HeaderBytes)
				return 10e9 / 8 / b
			}},
		{"links in of clients, blocks", "offload-single", func(cl *Cluster) { cl.Client.NIC.Gbits = 1 },
			func(cl *Cluster) float64 {
				b := w.Reads * wire(cl, float64(cl.Tree.BlockBytes)) // and no header
				return 1e9 / 8 / b * float64(cl.Client.Machines)
			}},
		{"answers started", "fast", func(cl *Cluster) { cl.Server.NIC.OutMops = 0.3 },
			func(*Cluster) float64 { return 0.3e6 }},
		{"requests served", "fast", func(cl *Cluster) { cl.Server.NIC.InMops = 0.4 },
			func(*Cluster) float64 { return 0.4e6 }},
		{"tcp link, answers", "tcp", func(cl *Cluster) { cl.TCP.NIC.Gbits = 1 },
			func(cl *Cluster) float64 {
				// The mean of rounded packets, not the packets of the mean.
				sum := 0.0
				card := newCard(cl.TCP.NIC, 1)
				for i := range w.searches {
					sum += card.wireBytes(fastmsg.HeaderBytes + objectBytes*float64(w.searches[i].results))
				}
				return 1e9 / 8 / (sum / float64(len(w.searches)))
			}},
	} {
		cl := bare(t)
		cl.Tree.BlockBytes = 4096
		cl.Fabric.LatencyNs, cl.TCP.LatencyNs = 1000, 1000
		cl.Client.NIC.HeaderBytes, cl.Server.NIC.HeaderBytes, cl.TCP.NIC.HeaderBytes = 30, 30, 90
		cl.Client.NIC.PacketBytes, cl.Server.NIC.PacketBytes = 4096, 4096
		// Heartbeats use the cards too, and are not examined here.
		cl.Heartbeat.IntervalNs = 1e10
		c.set(cl)
		r := simulate(t, Config{Cluster: cl, Scheme: c.scheme, Clients: 256,
			Duration: 200 * time.Millisecond, Warmup: 100 * time.Millisecond}, w)
		if want := c.want(cl); math.Abs(r.OpsPerS/want-1) > 0.02 {
			t.Errorf("%s: %.0f ops/s, the limit is %.0f", c.name, r.OpsPerS, want)
		}
	}
}

// Latency alone: a search of one client takes the latencies of its round
// trips, by levels with multi-issue, whose header is read beside the root, and by nodes
// without.
func TestRoundTrips(t *testing.T) {
	w := small(t, "1e-2")
	for _, c := range []struct {
		scheme string
		trips  float64
	}{{"fast", 1}, {"offload", float64(w.Height)}, {"offload-single", w.Reads}} {
		cl := bare(t)
		cl.Fabric.LatencyNs = 50_000
		r := simulate(t, Config{Cluster: cl, Scheme: c.scheme, Clients: 1,
			Duration: 5 * time.Second}, w)
		// The window holds back the widest searches of multi-issue.
		if want := c.trips * 100; math.Abs(r.MeanUs/want-1) > 0.02 || math.Abs(r.Trips/c.trips-1) > 0.02 {
			t.Errorf("%s: %.1f us and %.2f round trips, want %.1f and %.2f", c.scheme, r.MeanUs, r.Trips, want, c.trips)
		}
	}
}

// Inserts are serial, and disturb searches that read the same nodes.
func TestWriter(t *testing.T) {
	w := small(t, "1e-5")
	cl := bare(t)
	cl.Server.InsertNs, cl.Server.PublishNs = 10_000, 5_000
	// Not 5 us: where no cost varies, reads would always come just after.
	cl.Fabric.LatencyNs = 4_000
	r := simulate(t, Config{Cluster: cl, Scheme: "fast", Clients: 64, Mix: [2]int{0, 100},
		Duration: 100 * time.Millisecond, Warmup: 10 * time.Millisecond}, w)
	if math.Abs(r.OpsPerS/1e5-1) > 0.01 || math.Abs(r.Writer-1) > 0.01 || r.ByOp["insert"].Count == 0 {
		t.Errorf("%.0f inserts/s of 10 us each, writer busy %.2f", r.OpsPerS, r.Writer)
	}
	// A tree of a hundred leaves, so that searches meet inserts.
	w = workload(t, Spec{Dataset: "uniform", Objects: 2000, Scale: "1e-2", NodeBytes: 1024, Seed: 1})
	r = simulate(t, Config{Cluster: cl, Scheme: "offload", Clients: 64, Mix: [2]int{50, 50},
		Duration: 100 * time.Millisecond, Warmup: 10 * time.Millisecond}, w)
	if r.Torn == 0 || r.Restarts == 0 || r.Restarts > 1 {
		t.Errorf("torn %v, restarts per search %v beside a busy writer", r.Torn, r.Restarts)
	}
	r = simulate(t, Config{Cluster: cl, Scheme: "offload", Clients: 64,
		Duration: 100 * time.Millisecond}, w)
	if r.Torn != 0 || r.Restarts != 0 || r.Reads < w.Reads {
		t.Errorf("torn %v, restarts %v, reads %v without a writer", r.Torn, r.Restarts, r.Reads)
	}
}

// No event costs an allocation once everything has grown to its size.
func TestNoAllocations(t *testing.T) {
	w := small(t, "1e-2")
	for _, scheme := range []string{"fast", "fast-polling", "paper"} {
		s, err := newSim(Config{Cluster: openCluster(t, "paper"), Scheme: scheme, Clients: 100, InFlight: 1,
			Mix: [2]int{90, 10}, Duration: time.Second, Seed: 1}, w)
		if err != nil {
			t.Fatal(err)
		}
		until := int64(100e6)
		s.run(until)
		before := s.done
		allocs := testing.AllocsPerRun(1, func() {
			until += 20e6
			s.run(until)
		})
		if events := float64(s.done - before); allocs > events/10000 {
			t.Errorf("%s: %v allocations in %v events", scheme, allocs, events)
		}
	}
}
