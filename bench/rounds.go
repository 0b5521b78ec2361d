package bench

import (
	"fmt"
	"math"
	"strings"
)

// Within compares the throughputs of two rows round by round: the geometric
// mean of r's by the other's, and its standard error. Runs of one round stand
// side by side, so that a machine which others use too slows down both; medians
// of many runs do not know which belong together. ok is false with fewer than
// two rounds.
func (r *Row) Within(other *Row) (times, stderr float64, ok bool) {
	n := len(r.Runs)
	if n < 2 || len(other.Runs) != n {
		return 0, 0, false
	}
	sum, squares := 0.0, 0.0
	for i, ops := range r.Runs {
		if ops <= 0 || other.Runs[i] <= 0 {
			return 0, 0, false
		}
		l := math.Log(ops / other.Runs[i])
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
	var parts []string
	for i := 1; i < len(rows); i++ {
		if times, stderr, ok := rows[i].Within(&rows[0]); ok {
			parts = append(parts, fmt.Sprintf("%s %.2f +- %.2f", rows[i].Scheme, times, stderr))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("\ntimes %s, within rounds (geometric mean +- standard error): %s\n",
		rows[0].Scheme, strings.Join(parts, ", "))
}
