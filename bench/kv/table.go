package kv

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// WriteTable prints rows of one Run as text. With repeats the spread of the
// throughput stands beside its median.
func WriteTable(w io.Writer, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	r := rows[0]
	each := func(of func(*Row) string) string { return strings.Join(distinct(rows, of), ", ") }
	fmt.Fprintf(w, "YCSB mix %s, %s, %d keys, values of %d B\n", each(func(r *Row) string { return r.Mix }), each(distribution), r.Keys, r.ValueBytes)
	if tables := each(func(r *Row) string { return r.Table }); tables != cuckoo.GCuckoo.String() || r.Items != cuckoo.MaxItems {
		fmt.Fprintf(w, "key index: %s, items a bucket: %d\n", tables, r.Items)
	}
	if r.Sync != "" {
		fmt.Fprintf(w, "records are kept, sync %s\n", r.Sync)
	}
	fmt.Fprintf(w, "%d clients in %d process(es), reads %s, server on %s, clients on %s\n",
		r.Clients, r.Procs, reads(r.Batch), harness.Cores(r.ServerCPUs), harness.Cores(r.ClientCPUs))
	fmt.Fprintf(w, "seed %d, %g s after %g s of warm-up, median of %d, commit %s\n\n",
		r.Seed, r.DurationS, r.WarmupS, r.Repeat, r.Commit)
	for _, l := range devices(rows) {
		fmt.Fprintln(w, l)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, strings.Join([]string{
		"scheme", "transport", "shards", "in flight", "ops/s", "(min-max)", "mean us", "p50", "p99", "p99.9", "server CPU", "client CPU", "server MB",
		"offloaded", "trips", "reads", "in vain", "posts", "bytes", "restarts", "torn", "hits", "invalid", "kicks", "stash", "load", "wrong", "",
	}, "\t"))
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%.0f\t%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f%%\t%.1f%%\t%.0f\t%s\t%d\t\n",
			r.name(), r.Transport, shardsOf(&r), r.InFlight, r.OpsPerS, harness.SpreadText(r.Spread, "ops_per_s"), r.MeanUs, r.P50Us, r.P99Us, r.P999Us,
			100*r.CPUUtil, 100*r.ClientUtil, r.Resident/1e6, inside(&r), r.Wrong)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("bench: writing the table: %w", err)
	}
	for _, r := range rows {
		if r.Pointers != "" {
			fmt.Fprintf(w, "%s: references come from %s\n", r.Scheme, r.Pointers)
		}
		if r.MaxBytes > 0 {
			fmt.Fprintf(w, "%s: a cache of %d B, %.1f %% of the keys read had a record\n", r.Scheme, r.MaxBytes, 100*r.HitRate)
		}
	}
	popular := distinct(rows, func(r *Row) string {
		if r.TopKey == 0 {
			return ""
		}
		return fmt.Sprintf("%s: the most popular key is drawn %.1f times as often as the mean\n", distribution(r), r.TopKey)
	})
	if _, err := io.WriteString(w, strings.Join(popular, "")+within(rows)); err != nil {
		return fmt.Errorf("bench: writing the table: %w", err)
	}
	return nil
}

// name is the first column.
func (r *Row) name() string { return strings.TrimSpace(r.Scheme + " " + r.Label) }

// within compares rows of one workload within rounds, or all of them if each has a workload of its own: their
// throughputs, and their mean latencies.
func within(rows []Row) string {
	workload := func(r *Row) string { return r.Mix + distribution(r) }
	if len(distinct(rows, workload)) == len(rows) {
		workload = func(*Row) string { return "" }
	}
	var text strings.Builder
	for len(rows) > 0 {
		var names []string
		var runs, means [][]float64
		var others []Row
		for _, r := range rows {
			if workload(&r) != workload(&rows[0]) {
				others = append(others, r)
				continue
			}
			names, runs, means = append(names, r.name()), append(runs, r.Runs), append(means, r.RunsMean)
		}
		text.WriteString(harness.WithinText(names, runs))
		if l := harness.WithinText(names, means); l != "" {
			text.WriteString("mean latency, " + strings.TrimPrefix(l, "\n"))
		}
		rows = others
	}
	return text.String()
}

// distinct are the values of a column, each once.
func distinct(rows []Row, of func(*Row) string) (all []string) {
	for i := range rows {
		if v := of(&rows[i]); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// distribution is the distribution of keys, with its skew if that is not YCSB's.
func distribution(r *Row) string {
	if r.Theta == 0 || r.Theta == ycsb.Theta {
		return r.Dist
	}
	return fmt.Sprintf("%s %v", r.Dist, r.Theta)
}

// shardsOf is the column of shards, "-" for other programs.
func shardsOf(r *Row) string {
	if r.Shards == 0 || r.Version != "" {
		return "-"
	}
	return strconv.Itoa(r.Shards)
}

// inside are the columns of figures that only Catfish reports.
func inside(r *Row) string {
	if r.Version != "" {
		return strings.Repeat("-\t", 12) + "-"
	}
	return fmt.Sprintf("%.1f%%\t%.3f\t%.3f\t%.3f\t%.3f\t%.0f\t%.4f\t%.0f\t%.1f%%\t%.2f%%\t%.3f\t%.0f\t%.2f",
		100*r.Offload, r.Trips, r.Reads, r.AnswersMissed, r.ServerPosts, r.Bytes, r.Restarts, r.Torn, 100*r.PointerHits, 100*r.PointerInvalid,
		r.Kicks, r.StashMost, r.LoadFactor)
}

func reads(batch int) string {
	if batch == 1 {
		return "one by one"
	}
	return fmt.Sprintf("%d in a call", batch)
}

// devices names the device of each transport and the version of each peer once.
func devices(rows []Row) []string {
	var lines []string
	for _, r := range rows {
		l := ""
		switch {
		case r.Version != "":
			l = r.Scheme + ": version " + r.Version
		case r.Device != "":
			l = r.Transport + ": " + r.Device
		}
		if l != "" && !slices.Contains(lines, l) {
			lines = append(lines, l)
		}
	}
	return lines
}

// WriteRatios prints each row's throughput as a multiple of that of each
// scheme named by a column: within rounds, with its standard error, if there
// were two or more, else of the only one.
func WriteRatios(w io.Writer, rows []Row, columns []string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "times the ops/s of\t%s\t\n", strings.Join(columns, "\t"))
	for i := range rows {
		fmt.Fprintf(t, "%s\t", rows[i].Scheme)
		for _, name := range columns {
			cell := "-"
			if j := slices.IndexFunc(rows, func(r Row) bool { return r.Scheme == name }); j >= 0 {
				cell = ratio(&rows[i], &rows[j])
			}
			fmt.Fprintf(t, "%s\t", cell)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("bench: writing the table: %w", err)
	}
	return nil
}

func ratio(r, by *Row) string {
	if times, stderr, ok := harness.Within(r.Runs, by.Runs); ok {
		return fmt.Sprintf("%.2f +- %.2f", times, stderr)
	}
	return fmt.Sprintf("%.2f", stats.Ratio(r.OpsPerS, by.OpsPerS))
}
