package features

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/catfish-index/catfish/bench/harness"
)

// WriteTable prints rows of one Run as text, work by work. With several rounds
// the spread of the rate stands beside its median, and other ways are compared
// with the first one within rounds.
func WriteTable(w io.Writer, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	r := rows[0]
	fmt.Fprintf(w, "%d features, server on %s, clients on %s, seed %d, %g s, median of %d, commit %s\n%v\n",
		r.Features, harness.Cores(r.ServerCPUs), harness.Cores(r.ClientCPUs), r.Seed, r.DurationS, r.Repeat, r.Commit, r.Machine)
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Compare(slices.Index(Works, a.Work), slices.Index(Works, b.Work))
	})
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Work == rows[0].Work {
			n++
		}
		if err := writeWork(w, rows[:n]); err != nil {
			return fmt.Errorf("bench: writing the table: %w", err)
		}
		rows = rows[n:]
	}
	return nil
}

func writeWork(w io.Writer, rows []Row) error {
	fmt.Fprintf(w, "\n%s\n", rows[0].Work)
	if rows[0].Work == Memory {
		return writeMemory(w, rows)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "way\tin flight\tops/s\t(min-max)\tper core\tfeatures/s\tresults\tp50 us\tp99 us\tserver CPU\tclient CPU\toffloaded\ttrips\treads\tbytes\tseconds\twrong\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%d\t%.0f\t%s\t%.0f\t%.0f\t%.2f\t%.1f\t%.1f\t%.1f%%\t%.1f%%\t%.0f%%\t%.2f\t%.2f\t%.0f\t%.2f\t%d\t\n",
			r.Way, r.InFlight, r.OpsPerS, harness.SpreadText(r.Spread, "ops_per_s"), r.OpsPerCore, r.FeaturesPerS, r.Results, r.P50Us, r.P99Us, 100*r.ServerCPU, 100*r.ClientCPU,
			100*r.Offloaded, r.Trips, r.Reads, r.Bytes, r.Seconds, r.Wrong)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var names []string
	var runs [][]float64
	for _, r := range rows {
		names, runs = append(names, r.Way), append(runs, r.Runs)
	}
	_, err := io.WriteString(w, harness.WithinText(names, runs))
	return err
}

func writeMemory(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "MiB\tresident\town bytes\tratio\trecords\tof classes\tfree\tkeys\ttree\tGo heap\tothers\t")
	for _, r := range rows {
		m := r.Memory
		taken := m.Resident - m.Before
		mib := func(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }
		if m.Own == 0 { // another server's
			fmt.Fprintf(t, "%s\t%s\t\t\t\t\t\t\t\t\t\t\n", r.Way, mib(taken))
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.2f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", r.Way, mib(taken), mib(m.Own), r.MemoryRatio,
			mib(m.Own), mib(m.Records-m.Own), mib(m.Free), mib(m.Keys), mib(m.Tree), mib(m.Heap),
			mib(taken-m.Records-m.Free-m.Keys-m.Tree-m.Heap))
	}
	return t.Flush()
}
