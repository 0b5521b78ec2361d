package papers

import (
	"testing"

	"github.com/catfish-index/catfish/bench/paper"
)

// excluded256 are figures 10 and 11 at 256 clients: Catfish's throughput, its latency, and the
// pause that follows from both.
func excluded256(t *testing.T, scale string) (kops, us, pause float64) {
	kops = printed(t, "10", scale+"/paper", 256, paper.KopsS)
	us = printed(t, "11", scale+"/paper", 256, paper.MeanUs)
	return kops, us, 256/kops*1e3 - us
}

// TestFactorsExclude computes what docs/research/paper-simulated.md says of factors. In a closed
// loop the factor of throughputs is (a+pause)/(b+pause), which is at most a/b, that of latencies.
func TestFactorsExclude(t *testing.T) {
	says := simulatedPage(t)
	_, us, pause := excluded256(t, "1e-5")
	verdicts := map[string]int{}
	for _, figures := range [][3]string{{"10", "11", "any"}, {"12", "13", "any"}, {"14", "14", "rea02"}} {
		for _, against := range []string{"fast-polling", "offload-single", "tcp"} {
			name := figures[2] + "/paper/" + against
			times, faster := printed(t, figures[0], name, 0, paper.Times), printed(t, figures[1], name, 0, paper.Faster)
			verdict := "possible"
			switch {
			case times > 1.05*faster:
				verdict = "**excluded**"
			case times > faster: // Two runs differ by more than that.
				verdict = "**only without a pause**"
			}
			verdicts[verdict]++
			paused := (faster*us + pause) / (us + pause)
			says("| %s, %s | %s | %.2f | %.2f | %.2f | %s |", figures[0], figures[1], against, times, faster, paused, verdict)
		}
	}
	if verdicts["**excluded**"] != 2 || verdicts["**only without a pause**"] != 2 {
		t.Errorf("factors of throughput beside those of latency: %v, want two that are excluded and two without a pause", verdicts)
	}
	// Figure 13 is of searches; one request in ten is an insert.
	inserts := 9 * (printed(t, "12", "any/paper/offload-single", 0, paper.Times) - printed(t, "13", "any/paper/offload-single", 0, paper.Faster))
	says("its inserts would have to take %.0f times as long as a search of Catfish", inserts)
}

// TestOffloadingExcludes computes what would have to hold for "3.09 times" at 256 clients.
func TestOffloadingExcludes(t *testing.T) {
	says := simulatedPage(t)
	times, faster := printed(t, "10", "any/paper/offload-single", 0, paper.Times), printed(t, "11", "any/paper/offload-single", 0, paper.Faster)
	for _, scale := range []string{"1e-5", "1e-2", "power"} {
		kops, us, pause := excluded256(t, scale)
		alone := kops / times
		implied := 256/alone*1e3 - pause
		says("| %s | %.2f | %.0f | %.0f | %.2f |", scale, kops, alone, implied, implied/us)
		if implied/us < 1.25*faster {
			t.Errorf("%s: %.2f times Catfish's latency, %.2f are printed: no contradiction", scale, implied/us, faster)
		}
	}
	// What is not a message is offloaded. Messages are at most those of figure 7's events.
	kops, us, pause := excluded256(t, "1e-5")
	messages := 320 / (printed(t, "7", "1e-5/fast", 320, paper.MeanUs) + pause) * 1e3
	if kops-messages < 1.9*kops/times {
		t.Errorf("%.0f Kops/s offloaded of Catfish's, %.0f of offloading: no contradiction", kops-messages, kops/times)
	}
	says("%.0f of Catfish's %.0f Kops/s", kops-messages, kops)
	says("a latency below %.2f us gives it more than %.0f Kops/s", us, kops)
	single := 1 / (1 - printed(t, "8", "1e-2/offload/offload-single", 1, paper.Saves)/100)
	says("at most %.2f times as long", single)
}

// TestPollersExclude computes the limits of pollers that keep their core: through its client's
// pause a core serves no other, whatever a request costs.
func TestPollersExclude(t *testing.T) {
	says := simulatedPage(t)
	const cores = 28 // section V-A
	for _, scale := range []string{"1e-5", "1e-2", "power"} {
		kops, _, pause := excluded256(t, scale)
		most := cores / pause * 1e3
		least := 256/most*1e3 - pause
		polls := printed(t, "11", scale+"/fast-polling", 256, paper.MeanUs)
		says("| %s | %.1f | %.0f | %.0f | %.2f | %.2f |", scale, pause, most, least, polls, kops/most)
		if least < 1.5*polls {
			t.Errorf("%s: at least %.0f us, %.2f are printed: no contradiction", scale, least, polls)
		}
	}
}
