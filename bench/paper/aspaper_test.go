package paper

import (
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/rstar"
)

// The preset changes what it says, runs the paper's series alone, and keeps
// points apart from ours. Its Catfish stands where ours does.
func TestAsPaper(t *testing.T) {
	ours := settings()
	s, experiments := AsPaper(ours, Experiments)
	if s.Strategy != rstar.OriginalDoubles || !s.Inserted || len(ours.Differences(s)) != 3 {
		t.Errorf("the preset differs in %q", ours.Differences(s))
	}
	cells := Cells(experiments, []Network{Host, {Name: "1g", Rate: 1e9}}, []string{"soft"}, []int{2})
	for _, c := range cells {
		cfg, err := c.config(s)
		if err != nil || !cfg.WorkerPerConnection || !cfg.Inserted || cfg.Strategy != rstar.OriginalDoubles || !cfg.HeartbeatInRing {
			t.Errorf("%s: %+v, %v", c, cfg, err)
		}
		want := map[string][]string{
			"motivation": {"tcp"}, "events": {"fast-polling", "fast"}, "multi-issue": {"offload-single", "offload"},
		}[c.Experiment.Name]
		if want == nil {
			want = PresetSchemes()
		}
		// Only shm has the order that farm needs; its points have the place of fast-polling's.
		switch i := slices.Index(want, "fast-polling"); {
		case i >= 0 && c.Transport == "shm":
			want[i] = "farm"
			if c.seriesOf("farm") != "fast-polling" {
				t.Errorf("%s: series %s", c, c.seriesOf("farm"))
			}
		case i >= 0:
			want = slices.Delete(slices.Clone(want), i, i+1)
		}
		if !slices.Equal(cfg.Schemes, want) {
			t.Errorf("%s: schemes %q, want %q", c, cfg.Schemes, want)
		}
		if c.Experiment.Name == "search" && c.Transport == "shm" && c.Key(c.seriesOf("paper-literal")) != "search/"+c.Panel.Name+"/host/shm/2/paper" {
			t.Errorf("%s: key %s", c, c.Key(c.seriesOf("paper-literal")))
		}
	}
	if cfg, err := cells[0].config(ours); err != nil || cfg.HeartbeatInRing {
		t.Errorf("without the preset: %+v, %v", cfg, err)
	}
	if Experiments[0].PerConnection || slices.Contains(experimentNamed("events").Series, farm) || slices.Contains(experimentNamed("search").Series, literal) {
		t.Error("the preset changed our experiments")
	}
	facts := ""
	for _, f := range (Report{Settings: s}).Document().Facts {
		facts += f.Name + ": " + f.Value + "\n"
	}
	for _, part := range append(slices.Clone(PresetHas), PresetLacks...) {
		if !strings.Contains(facts, part) {
			t.Errorf("the report does not say %q", part)
		}
	}
}

// Files of simulated values have both, and a report of the preset shows its own.
func TestPresetRows(t *testing.T) {
	rows := []Simulated{
		{Figure: "10", Series: "1e-5/paper", X: 256, Metric: KopsS, Value: 1},
		{Figure: "10", Series: "1e-5/paper-literal", X: 256, Metric: KopsS, Value: 2},
		{Figure: "10", Series: "1e-5/tcp", X: 256, Metric: KopsS, Value: 3},
		{Figure: "10", Series: "catfish-most", Metric: Holds, Value: 1, Why: "ours"},
		{Figure: "10", Series: "as-paper/catfish-most", Metric: Holds, Value: 0, Why: "the paper's"},
	}
	got := presetRows(rows)
	want := []Simulated{rows[1], rows[2], rows[4]}
	want[0].Series, want[2].Series = "1e-5/paper", "catfish-most"
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	v := curves{{"search", "1e-5", "paper", 1}: {Kops: 1}, {"search", "1e-5", "paper-literal", 1}: {Kops: 2}}
	if got, ok := (asPaper{v}).At("search", "1e-5", "paper", 1); !ok || got.Kops != 2 {
		t.Errorf("%+v, %v", got, ok)
	}
}

// Figures, numbers and claims take the latency of searches alone where there are
// inserts.
func TestSearchesAlone(t *testing.T) {
	p := point("hybrid", "1e-5", "fast", 8, 1000)
	p.Row.MeanUs = 10
	p.Row.ByOp = map[string]bench.OpFigures{"search": {Count: 9, MeanUs: 5}, "insert": {Count: 1, MeanUs: 55}}
	v, ok := columns([]Point{p})[0].At("hybrid", "1e-5", "fast", 8)
	if !ok || v.MeanUs != 5 || MeanUs.of(p) != 5 {
		t.Errorf("%+v, figure 13 draws %v", v, MeanUs.of(p))
	}
	p.Row.ByOp = nil
	if MeanUs.of(p) != 10 {
		t.Errorf("a row without kinds of calls has %v", MeanUs.of(p))
	}
}
