//go:build linux

package rounds

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// WriteTable writes the results by fault, in the order of a list, as a table in Markdown.
func WriteTable(w io.Writer, list []Fault, all []Result) error {
	if _, err := fmt.Fprintln(w, "| fault | rounds | writes acknowledged | lost | doubled | outcome unknown | stale reads: message, one-sided, tcp, HTTP | time without writes p50, p99 | rounds with a broken promise |\n|---|---|---|---|---|---|---|---|---|"); err != nil {
		return err
	}
	for _, f := range list {
		var some []Result
		for _, r := range all {
			if r.Fault == f.Name {
				some = append(some, r)
			}
		}
		if len(some) > 0 {
			if err := writeRow(w, f.What, some); err != nil {
				return err
			}
		}
	}
	return writeRow(w, "all", all)
}

func writeRow(w io.Writer, what string, rs []Result) error {
	var sum Result
	stale, broken := map[string]int{}, 0
	var gaps []time.Duration
	for _, r := range rs {
		sum.Acked += r.Acked
		sum.Lost += r.Lost
		sum.Doubled += r.Doubled
		sum.Unknown += r.Unknown
		for path, n := range r.Stale {
			stale[path] += n
		}
		gaps = append(gaps, r.Gap)
		if len(r.Broken) > 0 {
			broken++
		}
	}
	_, err := fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d | %d, %d, %d, %d | %d ms, %d ms | %d |\n", what, len(rs), sum.Acked, sum.Lost, sum.Doubled, sum.Unknown,
		stale[pathMessage], stale[pathOneSided], stale[pathTCP], stale[pathHTTP], quantile(gaps, 0.5).Milliseconds(), quantile(gaps, 0.99).Milliseconds(), broken)
	return err
}

// quantile is the smallest value that a share of all does not exceed.
func quantile(all []time.Duration, share float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(len(all)-1, int(share*float64(len(all))))]
}
