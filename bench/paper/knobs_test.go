package paper

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/sim"
	library "github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/rstar"
)

// changes of the settings, by the text of the refusal.
var changes = map[string]func(*Settings){
	`strategy "original", here "revised"`:                  func(s *Settings) { s.Strategy = rstar.Original },
	"inserted true, here false":                            func(s *Settings) { s.Inserted = true },
	`backoff {"n":16,"t":0.95,"predictor":"latest"}, here`: func(s *Settings) { s.Backoff.N = 16 },
	`"t":0.8`:              func(s *Settings) { s.Backoff.T = 0.8 },
	`"predictor":"linear"`: func(s *Settings) { s.Backoff.Predictor = policy.Linear },
}

// TestSettingsOfKnobs: points measured with another tree or another back-off
// are refused; those without these keys have the defaults.
func TestSettingsOfKnobs(t *testing.T) {
	for says, change := range changes {
		s := settings()
		change(&s)
		dir := t.TempDir()
		store, _, err := Open(dir, s, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(store.Add(Point{Key: "a", Settings: s}), store.Close()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Open(dir, settings(), false); !errors.Is(err, ErrSettings) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v\n  does not say %q", err, says)
		}
		again, _, err := Open(dir, s, false)
		if err != nil {
			t.Fatalf("its own settings: %v", err)
		}
		again.Close()
	}
	full := settings()
	full.Backoff = full.Backoff.WithDefaults()
	if d := settings().Differences(full); len(d) > 0 {
		t.Errorf("the paper's back-off is not the default: %q", d)
	}
	b, err := json.Marshal(settings())
	if err != nil || strings.Contains(string(b), "strategy") || strings.Contains(string(b), "backoff") {
		t.Errorf("%v, %s", err, b)
	}
}

// TestKnobsReachRuns: cells measure with the settings, and the report says so.
func TestKnobsReachRuns(t *testing.T) {
	s := settings()
	s.Strategy, s.Inserted, s.Backoff = rstar.Original, true, policy.Backoff{N: 4, T: 0.8, Predictor: policy.Mean}
	for _, c := range Cells(Experiments, []Network{Host}, nil, []int{1}) {
		cfg, err := c.config(s)
		if err != nil || cfg.Strategy != rstar.Original || !cfg.Inserted || cfg.Backoff != s.Backoff {
			t.Fatalf("%s: %v, %+v", c, err, cfg)
		}
	}
	facts := map[string]string{}
	for _, f := range (Report{Settings: s}).Document().Facts {
		facts[f.Name] = f.Value
	}
	if !strings.HasPrefix(facts["Catfish"], "N = 4, T = 80 %, predictor mean, ") ||
		facts["tree"] != "original R*-tree, objects inserted one by one" {
		t.Errorf("facts %q", facts)
	}
	s.Backoff.T = 7
	if err := Validate(s, Experiments, []Network{Host}, []int{1}, library.Schemes()[1:]); !errors.Is(err, harness.ErrConfig) ||
		!strings.Contains(err.Error(), "T is 7") {
		t.Error(err)
	}
}

// TestCheckKnowsT: no offloading without a heartbeat above the configured T.
func TestCheckKnowsT(t *testing.T) {
	for _, c := range []struct {
		t     float64
		fails bool
	}{{0, true}, {0.95, true}, {0.8, false}} {
		p := Point{Key: "k", Series: catfish.Name, Settings: Settings{Repeat: 1, Backoff: policy.Backoff{T: c.t}}}
		p.Row.OpsPerS, p.Row.MeanUs, p.Row.Offload = 1, 1, 0.5
		p.Row.Detail = &bench.Detail{PeakUtil: 0.9, Calls: []int64{0}}
		_, failed := Check(map[string]Point{"k": p})
		if (len(failed) > 0) != c.fails {
			t.Errorf("T = %v, judged 0.9 at most: %q", c.t, failed)
		}
	}
}

// TestPredictBase: predictions use the given back-off.
func TestPredictBase(t *testing.T) {
	cl, err := sim.Open("paper")
	if err != nil {
		t.Fatal(err)
	}
	cl.Heartbeat.IntervalNs = 1e6 // Warm-ups are ten of them.
	var offloaded []float64
	cache := new(sim.Cache)
	for _, n := range []int{2, 32} {
		base := sim.Config{Cluster: cl, Duration: 20 * time.Millisecond, Seed: 1, Backoff: policy.Backoff{N: n}}
		l := newLab(t.Context(), base, cache, 20_000, func(string) {})
		v, ok := l.At("search", "1e-5", "paper", 256)
		if !ok {
			t.Fatal(l.err)
		}
		offloaded = append(offloaded, v.Offload)
	}
	if !(offloaded[1] > offloaded[0]) {
		t.Errorf("%v offloaded with N = 2 and 32, want more with 32", offloaded)
	}
}
