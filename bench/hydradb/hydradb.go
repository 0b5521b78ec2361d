// Package hydradb simulates figures 10, 12 and 13 of HydraDB (Wang, Zhang et al., SC 2015): what
// ways to pass messages and to divide work add to throughput (ways.go), how it grows with shards
// (scale.go), and what replication adds to the latency of a load of inserts (this file). `catfish bench hydradb` prints them, and docs/papers/hydradb.md has both.
// Nothing is measured, and nothing is fitted to that paper: the
// cards, cores and links are those of RFP's cluster, connectx3, which has the same card.
package hydradb

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench/sim"
)

// Cluster is the name of the cluster.
const Cluster = "connectx3"

// Clients are those of the figure. The paper does not print how many it had, but "a growing
// number".
var Clients = []int{1, 2, 4, 8, 16, 32, 60}

// Row is a way of replication. Latencies are in the order of Clients.
type Row struct {
	Simulated   bool              `json:"simulated"` // always
	Way         sim.KVReplication `json:"way"`       // empty: none
	Secondaries int               `json:"secondaries"`
	Printed     float64           `json:"printed_times,omitempty"` // mean latency by that without secondaries, by the paper
	Clients     []int             `json:"clients"`
	MeanUs      []float64         `json:"mean_us"`
	Times       []float64         `json:"times"` // by that without secondaries
}

// Costs of a PUT, and of the kernel's clock: those of package rfp, which are assumed.
var costs = sim.KVCosts{GetNs: 250, PutNs: 300, TicksPerS: 250, TickNs: 10_000}

// printed are the paper's numbers: relaxed replication with one and two secondaries, and
// strict, which "consistently doubles" the latency.
var printed = map[sim.KVReplication]map[int]float64{
	sim.KVRelaxed: {1: 1.123, 2: 1.411}, sim.KVRelaxedWaits: {1: 1.123, 2: 1.411}, sim.KVStrict: {1: 2, 2: 2},
}

// Predict simulates the figure. Equal arguments give equal rows.
func Predict(ctx context.Context, cl *sim.Cluster, seed uint64) ([]Row, error) {
	rows := []Row{{}}
	for _, way := range []sim.KVReplication{sim.KVRelaxed, sim.KVRelaxedWaits, sim.KVStrict} {
		for _, n := range []int{1, 2} {
			rows = append(rows, Row{Way: way, Secondaries: n, Printed: printed[way][n]})
		}
	}
	for i := range rows {
		r := &rows[i]
		r.Simulated, r.Clients = true, Clients
		for j, clients := range Clients {
			one, err := sim.RunKV(ctx, sim.KVConfig{
				Cluster: cl, Costs: costs, Threads: 1, Clients: clients, GetPercent: 0, Keys: 3_000_000, Sizes: sim.KVSizes{Bytes: 32},
				Scheme:   sim.KVScheme{Name: "HydraDB", Written: true, Secondaries: r.Secondaries, Replication: r.Way},
				Duration: 8 * time.Millisecond, Warmup: 2 * time.Millisecond, Seed: seed,
			})
			if err != nil {
				return nil, err
			}
			r.MeanUs = append(r.MeanUs, one.MeanUs)
			r.Times = append(r.Times, one.MeanUs/rows[0].MeanUs[j])
		}
	}
	return rows, nil
}

// name is how the table calls a row.
func (r *Row) name() string {
	switch r.Way {
	case "":
		return "no secondary, us"
	case sim.KVRelaxedWaits:
		return fmt.Sprintf("relaxed, the thread waits for the cards, %d", r.Secondaries)
	}
	return fmt.Sprintf("%s, %d", r.Way, r.Secondaries)
}

// Write writes the table in Markdown: latencies without secondaries, else their ratios to these.
func Write(w io.Writer, rows []Row) error {
	var b strings.Builder
	b.WriteString("| simulated: way, secondaries | printed |")
	for _, n := range Clients {
		fmt.Fprintf(&b, " %d |", n)
	}
	fmt.Fprintf(&b, "\n|---|---|%s\n", strings.Repeat("---|", len(Clients)))
	for _, r := range rows {
		of, format := r.Times, " %.2f |"
		if r.Way == "" {
			of = r.MeanUs
		}
		beside := "-"
		if r.Printed > 0 {
			beside = fmt.Sprint(r.Printed)
		}
		fmt.Fprintf(&b, "| %s | %s |", r.name(), beside)
		for _, v := range of {
			fmt.Fprintf(&b, format, v)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes each row as a line.
func WriteJSON(w io.Writer, rows []Row) error { return writeRows(w, rows) }

func writeRows[T any](w io.Writer, rows []T) error {
	for _, r := range rows {
		if err := json.NewEncoder(w).Encode(r); err != nil {
			return fmt.Errorf("hydradb: writing a row: %w", err)
		}
	}
	return nil
}
