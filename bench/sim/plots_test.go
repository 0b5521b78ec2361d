package sim

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Plots of a watched run have a line for each scheme and say that they are
// simulated.
func TestSeriesPlots(t *testing.T) {
	w := small(t, "1e-5")
	var rows []Row
	for _, scheme := range []string{"paper", "cost"} {
		cfg := Config{Cluster: openCluster(t, "paper"), Scheme: scheme, Clients: 32, First: 4,
			JoinAt: 20 * time.Millisecond, Duration: 50 * time.Millisecond, Sample: 5 * time.Millisecond}
		rows = append(rows, NewRow(cfg, w, simulate(t, cfg, w), "test"))
	}
	plots := SeriesPlots("step", rows)
	if len(plots) != 4 {
		t.Fatalf("%d plots, want 4", len(plots))
	}
	for i := range plots {
		p := &plots[i]
		if !p.Simulated || len(p.Lines) != 2 || len(p.Lines[1].Points) != 10 || !strings.Contains(p.Title, "4 until 0.02 s") {
			t.Errorf("%s: %d lines, title %q", p.Name, len(p.Lines), p.Title)
		}
		svg, err := p.SVG()
		if err != nil || !bytes.Contains(svg, []byte("simulated")) {
			t.Errorf("%s: %v, %d bytes that do not say what they are", p.Name, err, len(svg))
		}
	}
}
