package bench

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// TestWithin: a machine that is three times as fast in one round does not
// hide that one scheme is twice as fast as the other.
func TestWithin(t *testing.T) {
	rows := []Row{goldenRow(), goldenRow(), goldenRow()}
	rows[0].Scheme, rows[0].Runs = "fast", []float64{100, 300, 200, 100}
	rows[1].Scheme, rows[1].Runs = "cost", []float64{200, 600, 400, 200}
	rows[2].Scheme, rows[2].Runs = "paper", []float64{200, 150, 400, 50}
	times, stderr, ok := rows[1].Within(&rows[0])
	if !ok || math.Abs(times-2) > 1e-9 || stderr > 1e-9 {
		t.Errorf("%v +- %v, %v, want 2 +- 0", times, stderr, ok)
	}
	// Logarithms are +-ln 2: no difference, with an error of ln 2 * sqrt(4/3/4).
	times, stderr, ok = rows[2].Within(&rows[0])
	if !ok || math.Abs(times-1) > 1e-9 || math.Abs(stderr-math.Ln2/math.Sqrt(3)) > 1e-9 {
		t.Errorf("%v +- %v, %v, want 1 +- 0.4", times, stderr, ok)
	}
	var b bytes.Buffer
	if err := WriteTable(&b, rows); err != nil {
		t.Fatal(err)
	}
	want := "times fast, within rounds (geometric mean +- standard error): cost 2.00 +- 0.00, paper 1.00 +- 0.40\n"
	if !strings.HasSuffix(b.String(), want) {
		t.Errorf("%s", b.String())
	}
	for _, runs := range [][]float64{nil, {1}, {1, 2, 3}, {1, 2, 3, 0}} {
		rows[1].Runs = runs
		if _, _, ok := rows[1].Within(&rows[0]); ok {
			t.Errorf("%v by %v", runs, rows[0].Runs)
		}
	}
}
