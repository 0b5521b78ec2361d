package paper

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/sim"
)

// The table has every number of the paper, in order, and marks them.
func TestPredict(t *testing.T) {
	cl, err := sim.Open("paper")
	if err != nil {
		t.Fatal(err)
	}
	cl.Heartbeat.IntervalNs = 1e6 // Warm-ups are ten of them.
	var each []Prediction
	ps, err := Predict(t.Context(), cl, new(sim.Cache), 20_000, 2*time.Millisecond, 1, func(string) {},
		func(p Prediction) { each = append(each, p) })
	if err != nil {
		t.Fatal(err)
	}
	fitted := 0
	for _, p := range ps {
		if !(p.Simulated > 0 || p.Metric == Saves) || p.Value <= 0 {
			t.Errorf("%+v", p)
		}
		if p.Fitted {
			fitted++
		}
	}
	if len(ps) != len(Numbers) || len(each) != len(ps) || fitted != len(FitKeys) {
		t.Errorf("%d numbers, %d of them fitted by %d parameters", len(ps), fitted, len(FitKeys))
	}
	var out bytes.Buffer
	if err := WritePredictions(&out, cl, ps); err != nil || strings.Count(out.String(), "| fitted |") != fitted ||
		!strings.HasPrefix(out.String(), "Simulated") {
		t.Errorf("%v\n%s", err, out.String())
	}
	// Its lines are what the report of the real runs reads.
	out.Reset()
	for _, p := range ps {
		if err := p.WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := ReadSimulated(&out)
	if err != nil || len(rows) != len(ps) {
		t.Fatalf("read back %d rows of %d: %v", len(rows), len(ps), err)
	}
	for i, p := range ps {
		want := Simulated{
			Figure: p.Figure, Series: p.Name(), X: float64(p.X), Metric: p.Metric, Value: p.Simulated,
			Fitted: p.Fitted, Seen: p.Seen,
		}
		if rows[i] != want {
			t.Errorf("read back %+v, want %+v", rows[i], want)
		}
	}
	for i := range ps {
		p := &ps[i]
		p.Simulated = p.Value * 1.26
		if p.Missed() == p.Fitted {
			t.Errorf("%+v is missed: %v", p, p.Missed())
		}
		p.Simulated = p.Value * 0.76
		if p.Missed() {
			t.Errorf("%+v is missed", p)
		}
	}
	if g := FitGoals(new(sim.Cache), 20_000, time.Millisecond, 1); len(g) != fitted {
		t.Errorf("%d goals of %d", len(g), fitted)
	}
}
