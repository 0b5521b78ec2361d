package sim

import (
	"math"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/internal/rstar/remote"
	"github.com/catfish-index/catfish/rstar"
)

// With all internal nodes cached, a search is one round trip of leaves and
// lines; with inserts few are repaired.
func TestCachedNodes(t *testing.T) {
	w := small(t, "1e-5")
	leaves, inner, more, bytes := 0, 0, 0, 0
	for i := range w.nodes {
		n := &w.nodes[i]
		switch {
		case !n.leaf:
			inner++
			bytes += rstar.LineBytes
			continue
		case n.heads:
			bytes += rstar.HeadBytes(w.Spec.NodeBytes)
		}
		leaves++
		if n.more {
			more++
		}
		if n.more || !n.heads {
			bytes += openCluster(t, "paper").Tree.BlockBytes
		}
	}
	if more == 0 || more > leaves/5 {
		t.Fatalf("of %d leaves the heads of %d do not suffice", leaves, more)
	}
	n := float64(len(w.searches))
	cfg := Config{Cluster: openCluster(t, "paper"), Scheme: "offload-cached", Clients: 32,
		Warmup: 100 * time.Millisecond, Duration: 100 * time.Millisecond}
	r := simulate(t, cfg, w)
	// One walk in eight reads the slab's header.
	if want := float64(leaves+more)/n + 1.0/remote.HeaderEvery; math.Abs(r.Reads-want) > 0.02 {
		t.Errorf("%.3f reads a search, want %.3f", r.Reads, want)
	}
	if want := float64(inner) / n; math.Abs(r.Lines-want) > 0.02 {
		t.Errorf("%.3f lines a search, want %.3f", r.Lines, want)
	}
	if want := 1 + float64(more)/n; r.Trips < 1 || r.Trips > want+0.01 || r.Repairs != 0 || r.Restarts != 0 {
		t.Errorf("%.3f round trips, %.3f repairs, %.3f restarts; want %.3f, 0, 0", r.Trips, r.Repairs, r.Restarts, want)
	}
	if want := float64(bytes)/n + rstar.HeaderBytes/remote.HeaderEvery; math.Abs(r.Bytes/want-1) > 0.02 {
		t.Errorf("%.0f bytes a search, want %.0f", r.Bytes, want)
	}
	cfg.Mix = [2]int{90, 10}
	// The tree grew by insertion: in a loaded one all leaves are full. A
	// larger one has fewer repairs: 0.11 with 2,000,000 objects.
	r = simulate(t, cfg, workload(t, cfg.Cluster.Spec("uniform", 300_000, "1e-5", 1)))
	if r.Repairs == 0 || r.Repairs > 0.3 || r.Restarts > 0.05 || r.Trips <= 1 || r.Trips > 1.35 {
		t.Errorf("with inserts: %.3f repairs, %.4f restarts, %.3f round trips", r.Repairs, r.Restarts, r.Trips)
	}
	plain := simulate(t, Config{Cluster: cfg.Cluster, Scheme: "offload", Clients: 256, Duration: 50 * time.Millisecond}, w)
	cfg.Clients, cfg.Mix = 256, [2]int{}
	if cached := simulate(t, cfg, w); cached.OpsPerS < 2*plain.OpsPerS {
		t.Errorf("%.0f searches/s with cached nodes, %.0f without", cached.OpsPerS, plain.OpsPerS)
	}
}

// seer offloads, and notes its estimate before a search and the search's reads.
type seer struct {
	probe
	blind bool // it makes no estimate
	seen  []policy.Estimate
	read  []int
	size  int
}

func (p *seer) Plan(a *policy.Ask) policy.Plan {
	var e policy.Estimate
	if !p.blind {
		a.Search.Estimate(&e)
	}
	p.seen = append(p.seen, e)
	return policy.Plan{Share: 1, Searches: 1}
}

func (p *seer) Observe(_ time.Time, o policy.Outcome) {
	p.read = append(p.read, o.Reads)
	p.size += o.Bytes
}

// A policy's estimate before a search equals the search's reads.
func TestEstimate(t *testing.T) {
	cl := openCluster(t, "paper")
	s, err := newSim(Config{Cluster: cl, Scheme: "offload-cached", Clients: 1, InFlight: 1, Mix: [2]int{100, 0},
		Duration: time.Second, Seed: 1}, small(t, "1e-2"))
	if err != nil {
		t.Fatal(err)
	}
	p := &seer{probe: probe{t: t, s: s}}
	c := &s.clients[0]
	c.engine = policy.NewEngine(p, 1, s.clock, nil)
	s.run(1e8)
	if e := p.seen[0]; e != (policy.Estimate{Missing: 1, Bytes: cl.Tree.BlockBytes}) {
		t.Errorf("of the first search it sees %+v, want that the root is missing", e)
	}
	size, complete := 0, 0
	for i, n := range p.read {
		e := p.seen[i]
		want := e.Leaves + e.Cached
		if i%remote.HeaderEvery == 0 {
			want++
			size += rstar.HeaderBytes
		}
		size += e.Bytes
		if e.Missing == 0 {
			complete++
			if n < want || n > want+e.Heads { // Heads may not suffice.
				t.Fatalf("search %d: %d reads, saw %+v", i, n, e)
			}
		} else if n <= want {
			t.Fatalf("search %d: %d reads, saw %+v", i, n, e)
		}
	}
	if complete < len(p.read)/2 || p.size < size {
		t.Errorf("%d of %d searches had all nodes cached; %d bytes, saw %d", complete, len(p.read), p.size, size)
	}
}

