package paper

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/sim"
)

// The tables have every number and claim of the paper, in order, and mark the
// fitted ones.
func TestPredict(t *testing.T) {
	cl, err := sim.Open("paper")
	if err != nil {
		t.Fatal(err)
	}
	cl.Heartbeat.IntervalNs = 1e5 // Warm-ups are ten of them.
	base := sim.Config{Cluster: cl, Duration: time.Millisecond, Seed: 1}
	s, err := Predict(t.Context(), base, new(sim.Cache), 20_000, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	fitted := 0
	for _, p := range s.Numbers {
		// With few objects no network is full at a scale of 0.01, and 32
		// clients do not fill 28 cores.
		unreached := p.Metric == CPUAtFull || p.Metric == NetAtBusy
		if p.Found == unreached || p.Found && !(p.Simulated > 0 || p.Metric == Saves) || p.Value <= 0 {
			t.Errorf("%+v", p)
		}
		if p.Fitted {
			fitted++
		}
	}
	if len(s.Numbers) != len(Numbers) || len(s.Stronger) != 15 || fitted < len(FitKeys) {
		t.Errorf("%d numbers, %d of them fitted by %d parameters", len(s.Numbers), fitted, len(FitKeys))
	}
	if len(s.Claims) != len(Claims) {
		t.Errorf("%d claims, want %d", len(s.Claims), len(Claims))
	}
	want := 0
	for _, e := range Experiments {
		series := len(e.Series)
		if slices.Contains(e.Series, tcp) {
			series++
		}
		want += 2 * len(e.Panels) * series * len(e.Paper)
	}
	if len(s.Curves) != want {
		t.Errorf("%d rows of curves, want %d", len(s.Curves), want)
	}
	var out bytes.Buffer
	if err := WritePredictions(&out, cl, s); err != nil || strings.Count(out.String(), "| fitted |") != fitted+len(fittedClaims) || strings.Count(out.String(), "| not reached |") != 2 ||
		!strings.HasPrefix(out.String(), "Simulated") || !strings.Contains(out.String(), "neither fitted nor seen: ") {
		t.Errorf("%v\n%s", err, out.String())
	}
	// The report of the real runs reads its lines, each once.
	out.Reset()
	if err := s.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	rows, err := ReadSimulated(&out)
	if err != nil || len(rows) < len(s.Numbers)+len(s.Stronger)+len(s.Claims)+len(s.Curves)-len(Numbers) {
		t.Fatalf("read back %d rows: %v", len(rows), err)
	}
	for _, p := range append(s.Numbers, s.Stronger...) {
		if v, ok := p.simulated(rows); ok != p.Found || ok && (v.Value != p.Simulated || v.Fitted != p.Fitted || v.Seen != p.Seen) {
			t.Errorf("%+v: read back %+v, %v", p, v, ok)
		}
	}
	for _, c := range s.Claims {
		mark := Simulated{Fitted: c.Fitted, Seen: c.Seen}.mark()
		if v, m, ok := c.simulated(rows); !ok || v != c.Verdict || m != mark {
			t.Errorf("%s: read back %+v, %q, %v", c.Name, v, m, ok)
		}
	}
	for _, p := range s.Numbers {
		p.Simulated, p.Found = p.Value*1.26, true
		if p.Missed() == p.Fitted {
			t.Errorf("%+v is missed: %v", p, p.Missed())
		}
		p.Simulated = p.Value * 0.76
		if p.Missed() {
			t.Errorf("%+v is missed", p)
		}
		if p.Found = false; p.Missed() == p.Fitted {
			t.Errorf("%+v, not reached, is missed: %v", p, p.Missed())
		}
	}
	if g := FitGoals(base, new(sim.Cache), 20_000); len(g) != fitted-1 { // One is derived.
		t.Errorf("%d goals of %d", len(g), fitted)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	if _, err := Predict(ctx, base, new(sim.Cache), 20_000, func(string) {}); !errors.Is(err, errEnough) {
		t.Errorf("cancelled: %v", err)
	}
}

var errEnough = errors.New("enough")
