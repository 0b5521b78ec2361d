package policy

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// TestPredict: each predictor on lists whose answer is known.
func TestPredict(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		of                   string
		cpu                  []float64 // 10 ms apart, the last one 10 ms ago
		latest, mean, linear float64
	}{
		{"one", []float64{0.3}, 0.3, 0.3, 0.3},
		{"two", []float64{0.3, 0.5}, 0.5, 0.4, 0.7},
		{"falling", []float64{0.9, 0.7, 0.5}, 0.5, 0.7, 0.3},
		{"on no line", []float64{0.2, 0.5, 0.2}, 0.2, 0.3, 0.3},
		{"a line that leaves 1", []float64{0.5, 0.9}, 0.9, 0.7, 1},
		{"a line that leaves 0", []float64{0.5, 0.1}, 0.1, 0.3, 0},
		{"more than are kept", []float64{1, 1, 1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}, 0.8, 0.45, 0.9},
		{"no numbers", []float64{nan, math.Inf(1)}, 1, 0.5, 1},
		{"beyond the limits", []float64{-1, 7}, 1, 0.5, 1},
	} {
		var b beats
		now := time.Unix(1000, 0)
		for _, u := range c.cpu {
			b.add(now, u)
			now = now.Add(10 * time.Millisecond)
		}
		for p, want := range map[Predictor]float64{Latest: c.latest, Mean: c.mean, Linear: c.linear} {
			if got := b.predict(p, now); !(math.Abs(got-want) < 1e-9) {
				t.Errorf("%s, %s: %v, want %v", c.of, p, got, want)
			}
		}
		b.clear()
		b.add(now, 0.25)
		if got := b.predict(Linear, now); got != 0.25 {
			t.Errorf("%s, cleared: %v, want 0.25", c.of, got)
		}
	}
	var b beats
	now := time.Unix(1000, 0)
	b.add(now, 0.2)
	b.add(now, 0.4)
	if got := b.predict(Linear, now); got != 0.4 {
		t.Errorf("two at one time: %v, want the latest, 0.4", got)
	}
}

// TestPredictorOnce: a judgement clears its heartbeats, so that the mean is
// of later ones only.
func TestPredictorOnce(t *testing.T) {
	s := newStepper(t, false)
	s.p.Predictor = Mean
	s.beat(1)
	s.choose()
	if s.p.util != 1 || s.p.busy != 1 {
		t.Fatalf("judged %v, r_busy %d", s.p.util, s.p.busy)
	}
	for _, cpu := range []float64{0.2, 0.6} { // Within half an interval.
		s.now = s.now.Add(time.Millisecond)
		s.load.CPU = cpu
		s.box.put(s.load)
		s.choose()
	}
	if s.p.util != 1 {
		t.Fatalf("judged %v before it was due", s.p.util)
	}
	s.now = s.now.Add(10 * time.Millisecond)
	s.choose()
	if s.p.util != 0.4 || s.p.busy != 0 {
		t.Errorf("judged %v, r_busy %d, want 0.4 and 0", s.p.util, s.p.busy)
	}
}

// TestBackoffParameters: the zero value is the paper's, and errors name values
// out of range with their limits.
func TestBackoffParameters(t *testing.T) {
	if d := (Backoff{}).WithDefaults(); d != (Backoff{N: 8, T: 0.95, Predictor: Latest}) {
		t.Errorf("defaults %+v, want the paper's", d)
	}
	if !(Backoff{N: 8}).IsPaper() || (Backoff{N: 9}).IsPaper() || (Backoff{Predictor: Mean}).IsPaper() {
		t.Error("IsPaper")
	}
	for _, good := range []Backoff{{}, {N: 1}, {N: mostN, T: 1, Predictor: Linear}, {T: 1e-9, Predictor: Mean}} {
		if err := good.Validate(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for want, bad := range map[string]Backoff{
		"N is -1, want 1 to 1048576":                           {N: -1},
		"N is 1048577, want 1 to 1048576":                      {N: mostN + 1},
		"T is -0.1, want more than 0, at most 1":               {T: -0.1},
		"T is 95, want more than 0, at most 1":                 {T: 95},
		"T is NaN, want":                                       {T: math.NaN()},
		`predictor "median", want one of latest, mean, linear`: {Predictor: "median"},
		`predictor "Latest", want one of latest, mean, linear`: {Predictor: "Latest"},
	} {
		if err := bad.Validate(); !errors.Is(err, ErrBackoff) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", bad, err, want)
		}
	}
	if s := (Backoff{N: 16}).String(); s != "N = 16, T = 95 %, predictor latest" {
		t.Error(s)
	}
}