// A search without an estimate is walked like any other.
func TestBlindOffload(t *testing.T) {
	run := func(p *seer) {
		s, err := newSim(Config{Cluster: openCluster(t, "thismachine"), Scheme: "offload-cached", Clients: 1, InFlight: 1,
			Mix: [2]int{100, 0}, Duration: time.Second, Seed: 1}, small(t, "1e-2"))
		if err != nil {
			t.Fatal(err)
		}
		s.clients[0].engine = policy.NewEngine(p, 1, s.clock, nil)
		s.run(1e8)
	}
	looks, sees := &seer{}, &seer{blind: true}
	run(looks)
	run(sees)
	for i, n := range sees.read {
		if sees.seen[i] != (policy.Estimate{}) {
			t.Fatalf("search %d: saw %+v without a look", i, sees.seen[i])
		}
		if i < len(looks.read) && n != looks.read[i] {
			t.Fatalf("search %d: %d reads, %d after a look", i, n, looks.read[i])
		}
	}
	// An estimate is a descent, which takes time.
	if len(sees.read) <= len(looks.read) {
		t.Errorf("%d searches without a look, %d with one", len(sees.read), len(looks.read))
	}
}

// Clients join at JoinAt, and a watched run has a sample of each interval.
func TestSeries(t *testing.T) {
	r := simulate(t, Config{Cluster: openCluster(t, "paper"), Scheme: "paper", Clients: 64, First: 4,
		JoinAt: 50 * time.Millisecond, Warmup: 10 * time.Millisecond, Duration: 100 * time.Millisecond,
		Sample: 10 * time.Millisecond}, small(t, "1e-5"))
	if len(r.Series) != 10 {
		t.Fatalf("%d samples, want 10", len(r.Series))
	}
	sum := uint64(0)
	for i, s := range r.Series {
		sum += s.Searches
		if math.Abs(s.AtS-0.01*float64(i+1)) > 1e-9 || s.MeanUs <= 0 || s.MostUs < s.MeanUs || s.CPU <= 0 || s.CPU > 1 {
			t.Errorf("sample %d: %+v", i, s)
		}
	}
	if float64(sum) != r.OpsPerS/10 {
		t.Errorf("samples have %d searches, the run %.0f", sum, r.OpsPerS/10)
	}
	if a, b := r.Series[4].OpsPerS, r.Series[6].OpsPerS; b < 10*a {
		t.Errorf("%.0f searches/s before 60 clients joined 4, %.0f after", a, b)
	}
}

// Policy cost is at least as good as the paper's where that loses most, and mixes
// where both paths are full; where fast messaging is better it loses little.
func TestCostAgainstPaper(t *testing.T) {
	run := func(cluster, scheme, scale string, clients, inserts int) *Result {
		cl := openCluster(t, cluster)
		return simulate(t, Config{Cluster: cl, Scheme: scheme, Clients: clients, Mix: [2]int{100 - inserts, inserts},
			// cost probes offloading after a third of a second.
			Warmup: 400 * time.Millisecond, Duration: 20 * time.Millisecond}, small(t, scale))
	}
	for _, c := range []struct {
		cluster, scale   string
		clients, inserts int
		times            float64 // of the paper's throughput, at least
	}{
		{"paper", "1e-5", 32, 0, 1}, {"paper", "1e-5", 112, 10, 1.3}, {"paper", "1e-2", 256, 0, 1.3},
		{"thismachine", "1e-2", 8, 0, 0.97}, {"thismachine", "1e-5", 8, 0, 0.97},
	} {
		a, b := run(c.cluster, "cost", c.scale, c.clients, c.inserts), run(c.cluster, "paper", c.scale, c.clients, c.inserts)
		if a.OpsPerS < c.times*b.OpsPerS {
			t.Errorf("%+v: cost %.0f ops/s, paper %.0f", c, a.OpsPerS, b.OpsPerS)
		}
		if c.inserts == 0 && c.cluster == "paper" && a.P99Us > b.P99Us {
			t.Errorf("%+v: the 99th percentile is %.0f us, paper %.0f", c, a.P99Us, b.P99Us)
		}
	}
}
