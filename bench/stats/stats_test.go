package stats

import (
	"slices"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3}, {[]float64{4, 2}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{8, 1, 4, 2}, 3},
	} {
		before := slices.Clone(c.values)
		if got := Median(c.values); got != c.want || !slices.Equal(before, c.values) {
			t.Errorf("of %v: %v, want %v; left %v", before, got, c.want, c.values)
		}
	}
}

func TestRatio(t *testing.T) {
	if Ratio(3, 2) != 1.5 || Ratio(3, 0) != 0 {
		t.Error("3 by 2 or by 0")
	}
	if Micros(1500*time.Nanosecond) != 1.5 {
		t.Error("1500 ns")
	}
}

// TestSummarize: figures keep their places, and one run has no spread.
func TestSummarize(t *testing.T) {
	list := func(a, b *float64) []Figure { return []Figure{{"a", a}, {"b", b}} }
	var runs [][]Figure
	for _, v := range []float64{3, 1, 8} {
		w := 10 * v
		runs = append(runs, list(&v, &w))
	}
	var a, b float64
	spread := Summarize(list(&a, &b), runs)
	if a != 3 || b != 30 || spread["a"] != [2]float64{1, 8} || spread["b"] != [2]float64{10, 80} {
		t.Errorf("%v, %v, %v", a, b, spread)
	}
	if spread := Summarize(list(&a, &b), runs[2:]); spread != nil || a != 8 {
		t.Errorf("one run: %v, spread %v", a, spread)
	}
}
