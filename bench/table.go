package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/rstar"
)

// WriteTable prints rows of one Run as text. With repeats the spread of the
// throughput stands beside its median.
func WriteTable(w io.Writer, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	r := rows[0]
	fmt.Fprintf(w, "%s, %d objects, scale %s, %s\n", r.Dataset, r.Objects, r.Scale, r.Mix)
	many := ""
	if r.Batch > 1 {
		many = fmt.Sprintf(" of %d searches", r.Batch)
	}
	fmt.Fprintf(w, "%d clients x %d in flight%s in %d process(es), server on %s, clients on %s\n",
		r.Clients, r.InFlight, many, r.Procs, harness.Cores(r.ServerCPUs), harness.Cores(r.ClientCPUs))
	fmt.Fprintf(w, "node %d B, seed %d, %g s after %g s of warm-up, median of %d, commit %s\n\n",
		r.NodeBytes, r.Seed, r.DurationS, r.WarmupS, r.Repeat, r.Commit)
	for _, k := range knobs(rows) {
		fmt.Fprintln(w, k)
	}
	for _, d := range devices(rows) {
		fmt.Fprintln(w, d)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, strings.Join([]string{
		"scheme", "transport", "ops/s", "(min-max)", "mean us", "p50", "p99",
		"p99.9", "server CPU", "offloaded", "trips", "reads", "bytes",
		"restarts", "torn", "results", "",
	}, "\t"))
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%.0f\t%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f%%\t%.1f%%\t%.2f\t%.2f\t%.0f\t%.4f\t%.0f\t%.2f\t\n",
			r.Scheme, r.Transport, r.OpsPerS, harness.SpreadText(r.Spread, "ops_per_s"), r.MeanUs, r.P50Us,
			r.P99Us, r.P999Us, 100*r.CPUUtil, 100*r.Offload, r.Trips,
			r.Reads, r.Bytes, r.Restarts, r.Torn, r.Results)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("bench: writing the table: %w", err)
	}
	var names []string
	var runs [][]float64
	for _, r := range rows {
		names, runs = append(names, r.Scheme), append(runs, r.Runs)
	}
	hint := ""
	if strings.Contains(r.Mix, opNames[Search]+"=") {
		hint = FewResults(r.Results)
	}
	if _, err := io.WriteString(w, hint+harness.WithinText(names, runs)); err != nil {
		return fmt.Errorf("bench: writing the table: %w", err)
	}
	return nil
}

// FewResults is a line that says that most searches find nothing, or "": with
// a mean below one half, fewer than half of them can find an object.
func FewResults(mean float64) string {
	if mean >= 0.5 {
		return ""
	}
	return fmt.Sprintf("\nmost searches find nothing: %.2g objects on average; those of a larger scale, such as 1e-2, find more\n", mean)
}

// knobs lists what of the tree and of Algorithm 1 is not the default.
func knobs(rows []Row) []string {
	var lines []string
	if r := rows[0]; r.Strategy != rstar.Revised || r.Inserted {
		lines = append(lines, TreeText(r.Strategy, r.Inserted))
	}
	for _, r := range rows {
		if !r.Backoff.IsPaper() {
			lines = append(lines, fmt.Sprintf("%s: %v", r.Scheme, r.Backoff))
		}
	}
	return lines
}

// devices names the device of each transport once.
func devices(rows []Row) []string {
	var lines []string
	for _, r := range rows {
		l := r.Transport + ": " + r.Device
		if r.Device != "" && !slices.Contains(lines, l) {
			lines = append(lines, l)
		}
	}
	return lines
}
