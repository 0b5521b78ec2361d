package bench

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

// Within compares two rows' throughputs round by round (see the function Within).
func (r *Row) Within(other *Row) (times, stderr float64, ok bool) {
	return Within(r.Runs, other.Runs)
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

// rounds is a line that compares all rows with the first, "" if there is
// nothing to compare.
func rounds(rows []Row) string {
	var names []string
	var runs [][]float64
	for i := range rows {
		names, runs = append(names, rows[i].Scheme), append(runs, rows[i].Runs)
	}
	return WithinText(names, runs)
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
