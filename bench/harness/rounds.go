package harness

import (
	"fmt"
	"iter"
	"math"
	"strings"
)

// Rounds yields the order in which n compared things run: the round and the
// thing, both from 0. Each round begins with another thing, because machines
// drift. The last round is in order, as the rows are. Every other round runs
// backwards: a run leaves the machine in a state, so nothing may always follow
// the same thing.
func Rounds(rounds, n int) iter.Seq2[int, int] {
	return func(yield func(round, at int) bool) {
		for i := range rounds {
			for j := range n {
				left := rounds - 1 - i
				at := (j + left) % n
				if left%2 == 1 {
					at = n - 1 - at
				}
				if !yield(i, at) {
					return
				}
			}
		}
	}
}

// Within compares throughputs of the same rounds: the geometric mean of runs
// by the others, and its standard error. Runs of one round stand side by side,
// so that other users of the machine slow down both; medians of many runs lose
// this pairing. ok is false with fewer than two rounds.
func Within(runs, others []float64) (times, stderr float64, ok bool) {
	n := len(runs)
	if n < 2 || len(others) != n {
		return 0, 0, false
	}
	sum, squares := 0.0, 0.0
	for i, ops := range runs {
		if ops <= 0 || others[i] <= 0 {
			return 0, 0, false
		}
		l := math.Log(ops / others[i])
		sum += l
		squares += l * l
	}
	mean := sum / float64(n)
	variance := max(squares-sum*mean, 0) / float64(n-1)
	times = math.Exp(mean)
	return times, times * math.Sqrt(variance/float64(n)), true
}

// WithinText is a line that compares the throughputs of all schemes with the
// first one's, "" if there is nothing to compare.
func WithinText(schemes []string, runs [][]float64) string {
	var parts []string
	for i := 1; i < len(schemes); i++ {
		if times, stderr, ok := Within(runs[i], runs[0]); ok {
			parts = append(parts, fmt.Sprintf("%s %.2f +- %.2f", schemes[i], times, stderr))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("\ntimes %s, within rounds (geometric mean +- standard error): %s\n",
		schemes[0], strings.Join(parts, ", "))
}

// Measure runs each name once in each round, in the order of Rounds, and calls done
// with all runs of a name after the last one.
func Measure[T any](rounds int, names []string, note func(string), run func(name string) (T, error),
	done func(name string, runs []T)) error {
	runs := make([][]T, len(names))
	for i, at := range Rounds(rounds, len(names)) {
		note(fmt.Sprintf("%s: run %d of %d", names[at], i+1, rounds))
		one, err := run(names[at])
		if err != nil {
			return fmt.Errorf("%s: %w", names[at], err)
		}
		if runs[at] = append(runs[at], one); i == rounds-1 {
			done(names[at], runs[at])
		}
	}
	return nil
}

// SpreadText is the smallest and the largest value of a figure, "-" after a single run.
func SpreadText(spread map[string][2]float64, figure string) string {
	if s, ok := spread[figure]; ok {
		return fmt.Sprintf("%.0f-%.0f", s[0], s[1])
	}
	return "-"
}
