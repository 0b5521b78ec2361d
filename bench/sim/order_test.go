package sim

import (
	"testing"
	"time"
)

// Simulations of a small tree have the orderings that the paper reports.
func TestOrderings(t *testing.T) {
	cl := openCluster(t, "paper")
	// The same simulation gives the same result, so each runs once.
	type setting struct {
		scheme, scale    string
		clients, inserts int
	}
	results := map[setting]*Result{}
	run := func(scheme, scale string, clients, inserts int) *Result {
		s := setting{scheme, scale, clients, inserts}
		if results[s] == nil {
			results[s] = simulate(t, Config{Cluster: cl, Scheme: scheme, Clients: clients,
				Mix: [2]int{100 - inserts, inserts}, Warmup: 60 * time.Millisecond,
				Duration: 60 * time.Millisecond}, workload(t, cl.Spec("uniform", 300_000, scale, 1)))
		}
		return results[s]
	}
	for _, scale := range []string{"1e-5", "1e-2", "power"} {
		for _, inserts := range []int{0, 10} {
			adaptive := run("paper", scale, 256, inserts)
			fast, offload, tcp := run("fast", scale, 256, inserts), run("offload", scale, 256, inserts), run("tcp", scale, 256, inserts)
			// Where offloading alone is far better than messages, Algorithm 1
			// still sends some messages: docs/research/paper-simulated.md.
			if adaptive.OpsPerS < fast.OpsPerS || adaptive.OpsPerS < 0.75*offload.OpsPerS {
				t.Errorf("scale %s, %d %% inserts: adaptive %.0f ops/s, fast %.0f, offload %.0f", scale, inserts,
					adaptive.OpsPerS, fast.OpsPerS, offload.OpsPerS)
			}
			for name, r := range map[string]*Result{"adaptive": adaptive, "fast": fast, "offload": offload} {
				if tcp.OpsPerS >= r.OpsPerS {
					t.Errorf("scale %s, %d %% inserts: tcp %.0f ops/s, %s %.0f", scale, inserts, tcp.OpsPerS, name, r.OpsPerS)
				}
			}
			if inserts == 0 && offload.CPUUtil > 0.01 {
				t.Errorf("scale %s: offloading takes %.1f %% of the server's cores", scale, 100*offload.CPUUtil)
			}
		}
	}
	// Figure 7: events beat polling where threads outnumber the cores, and
	// polling collapses; with a core for each thread polling is better.
	machines := cl.Client.Machines
	cl.Client.Machines = cl.Client.Figure7
	clear(results)
	for _, n := range []int{80, 160, 320} {
		event, poll := run("fast", "1e-5", n, 0), run("fast-polling", "1e-5", n, 0)
		if event.MeanUs >= poll.MeanUs {
			t.Errorf("%d clients: events %.1f us, polling %.1f us", n, event.MeanUs, poll.MeanUs)
		}
	}
	if a, b := run("fast-polling", "1e-5", 80, 0), run("fast-polling", "1e-5", 320, 0); b.MeanUs < 8*a.MeanUs {
		t.Errorf("polling: %.1f us with 80 threads, %.1f with 320: no collapse", a.MeanUs, b.MeanUs)
	}
	if event, poll := run("fast", "1e-5", 16, 0), run("fast-polling", "1e-5", 16, 0); poll.MeanUs >= event.MeanUs {
		t.Errorf("16 clients on 28 cores: events %.1f us, polling %.1f us", event.MeanUs, poll.MeanUs)
	}
	cl.Client.Machines = machines
	clear(results)
	// Figure 8: multi-issue, where the link is not full.
	for _, n := range []int{1, 16, 32} {
		single, multi := run("offload-single", "1e-2", n, 0), run("offload", "1e-2", n, 0)
		if multi.MeanUs >= single.MeanUs {
			t.Errorf("%d clients: multi-issue %.1f us, single-issue %.1f us", n, multi.MeanUs, single.MeanUs)
		}
	}
	// Figure 2: over 1 Gbit/s wide searches are bound by the network,
	// narrow ones by the server's cores.
	if r := run("tcp", "1e-2", 256, 0); r.LinkOut < 0.95 || r.CPUUtil > 0.9 {
		t.Errorf("wide: link %.2f, server %.2f", r.LinkOut, r.CPUUtil)
	}
	if r := run("tcp", "1e-5", 256, 0); r.LinkOut > 0.6 || r.CPUUtil < 0.95 {
		t.Errorf("narrow: link %.2f, server %.2f", r.LinkOut, r.CPUUtil)
	}
}
