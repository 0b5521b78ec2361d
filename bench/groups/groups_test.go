package groups

import (
	"errors"
	"testing"
	"time"
)

// A window has the longest time between acknowledgements, also the one that has not ended, and
// is empty again after that.
func TestWindow(t *testing.T) {
	start := time.Now().Add(-time.Hour)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	g := &writers{since: start, last: start}
	g.note(at(0), at(time.Second), nil)
	g.note(at(time.Second), at(4*time.Second), nil)
	g.note(at(time.Second), at(5*time.Second), errors.New("no"))
	g.note(at(time.Second), at(6*time.Second), nil)
	g.last = time.Now() // The hour since does not count here.
	w := g.window()
	if w.Writes != 3 || w.Errors != 1 || w.First != "no" || w.Gap != 3*time.Second || w.Longest != 5*time.Second || w.Elapsed < time.Hour {
		t.Errorf("%+v", w)
	}
	g.last = start
	if w = g.window(); w.Writes != 0 || w.Errors != 0 || w.Gap < time.Hour {
		t.Errorf("while nothing is acknowledged: %+v", w)
	}
}

// Ratios are taken within rounds: their median is not the ratio of medians.
func TestRatiosWithinRounds(t *testing.T) {
	w := &WritesRow{Runs: []Round{{Ops: 10, P50: 4}, {Ops: 30, P50: 8}, {Ops: 100, P50: 2}}}
	w.sum([]Round{{Ops: 10, P50: 2}, {Ops: 100, P50: 2}, {Ops: 50, P50: 2}})
	if w.Ops != 30 || w.OpsTimes != 1 || w.P50 != 4 || w.P50Times != 2 {
		t.Errorf("%+v", w)
	}
}

func TestNearest(t *testing.T) {
	all := []float64{1, 2, 3, 4}
	for q, want := range map[float64]float64{.5: 2, .51: 3, .99: 4, .25: 1} {
		if got := nearest(all, q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}
