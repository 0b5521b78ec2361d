package sim

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestAnnouncedAnswers: where the server's cores are the only resource, a heartbeat announces
// the time that messages take.
func TestAnnouncedAnswers(t *testing.T) {
	cl := bare(t)
	cl.Server.Cores, cl.Server.RequestNs = 2, 20e3
	s, err := newSim(Config{Cluster: cl, Scheme: "fast", Clients: 16, InFlight: 1, Mix: [2]int{100, 0},
		Duration: time.Second, Seed: 1}, small(t, "1e-5"))
	if err != nil {
		t.Fatal(err)
	}
	s.run(1e8)
	for i := range s.clients {
		// 14 wait for two cores, and two are served.
		if us := s.clients[i].answer / 1e3; math.Abs(us/160-1) > 0.02 {
			t.Errorf("client %d has an answer time of %.1f us, want 160", i, us)
		}
	}
}

// TestAnswersDecide: clients with announced answer times offload where that is quicker, and not
// where it is slower; other schemes do as before.
func TestAnswersDecide(t *testing.T) {
	w := small(t, "1e-5")
	run := func(scheme string, clients int, latency float64, answers bool) Row {
		cl := openCluster(t, "paper")
		if cl.Fabric.LatencyNs = latency; latency > 1e5 {
			cl.Server.Cores = 2
		}
		cfg := Config{Cluster: cl, Scheme: scheme, Clients: clients, Answers: answers,
			Warmup: 100 * time.Millisecond, Duration: 50 * time.Millisecond}
		return NewRow(cfg, w, simulate(t, cfg, w), "abc")
	}
	past, told := run("paper", 128, 1e3, false), run("paper", 128, 1e3, true)
	if past.Answers || !told.Answers || told.OpsPerS < 1.05*past.OpsPerS {
		t.Errorf("%.0f ops/s by Algorithm 1, %.0f by answer times", past.OpsPerS, told.OpsPerS)
	}
	// Reads cross the network once for each level of the tree, messages once. Two cores are
	// busy enough for offloading to be tried.
	if far := run("paper", 16, 3e5, true); far.CPUUtil < 0.5 || far.Offload > 0.1 {
		t.Errorf("%.2f of the searches are offloaded where that takes milliseconds, server %.2f", far.Offload, far.CPUUtil)
	}
	if a, b := run("fast", 64, 1e3, false), run("fast", 64, 1e3, true); b.Answers || a.OpsPerS != b.OpsPerS {
		t.Errorf("fast: %.0f and %.0f ops/s", a.OpsPerS, b.OpsPerS)
	}
	var text strings.Builder
	if err := WriteRows(&text, openCluster(t, "paper"), w, []Row{told}); err != nil ||
		!strings.Contains(text.String(), "simulated: paper: by announced answer times instead\n") {
		t.Errorf("%v\n%s", err, &text)
	}
}
