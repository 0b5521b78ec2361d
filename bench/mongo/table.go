package mongo

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes rows as text: a line for each.
func WriteTable(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "figure\twork\tthreads\tdocuments\ttransport\tops/s\tmean us\tp99 us\ttimes\t")
	for _, r := range rows {
		times := "-"
		if r.StdErr > 0 {
			times = fmt.Sprintf("%.2f +- %.2f", r.Times, r.StdErr)
		}
		fmt.Fprintf(t, "%d\t%s\t%d\t%d\t%s\t%.0f\t%.1f\t%.1f\t%s\t\n", r.Figure, r.Work, r.Threads, r.Records, r.Transport,
			r.Ops, r.Mean, r.P99, times)
	}
	fmt.Fprintln(t)
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "measured; tcp: plain sockets, shm: rings in shared memory, soft: rings whose Writes TCP carries; none is an RDMA card\n"+
		"times: throughput by that of the first transport, within rounds (geometric mean +- standard error)")
	return err
}
