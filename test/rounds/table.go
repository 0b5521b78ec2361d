//go:build linux

package rounds

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/catfish-index/catfish/internal/placement"
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
	if err := writeRow(w, "all", all); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(r Result) bool { return r.Action != "" }) {
		return writeActions(w, all)
	}
	return nil
}

// writeActions writes what has happened to slots of several groups beside the faults.
func writeActions(w io.Writer, all []Result) error {
	var steps []string
	for s := placement.Copy; s <= placement.Drop; s++ {
		steps = append(steps, s.String())
	}
	if _, err := fmt.Fprintf(w, "\n| beside the fault | rounds | moves begun | slots moved | the fault began at step %s, in the source's group | in the destination's | rounds with a broken promise |\n|---|---|---|---|---|---|---|\n",
		strings.Join(steps, ", ")); err != nil {
		return err
	}
	for _, a := range Actions() {
		n, begun, moved, broken := 0, 0, 0, 0
		at := map[string]int{}
		for _, r := range all {
			if r.Action != a.Name {
				continue
			}
			n++
			begun += r.Begun
			moved += r.Moved
			at[r.Victim+r.At]++
			if len(r.Broken) > 0 {
				broken++
			}
		}
		if n == 0 {
			continue
		}
		sides := make([][]string, 2)
		for i, victim := range []string{victimSource, victimDestination} {
			for _, s := range steps {
				sides[i] = append(sides[i], strconv.Itoa(at[victim+s]))
			}
		}
		if _, err := fmt.Fprintf(w, "| %s | %d | %d | %d | %s | %s | %d |\n", a.What, n, begun, moved,
			strings.Join(sides[0], ", "), strings.Join(sides[1], ", "), broken); err != nil {
			return err
		}
	}
	return nil
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
