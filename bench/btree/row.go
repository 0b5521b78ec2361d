package btree

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/latency"
)

// Row is one scheme.
type Row struct {
	Scheme    string  `json:"scheme"`
	Transport string  `json:"transport"`
	Keys      int     `json:"keys"`
	Range     int     `json:"range"`
	Clients   int     `json:"clients"`
	Scans     int     `json:"scans_percent"`
	Writes    int     `json:"writes_percent"`
	Seed      uint64  `json:"seed"`
	DurationS float64 `json:"duration_s"`
	Commit    string  `json:"commit"`

	OpsPerS float64        `json:"ops_per_s"` // with the time to compare answers
	Ops     map[string]Ops `json:"ops"`       // get, scan, write

	Offloaded  float64 `json:"offloaded"` // share of reads
	FellBack   uint64  `json:"fell_back"` // offloaded reads that ended by a message
	Torn       uint64  `json:"torn_reads"`
	Heartbeats uint64  `json:"heartbeats"`
	Compared   uint64  `json:"compared_items"`
	Wrong      uint64  `json:"wrong"`
	FirstWrong string  `json:"first_wrong,omitempty"`
}

// Ops are the operations of one kind.
type Ops struct {
	bench.OpFigures
	Trips float64 `json:"round_trips"` // of one operation
	Reads float64 `json:"reads"`       // RDMA Reads of one operation
	Items float64 `json:"items"`       // of one answer
}

var kindNames = [kinds]string{gets: "get", scans: "scan", writes: "write"}

func newRow(cfg *Config, scheme string, took time.Duration, users []*user, last string) Row {
	r := Row{Scheme: scheme, Transport: cfg.Transport, Keys: cfg.Keys, Range: cfg.Range, Clients: cfg.Clients,
		Scans: cfg.Scans, Writes: cfg.Writes, Seed: cfg.Seed, DurationS: took.Seconds(), Commit: cfg.Commit, Ops: map[string]Ops{}}
	if scheme == Local {
		r.Transport = ""
	}
	r.Wrong, r.FirstWrong = firstWrong(users, last)
	var all Counts
	for _, u := range users {
		n := u.Counts()
		all.Reads += n.Reads
		all.Offloaded += n.Offloaded
		r.FellBack += n.FellBack
		r.Torn += n.Torn
		r.Heartbeats += n.Beats
	}
	r.Offloaded = stats.Ratio(float64(all.Offloaded), float64(all.Reads))
	for kind, name := range kindNames {
		seen, sum := latency.New(), kindCounts{}
		for _, u := range users {
			k := &u.kinds[kind]
			seen.Merge(k.latency)
			sum.trips += k.trips
			sum.reads += k.reads
			sum.items += k.items
		}
		n := float64(seen.Count())
		if n == 0 {
			continue
		}
		r.Ops[name] = Ops{bench.OpFiguresOf(seen), float64(sum.trips) / n, float64(sum.reads) / n, float64(sum.items) / n}
		r.OpsPerS += n / took.Seconds()
		r.Compared += sum.items
	}
	return r
}

// WriteTable prints the rows of one Run.
func WriteTable(w io.Writer, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	r := rows[0]
	fmt.Fprintf(w, "B+-tree: %d keys, ranges of %d, scans %d %%, writes %d %%, %d clients in the server's process, over %s\n",
		r.Keys, r.Range, r.Scans, r.Writes, r.Clients, rows[len(rows)-1].Transport)
	fmt.Fprintf(w, "seed %d, %.3g s, commit %s; rates include the comparison of each answer\n\n", r.Seed, r.DurationS, r.Commit)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, strings.Join([]string{"scheme", "ops/s", "operation", "count", "mean us", "p50", "p99", "trips", "reads", "items",
		"offloaded", "torn", "heartbeats", "wrong", ""}, "\t"))
	for _, r := range rows {
		scheme, ops := r.Scheme, fmt.Sprintf("%.0f", r.OpsPerS)
		whole := fmt.Sprintf("%.1f%%\t%d\t%d\t%d", 100*r.Offloaded, r.Torn, r.Heartbeats, r.Wrong)
		for _, name := range kindNames {
			o, ok := r.Ops[name]
			if !ok {
				continue
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%.1f\t%.1f\t%.1f\t%.2f\t%.2f\t%.1f\t%s\t\n",
				scheme, ops, name, o.Count, o.MeanUs, o.P50Us, o.P99Us, o.Trips, o.Reads, o.Items, whole)
			scheme, ops, whole = "", "", "\t\t\t" // The scheme's figures stand in its first line.
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("bench: writing the table: %w", err)
	}
	return nil
}
