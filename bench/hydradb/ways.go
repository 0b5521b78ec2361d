package hydradb

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench/sim"
)

// Figure 10: one server with 4 shards and 50 clients on 5 machines, by ways to pass messages and
// to divide work. The paper prints what one way adds to another, and no rates.
const (
	waysShards   = 4
	waysClients  = 50
	waysMachines = 5
	// The pipelined server has four times the threads: 4 instances of 2 dispatchers and 2 shard
	// threads, on 16 cores.
	waysPipelined = 2
)

// gains are the paper's three comparisons, in %, by mix; the third one leaves out uniform keys,
// of which it says "little".
var gains = []struct {
	name, of, by string
	printed      []float64
}{
	{"Write against Send/Recv", "write", "send", []float64{78.9, 142.8, 155.2, 74.7, 136.1, 162.6}},
	{"with kept pointers", "pointers", "write", []float64{10.1, 14.4, 29.9}},
	{"single-threaded against pipelined", "write", "pipelined", []float64{94.8, 53.1, 27.4, 86.9, 60.6, 34.4}},
}

// WayRow is a mix by one way.
type WayRow struct {
	Simulated bool    `json:"simulated"` // always
	Mix       string  `json:"mix"`
	Way       string  `json:"way"` // send, write, pointers or pipelined
	Mops      float64 `json:"mops"`
	MeanUs    float64 `json:"mean_us"`
	Hits      float64 `json:"pointer_hits,omitempty"`
	Busy      float64 `json:"busy"` // mean share of time that threads handle requests
}

// PredictWays simulates figure 10. Equal arguments give equal rows.
func PredictWays(ctx context.Context, cl *sim.Cluster, seed uint64) ([]WayRow, error) {
	five := *cl
	five.Client.Machines = min(waysMachines, cl.Client.Machines)
	var rows []WayRow
	for _, mix := range mixes {
		for _, way := range []string{"send", "write", "pointers", "pipelined"} {
			cfg := sim.KVConfig{
				Cluster: &five, Costs: costs, Threads: waysShards, Clients: waysClients, GetPercent: mix.get, Keys: scaleKeys,
				Dist: mix.dist, Sizes: sim.KVSizes{Bytes: 32}, Scheme: sim.KVScheme{Name: way, Written: true},
				Duration: 3 * time.Millisecond, Warmup: time.Millisecond, Seed: seed,
			}
			s := &cfg.Scheme
			switch way {
			case "send":
				s.TwoSided = true
			case "pointers":
				p, err := sim.NewKVPointers(ctx, cfg, scaleEarlier)
				if err != nil {
					return nil, err
				}
				s.Pointers = p
			case "pipelined":
				cfg.Threads = waysPipelined * waysShards
				s.Instances, s.Dispatchers, s.Locks = waysShards, waysPipelined, true
				// All of an operation but the copy of its value holds the instance's lock.
				cfg.Costs.GetLockNs, cfg.Costs.PutLockNs = costs.GetNs, costs.PutNs
				cfg.Costs.GetNs, cfg.Costs.PutNs = 0, 0
			}
			one, err := sim.RunKV(ctx, cfg)
			if err != nil {
				return nil, err
			}
			rows = append(rows, WayRow{true, mix.name, way, one.Mops, one.MeanUs, one.Hits, one.Busy})
		}
	}
	return rows, nil
}

// Gain is what a way adds to another one's throughput in a mix, in %.
func Gain(rows []WayRow, mix, of, by string) float64 {
	rate := map[string]float64{}
	for _, r := range rows {
		if r.Mix == mix {
			rate[r.Way] = r.Mops
		}
	}
	return 100 * (rate[of]/rate[by] - 1)
}

// WriteWays writes the table in Markdown.
func WriteWays(w io.Writer, rows []WayRow) error {
	var b strings.Builder
	b.WriteString("| simulated: what | printed | simulated | Mops of both |\n|---|---|---|---|\n")
	for _, g := range gains {
		for i, printed := range g.printed {
			mix := mixes[i].name
			rate := map[string]float64{}
			for _, r := range rows {
				if r.Mix == mix {
					rate[r.Way] = r.Mops
				}
			}
			fmt.Fprintf(&b, "| %s, %s | %+.1f %% | %+.1f %% | %.2f, %.2f |\n", g.name, mix, printed, Gain(rows, mix, g.of, g.by), rate[g.of], rate[g.by])
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteWaysJSON writes each row as a line.
func WriteWaysJSON(w io.Writer, rows []WayRow) error { return writeRows(w, rows) }
