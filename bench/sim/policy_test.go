package sim

import (
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/policy"
)

// probe notes what a policy observes.
type probe struct {
	t          *testing.T
	s          *sim
	path       policy.Path
	asked      int
	heartbeats []policy.Load
	at         []time.Time
	observed   [2]int
}

func (p *probe) Plan(a *policy.Ask) policy.Plan {
	if a.Now.UnixNano() != p.s.now {
		p.t.Fatalf("the clock says %v at %d", a.Now, p.s.now)
	}
	if a.Fresh {
		p.heartbeats = append(p.heartbeats, *a.Load)
		p.at = append(p.at, a.Now)
	}
	p.asked++
	p.path ^= 1
	return policy.Plan{Share: float64(p.path), Searches: 1}
}

func (p *probe) Observe(now time.Time, o policy.Outcome) {
	if now.UnixNano() != p.s.now || o.Took <= 0 || (o.Reads > 0) != (o.Path == policy.Offload) {
		p.t.Errorf("at %v: %+v", now, o)
	}
	p.observed[o.Path]++
}

func (p *probe) Describe() policy.Description { return policy.Description{Name: "probe"} }

// Policies live in simulated time: heartbeats come once an interval, each once
// and in order, with the server's true utilisation; every search is planned
// once and its outcome observed once.
func TestPoliciesSeeTime(t *testing.T) {
	cl := openCluster(t, "paper")
	cl.Server.Cores = 2
	cl.Heartbeat.Spread = 0.5
	s, err := newSim(Config{Cluster: cl, Scheme: "paper", Clients: 16, InFlight: 2, Mix: [2]int{100, 0},
		Duration: time.Second, Seed: 1}, small(t, "1e-5"))
	if err != nil {
		t.Fatal(err)
	}
	probes := make([]*probe, len(s.clients))
	for i := range s.clients {
		probes[i] = &probe{t: t, s: s}
		s.clients[i].engine = policy.NewEngine(probes[i], 1, s.clock, nil)
	}
	s.run(1e9)
	asked, finished := 0, uint64(0)
	for i, p := range probes {
		if n := len(p.heartbeats); n < 97 || n > 100 {
			t.Fatalf("client %d got %d heartbeats in 1 s, want one every 10 ms", i, n)
		}
		apart := time.Duration(0.5 * float64(i) / 16 * 1e7)
		for j, b := range p.heartbeats {
			if b.Seq != uint64(j+1) || b.Interval != 10*time.Millisecond {
				t.Fatalf("heartbeat %d: %+v", j, b)
			}
			due := time.Unix(0, int64(b.Seq)*1e7).Add(apart)
			// One search later at most; saturated, it takes 1 ms.
			if late := p.at[j].Sub(due); late < 0 || late > 3*time.Millisecond {
				t.Fatalf("client %d saw heartbeat %d %v after it was due", i, j, late)
			}
			// All of 16 x 2 callers want two cores, half of the time.
			if b.CPU < 0.5 || b.CPU > 1 || b.Busy != b.CPU || b.BytesOut <= 0 {
				t.Fatalf("heartbeat %d: %+v", j, b)
			}
		}
		if left := p.asked - p.observed[0] - p.observed[1]; left < 0 || left > 2 {
			t.Errorf("client %d: asked %d times, observed %v", i, p.asked, p.observed)
		}
		asked += p.asked
		finished += uint64(p.observed[0] + p.observed[1])
	}
	if got := s.n.ways[0] + s.n.ways[1]; got != finished {
		t.Errorf("%d searches finished, policies observed %d", got, finished)
	}
}

// The real Algorithm 1 offloads when, and only when, the simulated server
// is busy.
func TestBackoffReacts(t *testing.T) {
	w := small(t, "1e-5")
	cl := openCluster(t, "paper")
	idle := simulate(t, Config{Cluster: cl, Scheme: "paper", Clients: 8, Duration: 200 * time.Millisecond}, w)
	if idle.Offload != 0 || idle.Heartbeats == 0 {
		t.Errorf("%.3f of the searches of an idle server were offloaded, %d heartbeats", idle.Offload, idle.Heartbeats)
	}
	busy := simulate(t, Config{Cluster: cl, Scheme: "paper", Clients: 256, Duration: 200 * time.Millisecond}, w)
	if busy.Offload < 0.05 {
		t.Errorf("%.3f of the searches of a saturated server were offloaded", busy.Offload)
	}
	tcp := simulate(t, Config{Cluster: cl, Scheme: "tcp", Clients: 256, Duration: 100 * time.Millisecond}, w)
	if tcp.Heartbeats != 0 {
		t.Errorf("%d heartbeats over tcp", tcp.Heartbeats)
	}
}

// A server without requests sends no heartbeats after a second.
func TestNoHeartbeatsWithoutRequests(t *testing.T) {
	cl := openCluster(t, "paper")
	cl.Client.ThinkNs = 1e9
	s, err := newSim(Config{Cluster: cl, Scheme: "paper", Clients: 1, InFlight: 1, Mix: [2]int{100, 0},
		Duration: time.Second, Seed: 1}, small(t, "1e-5"))
	if err != nil {
		t.Fatal(err)
	}
	s.calls[0].next = 0
	s.heap = nil // The only caller never begins.
	s.schedule(int64(cl.Heartbeat.IntervalNs), evHeartbeatDue, 0, 0)
	s.run(5e9)
	if s.n.heartbeats < 95 || s.n.heartbeats > 100 {
		t.Errorf("%d heartbeats in 5 s to a client that asks nothing, want those of 1 s", s.n.heartbeats)
	}
}
