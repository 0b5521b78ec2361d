package papers

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/paper"
)

// printed is a number of the Catfish paper.
func printed(t *testing.T, figure, name string, clients int, m paper.Metric) float64 {
	t.Helper()
	for _, n := range paper.Numbers {
		if n.Figure == figure && n.Name() == name && n.X == clients && n.Metric == m {
			return n.Value
		}
	}
	t.Fatalf("no number of figure %s, %s, %d clients", figure, name, clients)
	return 0
}

// simulatedPage returns a function that looks for a line on docs/research/paper-simulated.md.
func simulatedPage(t *testing.T) (says func(format string, args ...any)) {
	t.Helper()
	page, err := os.ReadFile(docs + "/research/paper-simulated.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	return func(format string, args ...any) {
		t.Helper()
		if want := fmt.Sprintf(format, args...); !strings.Contains(text, strings.Join(strings.Fields(want), " ")) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestContradictions computes again what docs/research/paper-simulated.md says of numbers
// of the Catfish paper that exclude each other, by Little's law: clients = throughput *
// (latency + pause).
func TestContradictions(t *testing.T) {
	says := simulatedPage(t)
	// Figures 10 and 11: kops in 1/ms, latencies and pauses in us.
	const clients = 256
	times := printed(t, "10", "any/paper/fast-polling", 0, paper.Times)
	pauses := map[string]float64{}
	for _, scale := range []string{"1e-5", "1e-2", "power"} {
		kops := printed(t, "10", scale+"/paper", clients, paper.KopsS)
		us := printed(t, "11", scale+"/paper", clients, paper.MeanUs)
		polls := printed(t, "11", scale+"/fast-polling", clients, paper.MeanUs)
		pause := clients/kops*1e3 - us
		pauses[scale] = pause
		atMost, paused := clients/polls*1e3, clients/(polls+pause)*1e3
		implied := clients/(kops/times)*1e3 - pause
		says("| %s | %.2f | %.2f | %.1f | %.2f | %.0f | %.0f | %.2f | %.0f | %.0f |",
			scale, kops, us, pause, polls, atMost, paused, kops/paused, kops/times, implied)
		if implied < 2*polls || times < 1.8*kops/paused {
			t.Errorf("%s: %.1f us follow from %v times, and %.2f are printed; %.2f times follow from these: no contradiction", scale, implied, times, polls, kops/paused)
		}
	}
	// Figure 7 beside figure 11, at 1e-5 with the same pause.
	pause := pauses["1e-5"]
	rate := func(clients int, us float64) float64 { return float64(clients) / (us + pause) * 1e3 }
	eleven := rate(clients, printed(t, "11", "1e-5/fast-polling", clients, paper.MeanUs))
	for name, series := range map[string]string{"polling": "fast-polling", "events": "fast"} {
		few, many := printed(t, "7", "1e-5/"+series, 80, paper.MeanUs), printed(t, "7", "1e-5/"+series, 320, paper.MeanUs)
		exponent := math.Log(many/few) / math.Log(4)
		between := few * math.Pow(clients/80., exponent)
		says("| %s | %.2f | %.0f | %.2f | %.0f | %.2f | %.0f |", name, few, rate(80, few), many, rate(320, many), exponent, between)
		if most := max(rate(80, few), rate(320, many)); eleven < 1.5*most {
			t.Errorf("%s: %.0f Kops/s in figure 7, %.0f in figure 11: no contradiction", name, most, eleven)
		}
	}
	says("figure 11's polling makes %.0f Kops/s", eleven)
}
