package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/longer"
)

func quickStep() StepConfig {
	return StepConfig{
		DemoConfig: quickDemo().withDefaults(), Schemes: []string{"fast", "offload"},
		Rest: 20 * time.Millisecond, At: 400 * time.Millisecond,
	}
}

// TestSteps: each scheme's goroutines rest before the step and not after it.
func TestSteps(t *testing.T) {
	var rows []StepRow
	cfg := quickStep()
	at, duration, interval := cfg.At, cfg.Duration, cfg.Interval
	longer.Measure(t, duration, func(d time.Duration) error {
		times := d / duration
		cfg.Duration, cfg.At, cfg.Interval, rows = d, times*at, times*interval, nil
		err := Steps(context.Background(), cfg, fakeSpawn(""), func(string) {}, func(r StepRow) { rows = append(rows, r) })
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			before, _, _ := r.After(-cfg.At, 0)
			after, _, _ := r.After(0, d-cfg.At)
			if before <= 0 || after <= before {
				return fmt.Errorf("%s: %.0f searches/s before the step, %.0f after it", r.Scheme, before, after)
			}
		}
		return nil
	})
	if len(rows) != 2 || rows[0].Scheme != "fast" || rows[1].Scheme != "offload" {
		t.Fatalf("rows %+v", rows)
	}
	for _, r := range rows {
		if len(r.Series) != 10 || r.Clients != 4 || r.InFlight != 5 || r.AtS != cfg.At.Seconds() || r.Simulated {
			t.Errorf("%+v", r)
		}
	}
	plots := StepPlots(rows)
	if len(plots) != 3 {
		t.Fatalf("%d plots", len(plots))
	}
	for _, p := range plots {
		svg, err := p.SVG()
		if err != nil || p.Simulated || !strings.Contains(string(svg), "offload") {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	if len(StepPlots(nil)) > 0 {
		t.Error("plots of nothing")
	}
}

func TestStepsRefuse(t *testing.T) {
	known := []string{"default", "fast", "offload", "tcp"}
	for want, change := range map[string]func(*StepConfig){
		"no schemes":           func(c *StepConfig) { c.Schemes = nil },
		"scheme tcp":           func(c *StepConfig) { c.Schemes = []string{"fast", "tcp"} },
		`unknown policy "fst"`: func(c *StepConfig) { c.Schemes = []string{"fst"} },
		"a step at 0s":         func(c *StepConfig) { c.At = 0 },
		"a duration of 1s":     func(c *StepConfig) { c.At = time.Second },
		"a rest of 0s":         func(c *StepConfig) { c.Rest = 0 },
		"-1 clients":           func(c *StepConfig) { c.Clients = -1 },
		"0 callers":            func(c *StepConfig) { c.InFlight = 0 },
		"scale":                func(c *StepConfig) { c.Scale = "" },
		"T is -1":              func(c *StepConfig) { c.Backoff.T = -1 },
		"Strategy is -1":       func(c *StepConfig) { c.Strategy = -1 },
	} {
		c := quickStep()
		change(&c)
		if err := c.Validate(known); !errors.Is(err, harness.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := quickStep().Validate(known); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Steps(ctx, quickStep(), fakeSpawn(""), func(string) {}, func(StepRow) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestStepAfter weighs samples by their length.
func TestStepAfter(t *testing.T) {
	r := StepRow{AtS: 1, Series: []StepSample{
		{AtS: 1, OpsPerS: 5}, {AtS: 1.5, OpsPerS: 100, Offload: 1}, {AtS: 3, OpsPerS: 20}, {AtS: 4, OpsPerS: 7},
	}}
	ops, share, _ := r.After(0, 2*time.Second)
	if !slices.Equal([]float64{ops, share}, []float64{40, 0.625}) {
		t.Errorf("%v searches/s, %v offloaded, want 40 and 0.625", ops, share)
	}
	if _, _, ok := r.After(4*time.Second, 5*time.Second); ok {
		t.Error("knows what was not measured")
	}
}
