package replay

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/rstar"
)

// Row is the result of a replay by one scheme: a JSON object each. Of
// bench.Figures, "per search" is per search, count and nearest.
type Row struct {
	Scheme     string `json:"scheme"`
	Transport  string `json:"transport"`
	Device     string `json:"device"`
	Addr       string `json:"addr"` // of the running server; empty: one of its own
	Collection string `json:"collection"`
	Data       string `json:"data"`
	Objects    int    `json:"objects"` // in the collection at the end
	Queries    string `json:"queries"`
	Count      int    `json:"count"`      // requests, each executed once
	Writes     int    `json:"writes"`     // of them
	Lost       uint64 `json:"lost"`       // missing in the recording
	Incomplete bool   `json:"incomplete"` // the recording ends within a record
	Clients    int    `json:"clients"`
	InFlight   int    `json:"in_flight"`
	Procs      int    `json:"client_procs"`
	ServerCPUs string `json:"server_cpus"` // empty: not pinned
	ClientCPUs string `json:"client_cpus"`

	// For a bulk load, LoadS begins with the server's process.
	LoadedBy   string  `json:"loaded_by"` // insert, bulk or none
	Loaded     int64   `json:"loaded"`
	LoadS      float64 `json:"load_s"`
	LoadedPerS float64 `json:"loaded_per_s"`

	// Strategy of the tree, missing: revised, or that of a running server.
	// Backoff is set for the schemes of Algorithm 1.
	Strategy rstar.Strategy `json:"strategy,omitempty"`
	Backoff  policy.Backoff `json:"backoff,omitzero"`

	ElapsedS float64 `json:"elapsed_s"` // from the first request to the last answer
	bench.Figures
	ByOp  map[string]bench.OpFigures `json:"by_op"`
	Found uint64                     `json:"found"` // objects, by all requests together

	// Verified is how many answers the oracle confirmed.
	Verified int `json:"verified"`
	// Recorded compares with the recorded server's answers.
	Recorded *Recorded `json:"recorded,omitempty"`

	NodeBytes int    `json:"node_bytes"`
	Simulated bool   `json:"simulated"` // always false here
	Seed      uint64 `json:"seed"`
	Commit    string `json:"commit"`
}

// Recorded counts requests by whether they found the recorded number.
type Recorded struct {
	Same    int `json:"same"`
	Differ  int `json:"differ"`
	Unknown int `json:"unknown"` // the recording does not say
}

func (r *run) newRow(scheme string) Row {
	c := r.cfg
	var recorded *Recorded
	if r.list.Recorded {
		recorded = new(Recorded)
	}
	return Row{
		Scheme: scheme, Addr: c.Addr, Collection: c.Collection,
		Data: c.Data, Queries: c.Queries, Count: r.list.Count, Writes: r.list.Writes,
		Lost: r.list.Lost, Incomplete: r.list.Torn != "",
		Clients: c.Clients, InFlight: c.InFlight, Procs: c.Procs,
		ServerCPUs: c.ServerCPUs.String(), ClientCPUs: c.ClientCPUs.String(),
		LoadedBy: c.loadedBy(), Strategy: c.Strategy, Backoff: bench.BackoffOf(scheme, c.Backoff), Seed: c.Seed, Commit: c.Commit,
		ByOp: map[string]bench.OpFigures{}, Recorded: recorded,
	}
}

func (r *Row) loaded(n int64, took time.Duration) {
	r.Loaded, r.LoadS = n, took.Seconds()
	r.LoadedPerS = stats.Ratio(float64(n), took.Seconds())
}

// fill adds up the measurements of the processes.
func (r *Row) fill(parts []*replayed) error {
	all, byOp := latency.New(), map[string]*latency.Distribution{}
	var c bench.Counters
	for _, p := range parts {
		r.ElapsedS = max(r.ElapsedS, p.Elapsed.Seconds())
		c = c.Add(p.Counters)
		for op, l := range p.Latency {
			if byOp[op] == nil {
				byOp[op] = latency.New()
			}
			byOp[op].Merge(l)
			all.Merge(l)
		}
	}
	if n := all.Count(); n != int64(r.Count) {
		return fmt.Errorf("%w (replay): %d requests carried out, want %d", child.ErrFailed, n, r.Count)
	}
	for op, l := range byOp {
		r.ByOp[op] = bench.OpFiguresOf(l)
	}
	r.Objects = parts[0].Objects
	r.Figures = bench.NewFigures(all, c)
	r.OpsPerS, r.CPUUtil = stats.Ratio(float64(r.Count), r.ElapsedS), parts[0].Util
	r.Bytes = stats.Ratio(float64(c.Bytes), float64(r.Count))
	return nil
}

// compare compares with the recording of the same request.
func (r *Row) compare(rec *querylog.Record, got *answer) {
	switch {
	case r.Recorded == nil:
	case rec.Found == querylog.NotKnown:
		r.Recorded.Unknown++
	case uint64(rec.Found) == got.count:
		r.Recorded.Same++
	default:
		r.Recorded.Differ++
	}
}

// WriteTable prints the rows of one Replay as text.
func WriteTable(w io.Writer, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	r := rows[0]
	fmt.Fprintf(w, "%s: %d requests of %s, each once, to %d objects\n",
		strings.TrimSpace(r.Data+" "+r.Addr), r.Count, r.Queries, r.Objects)
	fmt.Fprintf(w, "%d clients x %d in flight in %d process(es), server on %s, clients on %s\n",
		r.Clients, r.InFlight, r.Procs, harness.Cores(r.ServerCPUs), harness.Cores(r.ClientCPUs))
	fmt.Fprintf(w, "node %d B, seed %d, commit %s\n", r.NodeBytes, r.Seed, r.Commit)
	if r.Strategy != rstar.Revised {
		fmt.Fprintf(w, "%v R*-tree\n", r.Strategy)
	}
	for _, row := range rows {
		if !row.Backoff.IsPaper() {
			fmt.Fprintf(w, "%s: %v\n", row.Scheme, row.Backoff)
		}
		if row.Device != "" {
			fmt.Fprintf(w, "%s: %s: %s\n", row.Scheme, row.Transport, row.Device)
		}
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, strings.Join([]string{
		"scheme", "transport", "loaded by", "objects/s", "queries/s", "mean us", "p50", "p99",
		"p99.9", "server CPU", "offloaded", "trips", "reads", "bytes", "found", "verified", "",
	}, "\t"))
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f%%\t%.1f%%\t%.2f\t%.2f\t%.0f\t%d\t%d\t\n",
			r.Scheme, r.Transport, r.LoadedBy, r.LoadedPerS, r.OpsPerS, r.MeanUs, r.P50Us,
			r.P99Us, r.P999Us, 100*r.CPUUtil, 100*r.Offload, r.Trips,
			r.Reads, r.Bytes, r.Found, r.Verified)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("replay: writing the table: %w", err)
	}
	if r.Count > r.Writes && r.Recorded == nil {
		if _, err := io.WriteString(w, bench.FewResults(r.Results)); err != nil {
			return fmt.Errorf("replay: writing the table: %w", err)
		}
	}
	for _, r := range rows {
		if c := r.Recorded; c != nil {
			fmt.Fprintf(w, "%s: %d requests found as many objects as when they were recorded, %d did not, of %d it is not known\n",
				r.Scheme, c.Same, c.Differ, c.Unknown)
		}
	}
	return nil
}
