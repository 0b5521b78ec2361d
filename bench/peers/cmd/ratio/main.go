// Command ratio prints the results of `make bench-tree` as a table: a row for
// each operation, the median of each library, and catfish divided by tidwall,
// round by round.
//
//	ratio FILE
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/catfish-index/catfish/bench/stats"
)

const (
	subject  = "catfish"
	baseline = "tidwall"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: ratio FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ratio:", err)
		os.Exit(1)
	}
}

func run(path string, w io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	// The file was only read: an error of Close loses nothing.
	defer func() { _ = f.Close() }()
	t, err := parse(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	t.print(w)
	return nil
}

func (t *table) print(w io.Writer) {
	for _, line := range t.comments {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "Medians. The ratio is %s/%s, below 1 where %s needs less; [least, most]\n"+
		"over rounds. The last column is %s by the best library of the row.\n\n",
		subject, baseline, subject, subject)
	if slices.ContainsFunc(t.rows, func(r *row) bool { return r.disturbed }) {
		fmt.Fprintf(w, "! Something else ran on the core, which had less than %d %% left for the row:\n"+
			"processor time instead of wall time. Better measure again. Rows with two cores\n"+
			"cannot tell.\n\n", minCorePercent)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "row\tunit\t%s\tratio\tby the best\n", strings.Join(t.impls, "\t"))
	for _, r := range t.rows {
		mark := ""
		if r.disturbed {
			mark = " !"
		}
		fmt.Fprintf(tw, "%s%s\t%s", r.name, mark, r.unit)
		for _, impl := range t.impls {
			fmt.Fprintf(tw, "\t%s", number(r.values[impl]))
		}
		fmt.Fprintf(tw, "\t%s\t%s\n", ratio(r.values[subject], r.values[baseline]), r.byBest())
	}
	// The output is a terminal or a pipe: an error cannot be reported.
	_ = tw.Flush()
}

// number is a median to four digits, or - where there is none.
func number(vs []float64) string {
	if len(vs) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.4g", stats.Median(vs))
}

// ratio pairs the rounds: disturbances of a round slowed both.
func ratio(a, b []float64) string {
	n := min(len(a), len(b))
	if n == 0 {
		return "-"
	}
	rs := make([]float64, n)
	for i := range rs {
		rs[i] = a[i] / b[i]
	}
	return fmt.Sprintf("%.3f [%.3f, %.3f]", stats.Median(rs), slices.Min(rs), slices.Max(rs))
}

// byBest compares with the best of the other libraries.
func (r *row) byBest() string {
	best := ""
	for impl, vs := range r.values {
		if strings.HasPrefix(impl, subject) || len(vs) == 0 {
			continue
		}
		if best == "" || stats.Median(vs) < stats.Median(r.values[best]) ||
			stats.Median(vs) == stats.Median(r.values[best]) && impl < best {
			best = impl
		}
	}
	if best == "" || len(r.values[subject]) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f %s", stats.Median(r.values[subject])/stats.Median(r.values[best]), best)
}
