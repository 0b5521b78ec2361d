package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/idle"
	"github.com/catfish-index/catfish/bench/replay"
	"github.com/catfish-index/catfish/bench/report"
	"github.com/catfish-index/catfish/bench/stats"
)

// rowsOf decodes lines of JSON.
func rowsOf[T any](outputs []string) ([]T, error) {
	rows, err := harness.ReadRows[T](strings.NewReader(strings.Join(outputs, "\n")))
	if err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	return rows, nil
}

// spread is a median with the least and the most, if there were several.
func spread(r *bench.Row, name string, median float64, format func(float64) string) string {
	s, ok := r.Spread[name]
	if !ok {
		return format(median)
	}
	return fmt.Sprintf("%s (%s to %s)", format(median), format(s[0]), format(s[1]))
}

// runTable has a line for each row of bench run.
func runTable(rows []bench.Row) report.Table {
	t := report.Table{Head: []string{
		"clients", "calls each", "scheme", "transport", "calls/s", "mean us", "p50", "p99", "server CPU",
		"offloaded", "round trips", "reads", "bytes",
	}}
	batches := slices.ContainsFunc(rows, func(r bench.Row) bool { return r.Batch > 1 })
	if batches {
		t.Head = slices.Insert(t.Head, 2, "searches a call")
	}
	writes := slices.ContainsFunc(rows, func(r bench.Row) bool { return strings.Contains(r.Mix, "insert") })
	if writes {
		t.Head = append(t.Head, "restarts", "repairs")
	}
	for i := range rows {
		r := &rows[i]
		cells := []string{
			strconv.Itoa(r.Clients), strconv.Itoa(r.InFlight), "`" + r.Scheme + "`", r.Transport,
			spread(r, "ops_per_s", r.OpsPerS, whole), spread(r, "mean_us", r.MeanUs, tenths),
			tenths(r.P50Us), tenths(r.P99Us), fmt.Sprintf("%.1f %%", 100*r.CPUUtil),
			fmt.Sprintf("%.2f %%", 100*r.Offload), fmt.Sprintf("%.2f", r.Trips),
			fmt.Sprintf("%.2f", r.Reads), whole(r.Bytes),
		}
		if batches {
			cells = slices.Insert(cells, 2, strconv.Itoa(r.Batch))
		}
		if writes {
			cells = append(cells, fmt.Sprintf("%.4f", r.Restarts), fmt.Sprintf("%.4f", r.Repairs))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// loadTable has a line for each manner of loading, over several runs.
func loadTable(rows []replay.Row) report.Table {
	t := report.Table{Head: []string{"loaded by", "objects", "objects/s", "seconds"}}
	var order []string
	rates, took, objects := map[string][]float64{}, map[string][]float64{}, map[string]int64{}
	for _, r := range rows {
		by := r.LoadedBy
		if !slices.Contains(order, by) {
			order = append(order, by)
		}
		rates[by], took[by] = append(rates[by], r.LoadedPerS), append(took[by], r.LoadS)
		objects[by] = r.Loaded
	}
	for _, by := range order {
		rate := whole(stats.Median(rates[by]))
		if len(rates[by]) > 1 {
			rate += fmt.Sprintf(" (%s to %s)", whole(slices.Min(rates[by])), whole(slices.Max(rates[by])))
		}
		t.Rows = append(t.Rows, []string{
			by, whole(float64(objects[by])), rate, fmt.Sprintf("%.2f", stats.Median(took[by])),
		})
	}
	return t
}

// idleTable has a line for each side of the connections.
func idleTable(rows []idle.Row) report.Table {
	t := report.Table{Head: []string{
		"transport", "policy", "connections", "of", "KiB each", "descriptors each", "mappings each",
		"CPU at rest", "CPU with heartbeats",
	}}
	for _, r := range rows {
		for _, side := range []struct {
			name string
			idle.Cost
		}{{"the server", r.Server}, {fmt.Sprintf("the clients' %d processes", r.Procs), r.Client}} {
			t.Rows = append(t.Rows, []string{
				r.Transport, "`" + r.Policy + "`", whole(float64(r.Clients)), side.name, tenths(side.Memory / 1024),
				fmt.Sprintf("%.2f", side.Files), fmt.Sprintf("%.2f", side.Mappings),
				fmt.Sprintf("%.1f %%", 100*side.Rest), fmt.Sprintf("%.1f %%", 100*side.Beats),
			})
		}
	}
	return t
}

// columns are two spaces apart or more, as text/tabwriter writes them.
var columns = regexp.MustCompile(` {2,}`)

// lastTable returns the last table that make bench-tree prints.
func lastTable(out string) string {
	return out[max(0, strings.LastIndex("\n"+out, "\nrow ")):]
}

// treeTable is the table of make bench-tree.
func treeTable(outputs []string) report.Table {
	var t report.Table
	for line := range strings.SplitSeq(strings.Join(outputs, "\n"), "\n") {
		cells := columns.Split(strings.TrimSpace(line), -1)
		switch {
		case strings.HasPrefix(line, "row ") && len(cells) > 2:
			t = report.Table{Head: cells}
		case len(t.Head) > 0 && len(cells) == len(t.Head):
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}

func tenths(v float64) string { return thousands(fmt.Sprintf("%.1f", v)) }
func whole(v float64) string  { return thousands(fmt.Sprintf("%.0f", v)) }

// thousands puts commas into a decimal number.
func thousands(s string) string {
	end := strings.IndexByte(s, '.')
	if end < 0 {
		end = len(s)
	}
	for i := end - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
