// Package stats has the arithmetic that figures share.
package stats

import (
	"slices"
	"time"
)

// Median of values in any order, at least one. Of an even number it is the
// mean of the two in the middle.
func Median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// Ratio is a by b, and 0 without a denominator, so that rows stay valid
// JSON.
func Ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Micros are microseconds.
func Micros(d time.Duration) float64 { return float64(d) / 1e3 }
